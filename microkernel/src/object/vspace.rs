//! Address spaces: their identifiers, and which one a core translates with.
//!
//! A space gets an identifier from a pool once and for all: after its pool is gone it stays dead, because
//! the records of what is mapped in it name that identifier. Which hardware identifier it has is another
//! matter: [`activate`] lends those, and they can be stolen at any time the space is not current.
//!
//! When a VSpace is deleted no thread refers to it: a Tcb's space is a capability of its own, derived
//! from the one that was given, so the last one goes after all of theirs.

use core::cell::Cell;
use core::mem::offset_of;

use abi::mapping::WINDOWS;
use abi::{Error, LOWER_HALF_END, Method, UPPER_HALF_START};

use crate::address::VirtAddr;
use crate::arch::Machine;
use crate::capability::cap::{Cap, Slot};
use crate::capability::derivation;
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::object::host::Host;
use crate::object::page_table::PageTable;
use crate::object::stock::{self, Stock};
use crate::object::store::Ref;
use crate::object::translation::Half;
use crate::object::{asid, map_many, window};
use crate::syscall::invoke::{Answer, Arguments, Target};

/// An address space: what belongs to it, and behind that its root table.
///
/// The first two words are what a switch loads: `hardware_asid` is 0 while the space has no hardware
/// identifier (none assigned, or stolen), and sends the hot path to the slow one (C-11).
#[derive(Debug)]
#[repr(C, align(32768))]
pub struct VSpace {
    /// The hardware identifier, 1 to 1023, or 0.
    pub hardware_asid: Cell<u64>,
    /// The root table's physical address, for PGDL.
    pub root_address: Cell<u64>,
    /// The identifier from its pool, plus 1; 0: none, and nothing runs in it.
    pub asid: Cell<u64>,
    /// 0 until the first assignment makes it lower (1) or upper (2) (C-43).
    pub half: Cell<u64>,
    /// The Frames that MapMany shows pages of (C-41): capabilities of their own, so that revoking one unbinds it.
    pub windows: [Slot; WINDOWS],
    /// The stock of page tables.
    pub stock: Stock,
    /// How far the space was looked through for what shows a window that is going: a page number plus 1; 0 for a
    /// window that is not.
    pub swept: [Cell<u64>; WINDOWS],
    /// Whose a lower space is, for its life (C-43): see [`Owner`]; 0 until it is first used.
    pub owner: Cell<u64>,
    /// Unused.
    pub reserved: [Cell<u64>; 1999],
    /// The root table.
    pub root: PageTable,
}

// So that a window's slot leads to its space.
const _: () = assert!(size_of::<VSpace>() == 1 << 15 && align_of::<VSpace>() == 1 << 15);
const _: () = assert!(offset_of!(VSpace, root) == 1 << 14);

/// [`VSpace::half`] of a space whose half is not decided.
pub const HALF_NONE: u64 = 0;
/// [`VSpace::half`] of a lower space.
pub const HALF_LOWER: u64 = 1;
/// [`VSpace::half`] of an upper space.
pub const HALF_UPPER: u64 = 2;

/// Who uses a lower space (C-43).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Ordinary threads.
    Native,
    /// The contexts of this Host.
    Host(Ref<Host>),
}

impl Owner {
    fn word(self) -> u64 {
        match self {
            Self::Native => 1,
            Self::Host(host) => host.raw(),
        }
    }
}

/// Refuses a space that is somebody else's.
///
/// # Errors
///
/// `AlreadyBound`.
pub fn check_claim<M: Machine>(k: &Kernel<M>, space: Ref<VSpace>, owner: Owner) -> Result<(), Failure> {
    let has = k.get(space).owner.get();
    if has == 0 || has == owner.word() { Ok(()) } else { Err(Error::AlreadyBound.into()) }
}

/// Makes a space somebody's for its life.
///
/// # Errors
///
/// `AlreadyBound`.
pub fn claim<M: Machine>(k: &Kernel<M>, space: Ref<VSpace>, owner: Owner) -> Result<(), Failure> {
    check_claim(k, space, owner)?;
    k.get(space).owner.set(owner.word());
    Ok(())
}

/// The half that a space is; one that is not assigned yet counts as lower.
pub fn half<M: Machine>(k: &Kernel<M>, space: Ref<VSpace>) -> Half {
    if k.get(space).half.get() == HALF_UPPER { Half::Upper } else { Half::Lower }
}

