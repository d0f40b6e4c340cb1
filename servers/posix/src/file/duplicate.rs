//! close, dup, dup3.

use super::descriptor::{Descriptor, OnExec, flags};
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::{low_i32, low_u32};
use crate::server::Server;

/// close(2).
pub fn close<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let id = server.process()?.files.descriptors;
    let table = server.files.descriptors.get_mut(id).ok_or(Errno::EBADF)?;
    let descriptor = table.take(low_u32(arguments.word(0))).ok_or(Errno::EBADF)?;
    server.files.release(descriptor.open);
    Ok(0)
}

/// dup(2).
pub fn dup<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let open = server.descriptor(arguments.word(0))?.open;
    server.add_descriptor(open, OnExec::Keep, 0)
}

/// dup3(2).
pub fn dup3<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
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
    let on_exec = if bits & flags::CLOEXEC != 0 { OnExec::Close } else { OnExec::Keep };
    if let Some(file) = server.files.open.get_mut(open) {
        file.references += 1;
    }
    let id = server.process()?.files.descriptors;
    let table = server.files.descriptors.get_mut(id).ok_or(Errno::EBADF)?;
    if let Some(replaced) = table.put(new, Descriptor { open, on_exec }) {
        server.files.release(replaced.open);
    }
    Ok(u64::from(new))
}
