//! The mask of signals that a thread holds off. Nothing is ever pending yet: there is no call that sends one.

use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::low_u32;
use crate::server::Server;
use crate::user::UserPtr;

const BLOCK: u32 = 0;
const UNBLOCK: u32 = 1;
const SET: u32 = 2;
/// Bytes of the kernel's sigset_t.
const SET_BYTES: u64 = 8;
/// SIGKILL and SIGSTOP cannot be held off.
const NEVER: u64 = 1 << 8 | 1 << 18;

/// rt_sigprocmask(2).
pub fn rt_sigprocmask<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [how, new, old, bytes, ..] = arguments.words();
    if bytes != SET_BYTES {
        return Err(Errno::EINVAL);
    }
    let before = server.thread()?.mask;
    if let Some(pointer) = UserPtr::<u64>::optional(new)? {
        let given = server.view()?.read(pointer)? & !NEVER;
        let after = match low_u32(how) {
            BLOCK => before | given,
            UNBLOCK => before & !given,
            SET => given,
            _ => return Err(Errno::EINVAL),
        };
        server.thread_mut()?.mask = after;
    }
    if let Some(pointer) = UserPtr::optional(old)? {
        server.view()?.write(pointer, &before)?;
    }
    Ok(0)
}
