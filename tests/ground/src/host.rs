//! Start and entries: no program runs here, so only the host's own faults are ever entered.

use core::fmt;

use abi::control::{Record, TestResult, Text};
use abi::upper::HostInfo;
use runtime::host::{Next, copy};
use runtime::log::Console;
use runtime::server::{Server, shut_down};

use crate::checks::{CHECKS, Given};
use crate::failure::Failure;
use crate::misdeed;

runtime::host_main!(main);

runtime::host_entries! {
    fault: stray,
    interrupted: stray,
    attention: stray_call,
    resolve: resolve,
    refused: refused,
}

fn main(server: Server, info: &'static HostInfo) -> ! {
    let Some(mut console) = server.console() else { bug(format_args!("no channel to the console")) };
    if let Some(misdeed) = misdeed::asked_for(info) {
        console.log(format_args!("{server}: {misdeed:?}"));
        console.flush();
        misdeed::commit(misdeed, info)
    }
    let given = Given { server, info };
    let mut failures = 0_u8;
    for (name, check) in CHECKS {
        let outcome = check(&given, &console.events);
        failures = failures.saturating_add(u8::from(matches!(outcome, Err(Failure::Failed(_)))));
        tell(&mut console, name, &outcome);
    }
    // The tool compares it with its own.
    console.log(format_args!("{server}: realtime_ns={}", given.realtime_ns()));
    console.flush();
    shut_down(failures)
}

fn tell(console: &mut Console, name: &str, outcome: &Result<(), Failure>) {
    let (result, reason) = match outcome {
        Ok(()) => (TestResult::Passed, ""),
        Err(Failure::Skipped(reason)) => (TestResult::Skipped, *reason),
        Err(Failure::Failed(reason)) => (TestResult::Failed, reason.as_str()),
    };
    console.record(&Record::Test { name: Text::new(name), result, reason: Text::new(reason) });
}

extern "C" fn stray() -> Next {
    bug(format_args!("an entry for programs, and there is none"))
}

extern "C" fn stray_call(_result: u64) -> Next {
    stray()
}

/// What a check touches of a space and is not there stays so.
extern "C" fn resolve(pc: u64, address: u64, _access: u64, _cause: u64) -> u64 {
    copy::fix_up(pc).unwrap_or_else(|| bug(format_args!("{address:#x} was touched at {pc:#x}")))
}

extern "C" fn refused(information: u64) -> ! {
    bug(format_args!("the kernel refused: {information:#x}"))
}

fn bug(what: fmt::Arguments<'_>) -> ! {
    runtime::panic::last_words(what)
}
