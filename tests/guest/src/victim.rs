//! A server that fails when it is started for the first and the second time: what root does about it is told in
//! `story::restarts`.

use abi::ring::{ConsoleEntry, ENTRY_TEXT_BYTES};
use runtime::panic::last_words;
use runtime::server::Server;

/// Its status when it ends at last.
const STATUS: u8 = 3;
/// An address that nothing is mapped at.
const HOLE: usize = 0x3_0000_0000;

/// The victim's main function: says how often it was started before, then fails.
pub(crate) fn fail(server: &Server) -> u8 {
    let mut ring = server.channels().find_map(|(channel, _)| channel.producer());
    let restarts = u32::try_from(server.restarts()).unwrap_or(u32::MAX);
    let entry = ConsoleEntry { line: restarts, length: 0, text: [0; ENTRY_TEXT_BYTES] };
    if ring.as_mut().is_none_or(|ring| ring.push(&entry).is_err()) {
        last_words(format_args!("the victim has no room for its testimony"));
    }
    match restarts {
        0 => touch(HOLE),
        1 => last_words(format_args!("a panic, on purpose")),
        _ => STATUS,
    }
}

#[expect(unsafe_code, reason = "a fault on purpose")]
fn touch(address: usize) -> u8 {
    // SAFETY: the load faults, and the thread does not go on.
    unsafe { core::ptr::with_exposed_provenance::<u8>(address).read_volatile() }
}
