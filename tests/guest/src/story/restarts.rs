//! Root builds a server anew that has failed, and its channels stay what they were.
//!
//! The victim (`crate::victim`) has run before: it is above this server. Its ring holds one entry for each time
//! that it was started, so the second and third were written by a server whose memory was all taken away before.

use abi::server::End;

use super::stories;
use crate::kit::failure::{Failure, Outcome, equal};
use crate::kit::stage::Stage;

stories! {
    a_server_that_fails_is_built_anew_with_its_ring_as_it_was,
}

fn a_server_that_fails_is_built_anew_with_its_ring_as_it_was(stage: &mut Stage) -> Outcome {
    let mut channels = stage.server.channels().filter(|(channel, _)| channel.peer() == "victim");
    let Some((channel, _)) = channels.next().filter(|(channel, _)| channel.end() == Some(End::Consumer))
    else {
        return Err(Failure::new(format_args!("there is no channel to the victim")));
    };
    let Some(mut ring) = channel.consumer() else {
        return Err(Failure::new(format_args!("the victim's ring cannot be")));
    };
    for started in 0..3 {
        let entry = ring.peek().ok().flatten().map(|entry| entry.line);
        equal("restarts, as the victim was told", entry, Some(started))?;
        let _ = ring.complete();
    }
    equal("it ended", ring.peek().map(|entry| entry.is_none()), Ok(true))
}
