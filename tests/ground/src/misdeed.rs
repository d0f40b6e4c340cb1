//! What a host must not do, and does here when the initrd begins with its name.

use abi::upper::{HostInfo, STACK_BYTES, STACK_TOP, TEXT};

use crate::word::Word;

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Misdeed {
    /// Writes to its text.
    WriteText,
    /// Writes to the initrd.
    WriteInitrd,
    /// Writes below its stack.
    OverflowStack,
    /// Panics.
    Panic,
}

/// Names in the initrd's first eight bytes.
const NAMES: [(&[u8; 8], Misdeed); 4] = [
    (b"text    ", Misdeed::WriteText),
    (b"initrd  ", Misdeed::WriteInitrd),
    (b"stack   ", Misdeed::OverflowStack),
    (b"panic   ", Misdeed::Panic),
];

/// The one that the initrd asks for.
pub(crate) fn asked_for(info: &HostInfo) -> Option<Misdeed> {
    if info.initrd.bytes < 8 {
        return None;
    }
    let first = Word::at(info.initrd.address).get().to_le_bytes();
    NAMES.into_iter().find_map(|(name, misdeed)| (*name == first).then_some(misdeed))
}

/// Does it.
pub(crate) fn commit(misdeed: Misdeed, info: &HostInfo) -> ! {
    let address = match misdeed {
        Misdeed::WriteText => TEXT,
        Misdeed::WriteInitrd => info.initrd.address,
        Misdeed::OverflowStack => STACK_TOP - STACK_BYTES - 8,
        Misdeed::Panic => runtime::panic::last_words(format_args!("on purpose")),
    };
    Word::at(address).set(1);
    runtime::panic::last_words(format_args!("{address:#x} was written to"))
}
