//! Whole runs in QEMU: each result of a run is told apart, and what the counter writes is exact.
//!
//! These tests need QEMU (`cargo xtask setup`).
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use machine::{Counting, Emulator, Failure, Line, Machine, Run, RunError, Verdict};
use support::{Guest, PoweredOff};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn run(guest: &Guest, timeout: Duration) -> Run {
    let folder = folder();
    let mut machine = Machine::new(guest.write(folder.path(), 0));
    machine.timeout = timeout;
    machine.run(&Emulator::find().unwrap(), |_, _| {}).unwrap()
}

fn run_powered_off(guest: &PoweredOff) -> Run {
    run(&guest.0, Duration::from_secs(30))
}

#[test]
fn an_exit_record_and_a_power_off_pass() {
    let guest = Guest::new()
        .print(0, b"hello\n")
        .print(1, b"\0\xff\x11\x13\r\n")
        .print(2, b"oops")
        .print(3, b"test name=a%20b result=passed\nexit code=3\n")
        .power_off();
    let run = run_powered_off(&guest);
    assert_eq!(run.verdict, Verdict::Passed { exit_code: 3 });
    assert_eq!(run.log, "hello\n");
    assert_eq!(run.output, b"\0\xff\x11\x13\r\n", "the lines are 8-bit clean");
    assert_eq!(run.errors, b"oops");
    assert_eq!(run.records().count(), 2);
}

#[test]
fn a_power_off_without_exit_record_fails_with_the_log() {
    let run = run_powered_off(&Guest::new().print(0, b"last words").power_off());
    assert_eq!(run.verdict, Verdict::Failed(Failure::NoExitRecord));
    assert_eq!(run.log, "last words");
}

#[test]
fn a_panic_fails_even_with_an_exit_record() {
    let guest = Guest::new().print(3, b"exit code=0\n").print(0, b"PANIC: test\n  at 0x1234\n").power_off();
    assert_eq!(run_powered_off(&guest).verdict, Verdict::Failed(Failure::Panic("the kernel".into())));
}

#[test]
fn a_guest_that_does_not_end_is_stopped_with_the_log_kept() {
    let run = run(&Guest::new().print(0, b"working").forever(), Duration::from_secs(2));
    assert!(matches!(run.verdict, Verdict::Hung { .. }), "{}", run.verdict);
    assert_eq!(run.log, "working");
}

#[test]
fn everything_is_heard_as_it_comes() {
    let folder = folder();
    let guest = Guest::new().print(0, b"ab").print(3, b"exit code=0\n").power_off();
    let machine = Machine::new(guest.0.write(folder.path(), 0));
    let mut heard = Vec::new();
    machine.run(&Emulator::find().unwrap(), |line, bytes| heard.push((line, bytes.to_vec()))).unwrap();
    let log: Vec<u8> =
        heard.iter().filter(|(line, _)| *line == Line::Log).flat_map(|(_, b)| b.clone()).collect();
    assert_eq!(log, b"ab");
}

#[test]
fn an_image_that_is_missing_none_or_too_large_is_refused_before_boot() {
    let emulator = Emulator::find().unwrap();
    let error_of = |image: &Path| {
        let error = Machine::new(image).run(&emulator, |_, _| {}).unwrap_err();
        assert!(matches!(error, RunError::Fit(_)));
        error.to_string()
    };
    let folder = folder();
    assert!(error_of(&folder.path().join("missing")).contains("cannot read the image"));
    let text = folder.path().join("text");
    std::fs::write(&text, "not an image").unwrap();
    assert!(error_of(&text).contains("not an ELF file for 64-bit LoongArch"));
    let large = error_of(&Guest::new().forever().write(folder.path(), 300 << 20));
    assert!(large.contains("307200 KiB") && large.contains("1024 MiB"), "both sizes are told: {large}");
}

#[test]
fn what_qemu_refuses_is_told_in_its_words() {
    let folder = folder();
    let mut machine = Machine::new(Guest::new().forever().write(folder.path(), 0));
    machine.initrd = Some(folder.path().into());
    let error = machine.run(&Emulator::find().unwrap(), |_, _| {}).unwrap_err();
    assert!(
        matches!(&error, RunError::Refused { printed } if printed.contains("initial ram disk")),
        "{error}"
    );
    machine.initrd = Some(folder.path().join("missing.cpio"));
    let error = machine.run(&Emulator::find().unwrap(), |_, _| {}).unwrap_err();
    assert!(error.to_string().contains("cannot read"), "what can be told before is: {error}");
}

/// Builds the counter; cargo does nothing when it is there.
fn counter() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = folder_of_this_build();
    let built = Command::new(env!("CARGO"))
        .current_dir(root)
        .args([
            "build",
            "--quiet",
            "--release",
            "--package",
            "counter",
            "--features",
            "plugin",
            "--target-dir",
        ])
        .arg(&target)
        .status();
    assert!(built.unwrap().success());
    target.join("release/libcounter.so")
}