/// Refuses an address, an invocation's argument number `argument`, that is not in the space's half.
///
/// # Errors
///
/// `RangeError`, with the half's limit.
pub fn check_address<M: Machine>(
    k: &Kernel<M>,
    space: Ref<VSpace>,
    VirtAddr(address): VirtAddr,
    argument: u64,
) -> Result<(), Failure> {
    match half(k, space) {
        Half::Lower if address >= LOWER_HALF_END => {
            Err(Failure::about(Error::RangeError, argument, LOWER_HALF_END))
        }
        Half::Upper if address < UPPER_HALF_START => {
            Err(Failure::about(Error::RangeError, argument, UPPER_HALF_START))
        }
        _ => Ok(()),
    }
}

/// Decodes and invokes a method on a VSpace's capability.
///
/// # Errors
///
/// As the method's row says.
pub fn invoke<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    method: Method,
    arguments: &Arguments,
) -> Result<Answer, Failure> {
    let Cap::VSpace(space) = target.cap else {
        return Err(Error::IllegalOperation.into());
    };
    // An upper half is built page by page, before its host runs (C-44).
    if half(k, space) == Half::Upper {
        return Err(Error::InvalidState.into());
    }
    let asid = identifier(k, space, 0)?;
    match method {
        Method::VSpaceBindWindow => window::bind(k, space, arguments),
        Method::VSpaceGiveTables => stock::give(k, space, asid, arguments),
        Method::VSpaceMapMany => map_many::invoke(k, target.thread, space, arguments),
        _ => Err(Error::IllegalOperation.into()),
    }
}

/// The space's root table.
pub const fn root(space: Ref<VSpace>) -> Ref<PageTable> {
    const ELEMENTS: u64 = (offset_of!(VSpace, root) / size_of::<PageTable>()) as u64;
    const { assert!(offset_of!(VSpace, root).is_multiple_of(size_of::<PageTable>())) };
    space.cast().element(ELEMENTS)
}

/// The VSpace whose capability is in `slot`, an invocation's argument number `argument`.
///
/// # Errors
///
/// `InvalidCapability` for anything else.
pub fn argument<M: Machine>(k: &Kernel<M>, slot: Ref<Slot>, argument: u64) -> Result<Ref<VSpace>, Failure> {
    match k.get(slot).cap() {
        Cap::VSpace(space) => Ok(space),
        _ => Err(Failure::about(Error::InvalidCapability, argument, 0)),
    }
}

/// The identifier from its pool of a space that is an invocation's argument number `argument`.
///
/// # Errors
///
/// `NoAsid` when it has none (any more).
pub fn identifier<M: Machine>(k: &Kernel<M>, space: Ref<VSpace>, argument: u64) -> Result<u16, Failure> {
    let assigned = k.get(space).asid.get().checked_sub(1).and_then(|asid| u16::try_from(asid).ok());
    assigned.ok_or(Failure::about(Error::NoAsid, argument, 0))
}

/// Makes this core translate with `space`: with nothing mapped when there is none or it has no identifier.
///
/// Every way out of the slow path comes here. The machine is set each time, even if [`crate::kernel::Core::space`]
/// says that it is already so: the hot path switches spaces without telling.
pub fn activate<M: Machine>(k: &mut Kernel<M>, space: Option<Ref<VSpace>>) {
    let usable = |space: &Ref<VSpace>| k.get(*space).asid.get() != 0 && half(k, *space) == Half::Lower;
    let Some(space) = space.filter(usable) else {
        return leave(k);
    };
    let (asid, robbed) = asid::lend(k, space);
    k.core().space.set(Some(space));
    let root = root(space).address().physical();
    k.machine.set_space(root, asid);
    if let Some(asid::Robbed) = robbed {
        // What the robbed space left in the TLB under this identifier; its root is no longer current.
        k.machine.flush_asid(asid);
    }
}

/// Makes this core translate nothing.
pub fn leave<M: Machine>(k: &mut Kernel<M>) {
    k.core().space.set(None);
    let empty = k.empty_root;
    k.machine.set_space(empty, Kernel::<M>::EMPTY_ASID);
}

/// Ends a space with its last capability: its identifiers are free again.
///
/// Tables and frames that were mapped in it keep records that find nothing, or another space in which
/// their entries are not. Its windows are only let go of: nothing is translated through its tables any
/// longer. What was in its stock belongs to those who gave it.
///
/// # Errors
///
/// Preempted: the space is dead, some windows are still bound.
pub fn finalise<M: Machine>(k: &mut Kernel<M>, space: Ref<VSpace>) -> Result<(), Failure> {
    asid::release(k, space);
    for number in 0..WINDOWS as u64 {
        derivation::delete(k, window::slot(space, number))?;
    }
    Ok(())
}
