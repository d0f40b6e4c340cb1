//! Tells every story in turn, each on a swept stage, and reports it on the control line. Arguments `only=TEXT`
//! leave out those without any of the texts in their names; `rounds=N` is for stories that are campaigns.

use abi::control::{Record, TestResult, Text};
use runtime::log::Console;
use runtime::server::{Server, shut_down};

use crate::kit::failure::Failure;
use crate::kit::stage::Stage;
use crate::story;

/// The guest's main function.
pub(crate) fn tell_all(server: Server) -> u8 {
    let Some(mut console) = server.console() else { shut_down(2) };
    let mut stage = match Stage::build(server) {
        Ok(stage) => stage,
        Err(refusal) => {
            console.log(format_args!("guest: there is no stage: {refusal}"));
            shut_down(1)
        }
    };
    let mut failed = 0_u32;
    let stories = story::ALL.iter().flat_map(|stories| stories.iter());
    for story in stories.filter(|story| is_chosen(&server, story.name)) {
        // A story that hangs is the last one that the log names.
        console.log(format_args!("guest: {}", story.name));
        let result = (story.tell)(&mut stage);
        report(&mut console, story.name, &result);
        failed += u32::from(matches!(result, Err(Failure::Failed { .. })));
        if let Err(refusal) = stage.sweep() {
            console.log(format_args!("guest: the stage cannot be swept after {}: {refusal}", story.name));
            failed += 1;
            break;
        }
    }
    console.flush();
    shut_down(u8::from(failed != 0))
}

fn is_chosen(server: &Server, name: &str) -> bool {
    let mut texts = server.arguments().filter_map(|argument| argument.strip_prefix("only=")).peekable();
    texts.peek().is_none() || texts.any(|text| name.contains(text))
}

fn report(console: &mut Console, name: &str, result: &Result<(), Failure>) {
    let (result, reason) = match result {
        Ok(()) => (TestResult::Passed, ""),
        Err(Failure::Skipped(reason)) => (TestResult::Skipped, *reason),
        Err(Failure::Failed { reason }) => (TestResult::Failed, reason.as_str()),
    };
    console.record(&Record::Test { name: Text::new(name), result, reason: Text::new(reason) });
}
