//! Owns the tests that run in the guest: the image `test` tells each one's result on the control line.

use std::time::Duration;

use abi::control::{Record, SelfTestResult, TestResult};
use image::LoadAddress;
use machine::{Run, Verdict};

use super::{Campaign, Selection, Tally};
use crate::boot;
use crate::build::{self, Image, Programs};
use crate::workspace::Workspace;
use packages::shell::Shell;

/// How long all guest tests together may take.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Where images are loaded in tests: behind QEMU's boot tables, and in memory behind the devices.
pub(crate) const LOAD_ADDRESSES: [u64; 2] = [0x20_0000, 0x9000_0000];

/// How long a campaign may take.
const CAMPAIGN_TIMEOUT: Duration = Duration::from_secs(4 * 3600);

/// Runs them, once for each load address; a full campaign also repeats those that are made for it a thousand times.
pub(crate) fn run(
    shell: &Shell,
    workspace: &Workspace,
    programs: &Programs,
    selection: &Selection,
    campaign: Campaign,
    tally: &mut Tally,
) {
    for address in LOAD_ADDRESSES.into_iter().filter_map(LoadAddress::new) {
        let place = format!("loaded at {:#x}", address.physical());
        tally.section(&format!("guest tests, {place}"));
        match build::named_image(workspace, programs, "test", address) {
            Ok(image) => tell(shell, &image, TIMEOUT, &place, selection, tally),
            Err(error) => return tally.fail("guest tests", &format!("{error:?}")),
        }
    }
    if campaign == Campaign::Full {
        tally.section("guest tests, a thousand times");
        match build::named_image(workspace, programs, "campaign", LoadAddress::DEFAULT) {
            Ok(image) => tell(shell, &image, CAMPAIGN_TIMEOUT, "a thousand times", selection, tally),
            Err(error) => tally.fail("guest tests, a thousand times", &format!("{error:?}")),
        }
    }
}

/// Boots an image and adds what its tests say.
fn tell(
    shell: &Shell,
    image: &Image,
    timeout: Duration,
    place: &str,
    selection: &Selection,
    tally: &mut Tally,
) {
    match boot::boot(shell, image, None, timeout) {
        Ok(run) => {
            record(&run, place, selection, tally);
            if !matches!(run.verdict, Verdict::Passed { .. }) {
                tally.fail(&format!("guest tests, {place}"), &format!("{:?}", boot::explain(&run, image)));
            }
        }
        Err(error) => tally.fail(&format!("guest tests, {place}"), &format!("{error:?}")),
    }
}

/// Adds each test's result; a run without any is a failure.
fn record(run: &Run, place: &str, selection: &Selection, tally: &mut Tally) {
    let mut seen = 0;
    let mut failures = 0;
    for record in run.records() {
        match record {
            Record::SelfTest { name, result, detail } => {
                let word = if result == SelfTestResult::Enforced { "enforced" } else { "not enforced" };
                println!("machine: {name}: {word} ({detail})");
            }
            Record::Test { name, result, reason } => {
                seen += 1;
                let name = format!("{name}, {place}");
                if result == TestResult::Failed {
                    failures += 1;
                }
                match result {
                    _ if !selection.has(&name) => {}
                    TestResult::Passed => tally.pass(&name),
                    TestResult::Failed => tally.fail(&name, &reason.to_string()),
                    TestResult::Skipped => tally.skip(&name, &reason.to_string()),
                }
            }
            _ => {}
        }
    }
    if seen == 0 {
        tally.fail("guest tests", "the guest recorded none");
    }
    if let (Verdict::Passed { exit_code }, 0) = (&run.verdict, failures)
        && *exit_code != 0
    {
        tally.fail("guest tests", &format!("no test failed, but the guest ended with exit code {exit_code}"));
    }
}
