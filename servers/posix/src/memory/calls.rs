//! The calls on memory: from arguments to the methods of [`super::space::View`].

use super::mmap::{MapFlags, MapRequest};
use crate::Errno;
use crate::address::PAGE_BYTES;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::low_u32;
use crate::server::Server;

/// brk(2), as Linux's: the break, moved or not.
pub fn brk<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    Ok(server.view()?.brk(arguments.word(0)))
}

/// mmap(2).
pub fn mmap<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [address, bytes, protection, flags, fd, offset] = arguments.words();
    if !offset.is_multiple_of(PAGE_BYTES) {
        return Err(Errno::EINVAL);
    }
    let anonymous = MapFlags::from_bits_retain(low_u32(flags)).contains(MapFlags::ANONYMOUS);
    let file = if anonymous { None } else { server.mapped_file(fd)? };
    let (protection, flags) = (low_u32(protection), low_u32(flags));
    server.view()?.mmap(&MapRequest { address, bytes, protection, flags, file, offset })
}

/// munmap(2).
pub fn munmap<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    server.view()?.munmap(arguments.word(0), arguments.word(1))
}

/// mprotect(2).
pub fn mprotect<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    server.view()?.mprotect(arguments.word(0), arguments.word(1), low_u32(arguments.word(2)))
}

/// mremap(2).
pub fn mremap<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [old, old_bytes, new_bytes, flags, to, _] = arguments.words();
    // Linux takes the flags as unsigned long: unknown high bits are refused too.
    let flags = u32::try_from(flags).map_err(|_| Errno::EINVAL)?;
    server.view()?.mremap(old, old_bytes, new_bytes, flags, to)
}

/// madvise(2).
pub fn madvise<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    server.view()?.madvise(arguments.word(0), arguments.word(1), low_u32(arguments.word(2)))
}

/// msync(2).
pub fn msync<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    server.view()?.msync(arguments.word(0), arguments.word(1), low_u32(arguments.word(2)))
}
