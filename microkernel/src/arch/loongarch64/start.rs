//! The start of the kernel proper: from a described machine to root's first instruction.
//!
//! Owns what root may have of the board's devices, and where the [`Kernel`] value lies. Neighbours: `boot`
//! calls this with the machine's registers set; `firmware` describes the machine; [`crate::boot`] makes
//! root; `trap` goes on with it.
#![expect(unsafe_code, reason = "puts the kernel's value into memory taken for it")]

use abi::boot_archive::{ArchiveError, BootArchive};
use abi::boot_info::SelfTests;

use super::boot::boot_stack;
use super::firmware::{self, Handover};
use super::machine::LoongArch64;
use super::machine_description::{DescriptionError, MachineDescription};
use super::trap::{self, BoardKernel};
use super::window::pointer;
use crate::address::PhysAddr;
use crate::boot::memory::{BootMemory, Range};
use crate::boot::{self, BootError, Description};
use crate::entry;
use crate::kernel::Kernel;
use crate::object::thread::register;

/// Devices of QEMU's `virt` board that root may have, a range each: the four serial lines, the clock, PCI's
/// I/O window, its configuration space, its memory window. What is left out the kernel drives itself (both
/// interrupt controllers, the message doorbell, power), or nobody needs (flash, configuration interface).
const DEVICES: [Range; 5] = [
    Range { start: 0x1fe0_0000, end: 0x1fe0_4000 },
    Range { start: 0x100d_0000, end: 0x100d_4000 },
    Range { start: 0x1800_4000, end: 0x1801_0000 },
    Range { start: 0x2000_0000, end: 0x2800_0000 },
    Range { start: 0x4000_0000, end: 0x8000_0000 },
];

/// Why there is nothing to run.
#[derive(Debug)]
pub enum StartError {
    /// The machine cannot be described.
    Machine(DescriptionError),
    /// The kernel was booted without tools/image having put an archive behind it.
    NoArchive,
    /// The archive is damaged.
    Archive(ArchiveError),
    /// Root cannot be made.
    Boot(BootError),
}

impl From<DescriptionError> for StartError {
    fn from(error: DescriptionError) -> Self {
        Self::Machine(error)
    }
}

impl From<BootError> for StartError {
    fn from(error: BootError) -> Self {
        Self::Boot(error)
    }
}

/// Makes root and runs it.
///
/// # Errors
///
/// See [`StartError`]; on success this does not return.
///
/// # Safety
///
/// Called once, by the boot core, after `cpu::initialise_core`; its stack is used by nobody afterwards.
pub unsafe fn start(
    handover: Handover,
    self_tests: SelfTests,
) -> Result<core::convert::Infallible, StartError> {
    let description = firmware::describe(handover)?;
    let place = firmware::boot_archive().ok_or(StartError::NoArchive)?;
    let archive = BootArchive::parse(place.bytes).map_err(StartError::Archive)?;
    let mut memory = BootMemory::new(&description.free_memory()?)?;
    // SAFETY: once, as the caller says; interrupts stay off until root's first instruction.
    let machine = unsafe { LoongArch64::take() };
    let own = boot::own_memory(&machine, &mut memory)?;
    let idle = own.idle;
    let kernel = place_kernel(&mut memory)?;
    // SAFETY: the memory is the kernel's own, large enough and aligned.
    unsafe { kernel.write(Kernel::new(machine, own)) };
    // SAFETY: just written, and nobody else knows of it.
    let k = unsafe { &mut *kernel };
    k.get(idle).registers[register::PC].set(trap::idle_address());
    k.core().stack_top.set(boot_stack().end as u64);
    boot::start_root(k, memory, &root_description(&description, archive, place.range, self_tests))?;
    entry::leave(k);
    // SAFETY: the value lives for ever in memory of its own, and `k` is not used again.
    unsafe { trap::run(kernel) }
}

/// Takes memory for the kernel's value.
fn place_kernel(memory: &mut BootMemory) -> Result<*mut BoardKernel, BootError> {
    let bits = size_of::<BoardKernel>().next_power_of_two().trailing_zeros();
    let place = memory.take(u8::try_from(bits).map_err(|_| BootError::Internal)?)?;
    Ok(pointer(place.in_window()))
}

/// What root is told and given.
fn root_description<'a>(
    machine: &'a MachineDescription,
    archive: BootArchive<'a>,
    place: Range,
    self_tests: SelfTests,
) -> Description<'a> {
    Description {
        devices: &DEVICES,
        archive_start: PhysAddr(place.start),
        archive,
        initrd: machine.initial_files,
        rng_seed: &machine.seed,
        cores: machine.cores.len() as u64,
        self_tests,
    }
}
