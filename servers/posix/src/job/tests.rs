//! Tests of jobs: what is read, in which order programs start, and what is told of them.

use super::*;
use crate::process::schedule::Next;
use crate::testing::archive::Archive;
use crate::testing::driver::Driver;
use crate::testing::program;
use std::boxed::Box;
use std::string::ToString;
use std::vec::Vec;

const EXIT_GROUP: u64 = 94;
const WRITE: u64 = 64;

/// A server with some files and a job.
fn driver(job: &str) -> Driver {
    let files = Archive::default()
        .directory("bin")
        .file("bin/one", 0o755, &program::usual())
        .file("bin/two", 0o755, &program::usual())
        .file("bin/closed", 0o644, &program::usual())
        .file("bin/text", 0o755, b"text")
        .directory("tmp")
        .file("tmp/own", 0o755, &program::usual());
    let mut driver = Driver::with_files(files);
    driver.server().jobs = Jobs::parse(job.as_bytes()).unwrap();
    driver.next = driver.posix.schedule();
    driver
}

fn errors(driver: &mut Driver) -> std::string::String {
    std::string::String::from_utf8(driver.server().host.output[1].clone()).unwrap()
}

/// What was recorded of programs, without the frames that are left.
fn told(driver: &mut Driver) -> Vec<std::string::String> {
    let without = |record: &std::string::String| record.split(" frames=").next().unwrap().into();
    driver.server().host.recorded.iter().map(without).collect()
}

#[test]
fn a_job_comes_off_the_archive_before_its_files() {
    let archive = Archive::default().file(MEMBER, 0o644, b"argument value=one\n").file("f", 0o644, b"x");
    let (jobs, rest) = Jobs::of_archive(Box::leak(archive.finish().into_boxed_slice())).unwrap();
    assert_eq!(
        jobs.unwrap().waiting,
        [[Program { arguments: [b"one".to_vec()].to_vec(), ..Program::default() }]]
    );
    let paths: Vec<_> = cpio::entries(rest).map(|entry| entry.unwrap().path).collect();
    assert_eq!(paths, [b"f"]);
    let without: &'static [u8] =
        Box::leak(Archive::default().file("f", 0o644, b"x").finish().into_boxed_slice());
    let (jobs, rest) = Jobs::of_archive(without).unwrap();
    assert!(jobs.is_none() && rest == without);
    let (jobs, rest) = Jobs::of_archive(b"").unwrap();
    assert!(jobs.is_none() && rest.is_empty());
}

#[test]
fn what_is_no_job_is_refused_with_its_place() {
    let refused = |text: &[u8]| Jobs::parse(text).unwrap_err().to_string();
    assert_eq!(
        refused(b"argument value=a\nwait\n"),
        "line 2 of the job: the first word names no kind of record"
    );
    assert_eq!(refused(b""), "program 1 of the job has no name");
    assert_eq!(refused(b"argument value=a\nnext\n"), "program 2 of the job has no name");
    assert_eq!(refused(b"\xff"), "the job is no text");
    assert!(Jobs::of_archive(b"0707").is_err());
}

#[test]
fn a_description_starts_its_programs_together() {
    let of = |arguments: &[&str]| Jobs::of_description(arguments.iter().copied());
    let jobs = of(&["program=/bin/one a%20 b", "loud", "program=two  "]).unwrap();
    let group = &jobs.waiting[0];
    assert_eq!(group[0].arguments, [b"/bin/one".to_vec(), b"a ".to_vec(), b"b".to_vec()]);
    assert_eq!(group[1].arguments, [b"two".to_vec(), b"".to_vec(), b"".to_vec()]);
    assert_eq!((group.len(), jobs.waiting.len()), (2, 1));
    assert!(of(&["loud"]).unwrap().waiting.is_empty());
    assert_eq!(of(&["program=one", "program="]).unwrap_err(), JobError::NoName(2));
    assert_eq!(of(&["program=one %2"]).unwrap_err(), JobError::Command(1));
}

