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
    let recorded = Recorded::load().unwrap();
    let wrong = |tests: &[&Test]| -> Vec<(String, String)> {
        let outcomes = on_linux::run(&oracle, &manifest, &files, tests).unwrap();
        assert_eq!(outcomes.len(), tests.len());
        let told = tests.iter().zip(&outcomes).map(|(test, outcome)| recorded.differs(&test.name, outcome));
        let told = tests.iter().zip(told).filter_map(|(test, told)| Some((test.name.clone(), told?)));
        told.collect()
    };
    let first = wrong(&tests);
    if first.is_empty() {
        return;
    }
    // On a busy machine Linux is late for what a test has set a time for: those once more, by themselves.
    eprintln!("once more: {first:#?}");
    let again: Vec<&Test> =
        tests.iter().copied().filter(|test| first.iter().any(|(name, _)| *name == test.name)).collect();
    let wrong = wrong(&again);
    assert!(wrong.is_empty(), "on Linux {}, recorded on {}:\n{wrong:#?}", oracle.version(), recorded.kernel);
}
