//! Every test runs on Linux as it was recorded there. `BIXI_UPDATE=1` records anew; `BIXI_ONLY=NAME…` takes some.

use hosted::build::build;
use hosted::manifest::{Manifest, Systems, Test};
use hosted::on_linux;
use hosted::recorded::{Expected, Recorded};
use linux::Oracle;
use packages::compiler::Compiler;
use packages::host::Host;
use packages::loong64::Loong64;
use packages::shell::{Shell, Verbosity};

#[test]
fn every_test_does_on_linux_what_is_recorded() {
    let shell = Shell::new(Verbosity::Quiet);
    let host = Host::detect(&shell);
    // This test lies in `target/debug/deps`; setup's folder in `target`.
    let target = std::env::current_exe().unwrap().ancestors().nth(3).unwrap().to_path_buf();
    let loong64 = Loong64::new(&shell, &host, &target.join("setup"));
    let compiler = Compiler::provide(&loong64).unwrap();
    let oracle = Oracle::provide(&loong64, &compiler).unwrap();
    let manifest = Manifest::load().unwrap();
    let built = build(&shell, &compiler, &manifest, &target.join("hosted")).unwrap();
    let only: Vec<String> =
        std::env::var("BIXI_ONLY").unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    let tests: Vec<&Test> = manifest.select(&only).filter(|test| test.on == Systems::Both).collect();
    let outcomes = on_linux::run(&oracle, &built, &tests).unwrap();
    assert_eq!(outcomes.len(), tests.len());

    let mut recorded = Recorded::load().unwrap();
    let mut wrong = String::new();
    let update = std::env::var_os("BIXI_UPDATE").is_some();
    for (test, outcome) in tests.iter().zip(&outcomes) {
        let told = match recorded.test.get(&test.name) {
            Some(expected) => expected.differs(outcome.end.status(), &outcome.output, &outcome.errors),
            None => Some("not recorded\n".into()),
        };
        if let Some(told) = told {
            wrong += &format!("{}: {told}", test.name);
        }
        if update {
            println!("{}: {}\n{}", test.name, outcome.end, String::from_utf8_lossy(&outcome.output));
            let expected = Expected::of(outcome);
            recorded.test.insert(
                test.name.clone(),
                expected.map_err(|error| format!("{}: {error}", test.name)).unwrap(),
            );
        }
    }
    if update {
        let known: Vec<&str> = manifest.tests.iter().map(|test| test.name.as_str()).collect();
        recorded.test.retain(|name, _| known.contains(&name.as_str()));
        recorded.kernel = oracle.version().to_owned();
        recorded.store().unwrap();
        println!("{wrong}");
    } else {
        assert!(wrong.is_empty(), "{wrong}");
    }
}
