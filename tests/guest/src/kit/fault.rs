//! Faults on purpose: what a handler heard, taken apart.

use abi::fault::Fault;
use runtime::trap::Received;

/// A fault message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) badge: u64,
    pub(crate) kind: Option<Fault>,
    pub(crate) length: usize,
    pub(crate) pc: u64,
    pub(crate) address: u64,
    pub(crate) cause: u64,
    pub(crate) instruction: u64,
}

impl Heard {
    /// Takes a message apart.
    pub(crate) fn of(received: &Received) -> Self {
        let [pc, address, cause, instruction, ..] = received.words;
        let kind =
            if received.info.is_from_kernel() { None } else { Fault::from_label(received.info.label()) };
        Self { badge: received.badge, kind, length: received.info.length(), pc, address, cause, instruction }
    }
}