/// Returns the target folder that this test was built in: it lies in its `debug/deps`.
fn folder_of_this_build() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(3).unwrap().to_path_buf()
}

/// What the counter wrote: its pairs, and its profile.
struct Counted {
    pairs: Vec<String>,
    profile: Vec<String>,
}

fn count_as(guest: &PoweredOff, histogram: fn(&Path) -> Option<PathBuf>) -> Counted {
    let folder = folder();
    let output = folder.path().join("pairs");
    let histogram = histogram(folder.path());
    let mut machine = Machine::new(guest.0.write(folder.path(), 0));
    machine.counting =
        Some(Counting { plugin: counter(), output: output.clone(), histogram: histogram.clone() });
    let run = machine.run(&Emulator::find().unwrap(), |_, _| {}).unwrap();
    assert_eq!(run.verdict, Verdict::Passed { exit_code: 0 });
    let lines = |file| std::fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect();
    Counted { pairs: lines(output), profile: histogram.map(lines).unwrap_or_default() }
}

fn count(guest: &PoweredOff) -> Vec<String> {
    count_as(guest, |_| None).pairs
}

#[test]
fn the_counter_counts_what_lies_between_the_marks_and_nothing_else() {
    let load = 0x28c0_0000 | 12 << 5 | 13;
    let store = 0x29c0_0000 | 12 << 5 | 13;
    let read_csr = 0x0400_c000 | 13;
    let guest = Guest::new()
        .set(12, 0x30_0000)
        .start(b"none", 1)
        .stop()
        .start(b"some", 7)
        .word(load)
        .word(load)
        .word(store)
        .word(read_csr)
        .set(13, 0)
        .stop()
        .word(load)
        .stop()
        .print(3, b"exit code=0\n")
        .power_off();
    let expected = [
        "pair label=none ops=1 kernel=0 phys=0 host=0 user=0 loads=0/0 stores=0/0 csr=0/0",
        "pair label=some ops=7 kernel=0 phys=6 host=0 user=0 loads=2/2 stores=1/1 csr=1/1",
    ];
    assert_eq!(count(&guest), expected, "a stop without a start is no pair");
    assert_eq!(count(&guest), expected, "and the same again");
}

#[test]
fn what_a_counted_guest_prints_reaches_its_listener_whole_and_nobody_else_in_between() {
    // More than QEMU leaves in a socket that nobody reads.
    let text = [b'x'; 600];
    let guest = Guest::new().print(0, &text).print(3, b"input-ready\nexit code=0\n").power_off();
    let folder = folder();
    let mut machine = Machine::new(guest.0.write(folder.path(), 0));
    machine.counting =
        Some(Counting { plugin: counter(), output: folder.path().join("pairs"), histogram: None });
    let mut heard = Vec::new();
    let run = machine.run(&Emulator::find().unwrap(), |line, bytes| heard.push((line, bytes.len())));
    let run = run.unwrap();
    assert_eq!(run.verdict, Verdict::Passed { exit_code: 0 });
    assert_eq!(run.log.as_bytes(), text);
    assert_eq!(heard, [(Line::Log, 600), (Line::Control, 24)]);
}

#[test]
fn a_counted_guest_that_hangs_is_stopped_and_heard() {
    let guest = Guest::new().print(0, b"before").forever();
    let folder = folder();
    let mut machine = Machine::new(guest.write(folder.path(), 0));
    machine.timeout = Duration::from_secs(1);
    machine.counting =
        Some(Counting { plugin: counter(), output: folder.path().join("pairs"), histogram: None });
    let run = machine.run(&Emulator::find().unwrap(), |_, _| {}).unwrap();
    assert!(matches!(run.verdict, Verdict::Hung { .. }), "{:?}", run.verdict);
    assert_eq!(run.log, "before");
}

#[test]
fn the_profile_says_how_often_each_address_was_executed() {
    // A loop of two instructions, three times round: addi.d $t1, $t1, -1; bnez $t1, -4.
    let guest = Guest::new().set(13, 3).start(b"loop", 1).word(0x02ff_fdad).word(0x47ff_fdbf).stop();
    let counted =
        count_as(&guest.print(3, b"exit code=0\n").power_off(), |folder| Some(folder.join("profile")));
    assert_eq!(
        counted.pairs,
        ["pair label=loop ops=1 kernel=0 phys=6 host=0 user=0 loads=0/0 stores=0/0 csr=0/0"]
    );
    assert_eq!(counted.profile, ["loop 20001c 3", "loop 200020 3"]);
}

#[test]
fn thousands_of_pairs_are_cheap() {
    let pairs = (0..5000).fold(Guest::new(), |guest, _| guest.start(b"many", 1).set(13, 5).stop());
    let lines = count(&pairs.print(3, b"exit code=0\n").power_off());
    assert_eq!(lines.len(), 5000);
    assert!(lines.iter().all(|line| line.contains(" phys=2 ")));
}
