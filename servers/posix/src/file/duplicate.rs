//! close, close_range, dup, dup3.

use super::descriptor::{Descriptor, OnExec, flags};
use crate::Errno;
use crate::dispatch::{Arguments, Flow};
use crate::host::Host;
use crate::number::{low_i32, low_u32};
use crate::server::Server;

/// Close nothing, but mark what is there for execve.
const CLOSE_RANGE_CLOEXEC: u32 = 4;
/// In a table of the process's own from then on.
const CLOSE_RANGE_UNSHARE: u32 = 2;

/// close(2).
pub fn close<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let descriptor = server.descriptors()?.take(low_u32(arguments.word(0))).ok_or(Errno::EBADF)?;
    server.close_descriptor(descriptor);
    // The other end of a pipe may have been waiting for this.
    Ok(super::transfer::flow(server, 0))
}

/// close_range(2).
pub fn close_range<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let [first, last, bits, ..] = arguments.words();
    let (first, last, bits) = (low_u32(first), low_u32(last), low_u32(bits));
    if bits & !(CLOSE_RANGE_CLOEXEC | CLOSE_RANGE_UNSHARE) != 0 || first > last {
        return Err(Errno::EINVAL);
    }
    if bits & CLOSE_RANGE_UNSHARE != 0 {
        server.unshare_descriptors()?;
    }
    let end = server.descriptors()?.end().min(last.saturating_add(1));
    for fd in first..end {
        let table = server.descriptors()?;
        if bits & CLOSE_RANGE_CLOEXEC != 0 {
            if let Some(descriptor) = table.get_mut(fd) {
                descriptor.on_exec = OnExec::Close;
            }
        } else if let Some(descriptor) = table.take(fd) {
            server.close_descriptor(descriptor);
        }
    }
    Ok(super::transfer::flow(server, 0))
}

/// dup(2).
pub fn dup<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let open = server.descriptor(arguments.word(0))?.open;
    server.add_descriptor(open, OnExec::Keep, 0)
}

/// dup3(2).
pub fn dup3<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let [old, new, bits, ..] = arguments.words();
    let bits = low_u32(bits);
    if bits & !flags::CLOEXEC != 0 || low_u32(old) == low_u32(new) {
        return Err(Errno::EINVAL);
    }
    let new = u32::try_from(low_i32(new)).map_err(|_| Errno::EBADF)?;
    if u64::from(new) >= server.process()?.limits.files() {
        return Err(Errno::EBADF);
    }
    let open = server.descriptor(old)?.open;
    server.hold_open(open);
    let replaced = server.descriptors()?.put(new, Descriptor { open, on_exec: OnExec::of(bits) });
    if let Some(replaced) = replaced {
        server.close_descriptor(replaced);
    }
    Ok(super::transfer::flow(server, u64::from(new)))
}

impl<H: Host> Server<H> {
    /// Closes a descriptor that is no longer in the acting process's table: its record locks on that file go.
    pub(super) fn close_descriptor(&mut self, descriptor: Descriptor) {
        if !self.files.locks.is_empty()
            && let Some(node) = self.files.open.get(descriptor.open).and_then(|file| file.node())
            && let Ok(process) = self.process()
        {
            let pid = process.pid;
            self.files.locks.forget_process(pid, Some(node), &mut self.waits, &mut self.ready);
        }
        self.release_open(descriptor.open);
    }

    /// Gives the acting process a table of descriptors of its own.
    ///
    /// # Errors
    /// ENFILE when there are too many.
    pub fn unshare_descriptors(&mut self) -> Result<(), Errno> {
        let before = self.process()?.files.descriptors;
        if self.descriptors()?.users() == 1 {
            return Ok(());
        }
        let copied = self.copy_descriptors(before).ok_or(Errno::ENFILE)?;
        self.process_mut()?.files.descriptors = copied;
        self.release_descriptors(before);
        Ok(())
    }
}
