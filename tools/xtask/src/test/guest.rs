//! Owns the tests that run in the guest: the image `test` tells each one's result on the control line.

use std::time::Duration;

use abi::control::{Record, SelfTestResult, TestResult};
use image::LoadAddress;
use machine::{Run, Verdict};

use super::{Campaign, Selection, Tally, sources};
use crate::boot;
use crate::build::{self, Image, Programs};
use crate::members;
use crate::workspace::Workspace;
use packages::shell::Shell;

/// How long all guest tests together may take.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Where images are loaded in tests: behind QEMU's boot tables, and in memory behind the devices.
pub(crate) const LOAD_ADDRESSES: [u64; 2] = [0x20_0000, 0x9000_0000];

/// The program that tells them.
const PROGRAM: &str = "guest";

/// Where the tests of a campaign are said to have run.
const A_THOUSAND_TIMES: &str = "a thousand times";

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
        if !may_tell(workspace, PROGRAM, &place, selection) {
            continue;
        }
        tally.section(&format!("guest tests, {place}"));
        match build::named_image(workspace, programs, "test", address) {
            Ok(image) => tell(shell, &image, TIMEOUT, &place, selection, tally),
            Err(error) => return tally.fail("guest tests", &format!("{error:?}")),
        }
    }
    if campaign == Campaign::Full && may_tell(workspace, PROGRAM, A_THOUSAND_TIMES, selection) {
        tally.section("guest tests, a thousand times");
        match build::named_image(workspace, programs, "campaign", LoadAddress::DEFAULT) {
            Ok(image) => tell(shell, &image, CAMPAIGN_TIMEOUT, A_THOUSAND_TIMES, selection, tally),
            Err(error) => tally.fail("guest tests, a thousand times", &format!("{error:?}")),
        }
    }
}

/// Returns whether a program of the guest's has a test with such a name; one that nobody asked for is neither built nor
/// booted.
pub(super) fn may_tell(workspace: &Workspace, program: &str, place: &str, selection: &Selection) -> bool {
    let Some(wanted) = selection.text() else { return true };
    if full_name("", place).contains(wanted) {
        return true;
    }
    // What of the wanted text would be the test's own name.
    let (name, where_told) = wanted.split_once(", ").unwrap_or((wanted, ""));
    place.contains(where_told)
        && members::place_of(workspace, program).is_some_and(|folder| sources::has_story(&folder, name))
}

/// A test's name with where it ran.
fn full_name(name: &str, place: &str) -> String {
    format!("{name}, {place}")
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
pub(super) fn record(run: &Run, place: &str, selection: &Selection, tally: &mut Tally) {
    let mut seen = 0;
    let mut failures = 0;
    for record in run.records() {
        match record {
            Record::SelfTest { name, result, detail } => {
                let word = if result == SelfTestResult::Enforced { "enforced" } else { "not enforced" };
                packages::say!("machine: {name}: {word} ({detail})");
            }
            Record::Test { name, result, reason } => {
                seen += 1;
                let name = full_name(&name.to_string(), place);
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
