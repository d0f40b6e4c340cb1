//! What programs ask about the system: uname, sysinfo, the processor.

use crate::Errno;
use crate::address::PAGE_BYTES;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::low_u32;
use crate::server::Server;
use crate::user::{UserPtr, UserSlice};
use zerocopy::{Immutable, IntoBytes};

/// Linux's `struct new_utsname`.
#[derive(Clone, Copy, Debug, IntoBytes, Immutable)]
#[repr(C)]
pub struct SystemName {
    system: [u8; 65],
    node: [u8; 65],
    release: [u8; 65],
    version: [u8; 65],
    machine: [u8; 65],
    domain: [u8; 65],
}

/// The release that programs see: glibc refuses to start on one older than its own minimum (5.19).
pub const RELEASE: &str = "6.12.0-bixi";
/// What uname and /proc say of how the system was made.
pub const VERSION: &str = "#1 SMP PREEMPT_DYNAMIC Bixi";
/// The machine's name.
pub const NODE: &str = "bixi";
/// Its domain's.
pub const DOMAIN: &str = "(none)";

/// uname(2).
pub fn uname<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let name = SystemName {
        system: field("Linux"),
        node: field(NODE),
        release: field(RELEASE),
        version: field(VERSION),
        machine: field("loongarch64"),
        domain: field(DOMAIN),
    };
    server.view()?.write(UserPtr::new(arguments.word(0))?, &name)?;
    Ok(0)
}

fn field(text: &str) -> [u8; 65] {
    let mut field = [0; 65];
    for (place, byte) in field.iter_mut().take(64).zip(text.bytes()) {
        *place = byte;
    }
    field
}

/// Linux's `struct sysinfo`.
#[derive(Clone, Copy, Debug, IntoBytes, Immutable)]
#[repr(C)]
pub struct SystemInformation {
    uptime: u64,
    loads: [u64; 3],
    total_memory: u64,
    free_memory: u64,
    shared_memory: u64,
    buffers: u64,
    total_swap: u64,
    free_swap: u64,
    processes: u16,
    padding: [u8; 6],
    total_high: u64,
    free_high: u64,
    unit: u32,
    padding_too: u32,
}

const _: () = assert!(size_of::<SystemInformation>() == 112);

/// sysinfo(2).
pub fn sysinfo<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let frames = &server.memory.frames;
    let information = SystemInformation {
        uptime: server.host.monotonic_ns() / 1_000_000_000,
        loads: [0; 3],
        total_memory: frames.total() * PAGE_BYTES,
        free_memory: frames.free_count() * PAGE_BYTES,
        shared_memory: 0,
        buffers: 0,
        total_swap: 0,
        free_swap: 0,
        processes: u16::try_from(server.threads.len()).unwrap_or(u16::MAX),
        padding: [0; 6],
        total_high: 0,
        free_high: 0,
        unit: 1,
        padding_too: 0,
    };
    server.view()?.write(UserPtr::new(arguments.word(0))?, &information)?;
    Ok(0)
}

/// getcpu(2): there is one.
pub fn getcpu<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let mut view = server.view()?;
    for argument in [0, 1] {
        if let Some(pointer) = UserPtr::<u32>::optional(arguments.word(argument))? {
            view.write(pointer, &0)?;
        }
    }
    Ok(0)
}

/// membarrier(2): with one core every switch is a barrier.
pub fn membarrier<H: Host>(_: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    /// QUERY's answer: GLOBAL, GLOBAL_EXPEDITED, PRIVATE_EXPEDITED and their registrations.
    const SUPPORTED: u64 = 0x1f;
    if low_u32(arguments.word(1)) != 0 {
        return Err(Errno::EINVAL);
    }
    match low_u32(arguments.word(0)) {
        0 => Ok(SUPPORTED),
        1 | 2 | 4 | 8 | 16 => Ok(0),
        _ => Err(Errno::EINVAL),
    }
}

/// getrandom(2), as far as it need not wait.
pub fn getrandom<H: Host>(
    server: &mut Server<H>,
    arguments: Arguments,
) -> Result<crate::dispatch::Flow, Errno> {
    const NONBLOCK: u32 = 1;
    const RANDOM: u32 = 2;
    const INSECURE: u32 = 4;
    let flags = low_u32(arguments.word(2));
    if flags & !(NONBLOCK | RANDOM | INSECURE) != 0 || flags & (RANDOM | INSECURE) == RANDOM | INSECURE {
        return Err(Errno::EINVAL);
    }
    // Linux cuts a request at 2^31 - 1 bytes before it looks at the pointer.
    let bytes = arguments.word(1).min(0x7fff_ffff);
    let slice = UserSlice::new(arguments.word(0), bytes)?;
    if !server.random.is_seeded() && flags & INSECURE == 0 {
        return if flags & NONBLOCK != 0 { Err(Errno::EAGAIN) } else { Ok(crate::dispatch::Flow::Wait) };
    }
    fill(server, slice).map(crate::dispatch::Flow::Done)
}

/// getrandom(2) until the generator has been seeded.
pub async fn getrandom_waiting<H: Host>(
    cx: &crate::executor::cx::Cx<H>,
    arguments: Arguments,
) -> Result<u64, Errno> {
    let bytes = arguments.word(1).min(0x7fff_ffff);
    let slice = UserSlice::new(arguments.word(0), bytes)?;
    while !cx.with(|server| server.random.is_seeded())? {
        let queue = cx.with(|server| server.seeded)?;
        cx.wait(Some(queue), None).await?;
    }
    cx.with(|server| fill(server, slice))?
}

fn fill<H: Host>(server: &mut Server<H>, slice: UserSlice) -> Result<u64, Errno> {
    let mut rest = slice;
    while !rest.is_empty() {
        let mut piece = [0; 256];
        let bytes = crate::number::to_usize(rest.bytes()).min(piece.len());
        let Some(piece) = piece.get_mut(..bytes) else { break };
        server.random.fill(piece);
        if let Err(short) = server.view()?.write_bytes(piece, rest) {
            let done = slice.bytes() - rest.bytes() + short.done as u64;
            return if done == 0 { Err(Errno::EFAULT) } else { Ok(done) };
        }
        rest = rest.after(bytes as u64);
    }
    Ok(slice.bytes())
}
