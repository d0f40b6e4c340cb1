//! What the kernel left for root: boot information, archive, description, capabilities.

#![expect(unsafe_code, reason = "the kernel mapped these pages before root began")]

use abi::CPtr;
use abi::boot_archive::BootArchive;
use abi::boot_info::{ARCHIVE_ADDRESS, BOOT_INFO_ADDRESS, BootInfo, IPC_BUFFER_ADDRESS, MAGIC, slot};
use abi::description::Description;
use runtime::memory::{Memory, Slots};
use runtime::stubs::{
    AsidControl, AsidPool, CNode, Debug, HostControl, IrqControl, SchedControl, Tcb, VSpace,
};

use crate::emergency::panicked;

/// Root's own capability space.
pub(crate) const CNODE: CNode = CNode(CPtr(slot::CNODE));
/// Root's own address space.
pub(crate) const SPACE: VSpace = VSpace(CPtr(slot::VSPACE));
/// Root's own thread.
pub(crate) const TCB: Tcb = Tcb(CPtr(slot::TCB));
/// Identifiers for the servers' address spaces.
pub(crate) const ASIDS: AsidPool = AsidPool(CPtr(slot::ASID_POOL));
/// The right to give time.
pub(crate) const SCHED_CONTROL: SchedControl = SchedControl(CPtr(slot::SCHED_CONTROL));
/// The right to make pools of identifiers.
pub(crate) const ASID_CONTROL: AsidControl = AsidControl(CPtr(slot::ASID_CONTROL));
/// The right to make hosts.
pub(crate) const HOST_CONTROL: HostControl = HostControl(CPtr(slot::HOST_CONTROL));
/// The right to take interrupts.
pub(crate) const IRQ_CONTROL: IrqControl = IrqControl(CPtr(slot::IRQ_CONTROL));
/// Log and halt; empty in kernels without it.
pub(crate) const DEBUG: Debug = Debug(CPtr(slot::DEBUG));

/// What root begins with.
#[derive(Debug)]
pub(crate) struct Boot {
    pub(crate) info: &'static BootInfo,
    pub(crate) archive: BootArchive<'static>,
    pub(crate) description: Description<'static>,
}

impl Boot {
    /// Reads it, and sets this thread's IPC buffer.
    pub(crate) fn read() -> Self {
        if let Err(refusal) = TCB.set_tls_base(IPC_BUFFER_ADDRESS) {
            panicked(format_args!("the kernel refused root's thread pointer: {refusal}"));
        }
        let info = boot_info();
        if info.magic != MAGIC {
            panicked(format_args!("no boot information at {BOOT_INFO_ADDRESS:#x}"));
        }
        let archive = match BootArchive::parse(archive_bytes(info)) {
            Ok(archive) => archive,
            Err(mistake) => panicked(format_args!("the boot archive: {mistake}")),
        };
        let Some(entry) = archive.description() else {
            panicked(format_args!("the boot archive has no description"))
        };
        let description = match Description::parse(entry.data) {
            Ok(description) => description,
            Err(mistake) => panicked(format_args!("the description `{}`: {mistake}", entry.name)),
        };
        Self { info, archive, description }
    }

    /// Root's memory and slots. Device memory is not among it.
    pub(crate) fn memory(&self) -> Memory {
        let free = self.info.free_slots;
        let mut memory = Memory::new(CNODE, Slots::new(free.start, free.end));
        for (slot, untyped) in self.untypeds().filter(|(_, untyped)| untyped.is_device == 0) {
            memory.add(slot, u8::try_from(untyped.size_bits).unwrap_or(0));
        }
        memory
    }

    /// Every Untyped that the kernel handed over, with its slot.
    pub(crate) fn untypeds(
        &self,
    ) -> impl Iterator<Item = (CPtr, &'static abi::boot_info::UntypedDescription)> + use<> {
        let slots = self.info.untyped_slots;
        (slots.start..slots.end).map(CPtr).zip(&self.info.untypeds)
    }
}

fn boot_info() -> &'static BootInfo {
    let address = usize::try_from(BOOT_INFO_ADDRESS).unwrap_or(0);
    // SAFETY: the kernel maps the page read-only before root begins and never changes it; any bytes are a value
    // of the type.
    unsafe { &*core::ptr::with_exposed_provenance(address) }
}

fn archive_bytes(info: &BootInfo) -> &'static [u8] {
    let address = usize::try_from(ARCHIVE_ADDRESS).unwrap_or(0);
    let bytes = usize::try_from(info.archive_bytes).unwrap_or(0);
    // SAFETY: the kernel maps the archive's pages read-only there.
    unsafe { core::slice::from_raw_parts(core::ptr::with_exposed_provenance(address), bytes) }
}
