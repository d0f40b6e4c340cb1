//! Linux itself, as the oracle boots it: what programs write and how they end comes back, whatever they do.
//!
//! One boot runs all of them: `tests/programs.c` is one program that does what its first argument names.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::time::Duration;

use initrd::cpio::Archive;
use linux::{End, Group, Oracle, Outcome, Program};
use packages::compiler::{Compiler, Linking, Recipe};
use packages::host::Host;
use packages::loong64::Loong64;
use packages::shell::{Shell, Verbosity};

fn program(words: &[&str], input: &[u8]) -> Program {
    Program {
        path: "/programs".into(),
        arguments: words.iter().map(|&word| word.to_owned()).collect(),
        environment: vec!["KEY=value".into()],
        input: input.to_vec(),
    }
}

fn alone(words: &[&str], input: &[u8]) -> Group {
    Group { programs: vec![program(words, input)], time_limit: Duration::from_secs(20) }
}

fn prepare() -> (Oracle, Archive) {
    let shell = Shell::new(Verbosity::Quiet);
    let host = Host::detect(&shell);
    // This test lies in `target/debug/deps`; setup's folder in `target`.
    let target = std::env::current_exe().unwrap().ancestors().nth(3).unwrap().to_path_buf();
    let loong64 = Loong64::new(&shell, &host, &target.join("setup"));
    let compiler = Compiler::provide(&loong64).unwrap();
    let oracle = Oracle::provide(&loong64, &compiler).unwrap();
    let sources = [Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs.c")];
    let recipe = Recipe { sources: &sources, headers: &[], options: &[], linking: Linking::Static };
    let output = target.join("setup/linux/tests/programs");
    compiler.build(&shell, &recipe, &output).unwrap();
    let mut files = Archive::new();
    files.file("programs", 0o755, &std::fs::read(&output).unwrap()).file("text", 0o755, b"no program");
    (oracle, files)
}

fn said(outcome: &Outcome) -> (String, String, End) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&outcome.output), text(&outcome.errors), outcome.end)
}

#[test]
fn every_way_to_write_and_to_end_comes_back() {
    let (oracle, files) = prepare();
    let mut hung = alone(&["p", "hang"], b"");
    hung.time_limit = Duration::from_millis(500);
    let mut text = alone(&["text"], b"");
    text.programs[0].path = "/text".into();
    let large: Vec<u8> = (0..200_000_u32).map(|number| number.to_le_bytes()[0]).collect();
    let together = Group {
        programs: vec![
            program(&["p", "wait-for", "/tmp/sign"], b""),
            program(&["p", "make", "/tmp/sign"], b""),
        ],
        time_limit: Duration::from_secs(20),
    };
    let groups = [
        alone(&["p", "exit", "7"], b""),
        alone(&["p", "words", "a b", ""], b""),
        alone(&["p", "copy"], &large),
        hung,
        alone(&["p", "fault"], b""),
        text,
        together,
        alone(&["p", "left"], b""),
        alone(&["p", "wait-for", "/tmp/sign", "never"], b""),
    ];
    let outcomes = oracle.run(&files, &groups).unwrap();
    let said: Vec<_> = outcomes.iter().map(said).collect();
    let quiet = |end| (String::new(), String::new(), end);
    assert_eq!(said[0], quiet(End::Exited(7)));
    assert_eq!(said[1], ("p words 'a b' '' KEY=value\n".into(), "to the errors\n".into(), End::Exited(0)));
    assert_eq!((outcomes[2].output.len(), outcomes[2].output == large), (large.len(), true));
    assert_eq!(said[3], ("before\n".into(), String::new(), End::Late));
    assert_eq!(said[4], quiet(End::Killed(11)));
    assert_eq!(said[5], quiet(End::Unstarted(8)), "ENOEXEC");
    assert_eq!((&said[6], &said[7]), (&quiet(End::Exited(0)), &quiet(End::Exited(0))), "they ran at once");
    assert_eq!(said[8], quiet(End::Exited(0)), "its child is stopped");
    assert_eq!(said[9], quiet(End::Exited(1)), "each group has its own /tmp");
    assert_eq!(outcomes.len(), 10);
}
