//! Every test does on Linux what is recorded: the record is neither old nor written by hand.

use hosted::manifest::{Manifest, Systems, Test};
use hosted::recorded::Recorded;
use hosted::{build, on_linux};
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
    let tests: Vec<&Test> = manifest.tests.iter().filter(|test| test.on == Systems::Both).collect();
    let files =
        build::files_of_tests(&loong64, &compiler, &manifest, &tests, &target.join("hosted")).unwrap();
    let outcomes = on_linux::run(&oracle, &manifest, &files, &tests).unwrap();
    assert_eq!(outcomes.len(), tests.len());
    let recorded = Recorded::load().unwrap();
    let mut wrong = String::new();
    for (test, outcome) in tests.iter().zip(&outcomes) {
        if let Some(told) = recorded.differs(&test.name, outcome) {
            wrong += &format!("{}: {told}", test.name);
        }
    }
    assert!(wrong.is_empty(), "on Linux {}, recorded on {}:\n{wrong}", oracle.version(), recorded.kernel);
}