#[test]
fn programs_run_one_after_the_other_and_each_is_told() {
    let mut driver =
        driver("argument value=one\nenvironment value=PATH=/x:/bin\nnext\nargument value=/bin/two\n");
    driver.poke_stack_and_write("hello");
    assert_eq!(driver.server().processes.len(), 1);
    driver.call(EXIT_GROUP, [7, 0, 0, 0, 0, 0]);
    assert!(matches!(driver.next, Next::Enter(..)));
    assert_eq!(told(&mut driver), ["program number=0 status=7 output=5 errors=0"]);
    driver.poke_stack_and_write("you");
    driver.call(EXIT_GROUP, [1, 0, 0, 0, 0, 0]);
    assert_eq!(driver.next, Next::Finished);
    assert_eq!(told(&mut driver)[1], "program number=1 status=1 output=8 errors=0");
    assert_eq!(driver.server().jobs.status(), Some(7));
}

#[test]
fn the_first_programs_find_the_users_files_in_tmp() {
    let mut driver = driver("argument value=/tmp/own\nnext\nargument value=/tmp/own\n");
    assert!(matches!(driver.next, Next::Enter(..)));
    driver.call(EXIT_GROUP, [3, 0, 0, 0, 0, 0]);
    assert_eq!(driver.next, Next::Finished);
    assert_eq!(errors(&mut driver), "bixi: /tmp/own: not found\n", "the next ones find it empty");
}

#[test]
fn programs_beside_each_other_end_together() {
    let mut driver = driver("argument value=one\nbeside\nargument value=two\nnext\nargument value=none\n");
    assert_eq!(driver.server().processes.len(), 2);
    driver.call(EXIT_GROUP, [3, 0, 0, 0, 0, 0]);
    assert!(driver.server().host.recorded.is_empty(), "the other one runs still");
    driver.call(EXIT_GROUP, [4, 0, 0, 0, 0, 0]);
    assert_eq!(driver.next, Next::Finished);
    let told = told(&mut driver);
    assert_eq!(
        told[..2],
        ["program number=0 status=3 output=0 errors=0", "program number=1 status=4 output=0 errors=0"]
    );
    assert_eq!(told[2], "program number=2 status=127 output=0 errors=22");
    assert_eq!(errors(&mut driver), "bixi: none: not found\n");
}

#[test]
fn what_a_program_leaves_behind_ends_with_it() {
    let mut driver = driver("argument value=one\n");
    let thread = driver.thread();
    let process = driver.server().current().unwrap().process;
    driver.start("/bin/two").unwrap();
    driver.server().end_process(process, crate::process::Status::Exited(0));
    driver.next = driver.posix.schedule();
    assert!(driver.server().threads.get(thread).is_none());
    assert_eq!((driver.next, driver.server().processes.len()), (Next::Finished, 0));
}

#[test]
fn what_cannot_start_is_told_as_a_shell_does() {
    for (word, status, reason) in [
        ("none", 127, "not found"),
        ("/bin/none", 127, "not found"),
        ("closed", 126, "Permission denied"),
        ("/bin/text", 126, "not an executable for this machine"),
        ("", 127, "not found"),
    ] {
        let mut driver = driver(&std::format!("argument value={word}\n"));
        assert_eq!((driver.next, driver.server().jobs.status()), (Next::Finished, Some(status)), "{word}");
        assert_eq!(errors(&mut driver), std::format!("bixi: {word}: {reason}\n"));
    }
}

impl Driver {
    /// The running program writes a text to its standard output.
    fn poke_stack_and_write(&mut self, text: &str) {
        let context = self.context().unwrap();
        let below = self.server().host.context(context).registers.general[3] - 64;
        self.poke(below, text.as_bytes());
        let length = text.len() as u64;
        assert_eq!(self.call(WRITE, [1, below, length, 0, 0, 0]), Some(length));
    }
}
