//! A server that writes what it reads: line 1's input goes to line 1's output, and how many bytes that were to line 2.
//! Its rings are small, and it dawdles, so that whoever writes has to wait for it.

use abi::ring::ENTRY_TEXT_BYTES;
use runtime::log::SerialLine;
use runtime::panic::last_words;
use runtime::ring::{Consumer, Wake};
use runtime::server::{Channel, Server, shut_down};
use runtime::stubs::{Notification, yield_now};

/// After so many entries it lets others run first.
const DAWDLES: u64 = 97;

/// The echo's main function.
pub(crate) fn echo(server: &Server) -> u8 {
    let input = server.channels().find_map(|(channel, bit)| Some((channel.consumer()?, channel, bit)));
    let (Some((mut ring, channel, bit)), Some(mut console)) = (input, server.console()) else {
        last_words(format_args!("the echo has no input, or no output"));
    };
    let mut bytes: u64 = 0;
    let mut entries: u64 = 0;
    loop {
        let entry = match ring.peek() {
            Ok(Some(entry)) => entry,
            Ok(None) => {
                if ring.sleeps().unwrap_or(true) {
                    console.events.wait_for(bit);
                }
                continue;
            }
            Err(error) => last_words(format_args!("the input's ring: {error:?}")),
        };
        take(&mut ring, &channel);
        let length = usize::try_from(entry.length).unwrap_or(usize::MAX).min(ENTRY_TEXT_BYTES);
        if length == 0 {
            break;
        }
        console.stream(SerialLine::Output, entry.text.get(..length).unwrap_or_default());
        bytes += u64::from(entry.length);
        entries += 1;
        if entries.is_multiple_of(DAWDLES) {
            yield_now();
        }
    }
    let mut said = heapless::String::<32>::new();
    // It fits.
    let _ = core::fmt::write(&mut said, format_args!("{bytes} bytes"));
    console.stream(SerialLine::Errors, said.as_bytes());
    console.flush();
    shut_down(u8::try_from(bytes % 251).unwrap_or(0))
}

fn take(ring: &mut Consumer<abi::ring::ConsoleEntry>, channel: &Channel) {
    let peer: Notification = channel.peer_notification();
    match ring.complete() {
        Ok(Wake::Needed) => {
            // A console that is gone needs no signal.
            let _ = peer.signal();
        }
        Ok(Wake::NotNeeded) => {}
        Err(error) => last_words(format_args!("the input's ring: {error:?}")),
    }
}
