use super::*;

fn names(manifest: &Manifest, selected: &[&str]) -> Vec<String> {
    let selected: Vec<String> = selected.iter().map(|&name| name.to_owned()).collect();
    manifest.select(&selected).map(|test| test.name.clone()).collect()
}

const TEXT: &str = r#"
[[program]]
name = "hello"
step = "A2"

[[program]]
name = "fault"
sources = ["fault.c", "fault.S"]
linking = "static-pie"
step = "A3"
cases = ["21"]
each = ["break", "-null"]
test = [{ name = "fault-both", words = ["a"], together = [["hello", "b"]], input = "ab", times = 3, step = "A4" }]
"#;

#[test]
fn a_program_makes_one_test_or_those_that_it_lists() {
    let manifest = Manifest::parse(TEXT).unwrap();
    assert_eq!(names(&manifest, &[]), ["hello", "fault-both", "fault-break", "fault-null"]);
    let hello = manifest.program("hello").unwrap();
    assert_eq!(hello.place, "/hosted/hello");
    assert!(matches!(&hello.origin, Origin::Sources { sources, .. } if *sources == ["hello.c"]));
    let both = &manifest.tests[1];
    assert_eq!(both.call, Call { program: "fault".into(), words: vec!["a".into()] });
    assert_eq!(both.together, [Call { program: "hello".into(), words: vec!["b".into()] }]);
    assert_eq!((both.input.as_slice(), both.step.as_str()), (b"ababab".as_slice(), "A4"));
    assert_eq!(manifest.tests[3].call.words, ["-null"]);
    assert_eq!(manifest.tests[3].cases, ["21"]);
}

#[test]
fn a_packages_program_has_its_own_place_and_scripts_are_words() {
    let text = "[[program]]\nname = \"sh\"\npackage = \"dash\"\nplace = \"/usr/bin/dash\"\n\
                shell = [\"-e\"]\nscripts = [\"one\"]\n\
                test = [{ words = [\"-c\"], script = \"echo a\\n\" }]\n";
    let manifest = Manifest::parse(text).unwrap();
    let shell = manifest.program("sh").unwrap();
    assert_eq!(shell.origin, Origin::Package { package: "dash".into() });
    assert_eq!(shell.place, "/usr/bin/dash");
    assert_eq!(manifest.tests[0].call.words, ["-c", "echo a\n"]);
    assert_eq!(manifest.tests[1].name, "sh-one");
    assert_eq!(manifest.tests[1].call.words, ["-e", "/hosted/scripts/one.sh"]);
}

#[test]
fn tests_are_selected_by_name_beginning_and_step() {
    let manifest = Manifest::parse(TEXT).unwrap();
    assert_eq!(names(&manifest, &["fault"]), ["fault-both", "fault-break", "fault-null"]);
    assert_eq!(names(&manifest, &["A2"]), ["hello"]);
    assert_eq!(names(&manifest, &["fault-break"]), ["fault-break"]);
    assert!(names(&manifest, &["fau"]).is_empty());
}

#[test]
fn a_mistake_is_told() {
    let told = |text: &str| Manifest::parse(text).unwrap_err().to_string();
    let twice = "[[program]]\nname = \"a\"\n[[program]]\nname = \"a\"\n";
    assert!(told(twice).contains("two tests \"a\""));
    let missing = "[[program]]\nname = \"a\"\ntest = [{ together = [[\"b\"]] }]\n";
    assert!(told(missing).contains("\"b\", which is no program"));
    assert!(told("[[program]]\nname = \"a\"\nneeds = [\"b\"]\n").contains("\"a\" needs \"b\""));
    assert!(told("[[program]]\nname = \"a\"\nword = 1\n").contains("unknown field `word`"));
}

#[test]
fn the_manifest_of_this_checkout_is_right_and_complete() {
    let manifest = Manifest::load().unwrap();
    let folder = crate::folder().join("programs");
    let sources = |program: &Program| match &program.origin {
        Origin::Sources { sources, .. } => sources.clone(),
        Origin::Package { .. } => Vec::new(),
    };
    let mut used: BTreeSet<_> = manifest.programs.iter().flat_map(sources).collect();
    // No test with a record: a campaign of its own.
    used.insert(format!("{}.c", crate::random_code::PROGRAM));
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name.ends_with(".h") || used.contains(&name), "no program is made of {name}");
    }
    assert!(manifest.tests.iter().all(|test| !test.step.is_empty()), "each test has its step");
}
