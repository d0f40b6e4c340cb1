//! The kernel's own lines in the log, written through the machine.

use core::fmt;

use crate::arch::Machine;

/// Writes text to the machine's log; never fails.
#[derive(Debug)]
pub struct Log<'a, M>(pub &'a mut M);

impl<M: Machine> fmt::Write for Log<'_, M> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| self.0.put_byte(byte));
        Ok(())
    }
}
