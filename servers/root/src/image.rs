//! Pages with contents: root maps a fresh Frame for itself, fills it, and unmaps it again.

#![expect(unsafe_code, reason = "writes to a page that root has just mapped")]

use abi::upper::{HostInfo, LEAF_BYTES};
use abi::{LARGE_PAGE_BITS, ObjectType, PAGE_BITS};
use runtime::InvocationError;
use runtime::memory::Memory;
use runtime::space::{Access, map};
use runtime::stubs::Frame;

use crate::boot::SPACE;

/// Where root maps the page that it fills.
const FILL_ADDRESS: u64 = 0x1_b000_0000;
/// Where root maps the large leaf that it fills.
const FILL_LEAF_ADDRESS: u64 = 0x1_b800_0000;
const _: () = assert!(FILL_LEAF_ADDRESS.is_multiple_of(LEAF_BYTES) && LEAF_BYTES == 1 << LARGE_PAGE_BITS);

/// Makes a page of zeros but for `data` from `at` on; what would not fit is left out.
pub(crate) fn filled_page(
    root: &mut Memory,
    memory: &mut Memory,
    at: usize,
    data: &[u8],
) -> Result<Frame, InvocationError> {
    let frame = Frame(memory.make(ObjectType::Frame, PAGE_BITS)?);
    if data.is_empty() {
        return Ok(frame);
    }
    fill(root, frame, (FILL_ADDRESS, 1 << PAGE_BITS), at, data)?;
    Ok(frame)
}

/// The same with a large leaf, all from root's own memory.
pub(crate) fn filled_leaf(root: &mut Memory, at: usize, data: &[u8]) -> Result<Frame, InvocationError> {
    let frame = Frame(root.make(ObjectType::Frame, LARGE_PAGE_BITS)?);
    if !data.is_empty() {
        fill(root, frame, (FILL_LEAF_ADDRESS, 1 << LARGE_PAGE_BITS), at, data)?;
    }
    Ok(frame)
}

fn fill(
    root: &mut Memory,
    frame: Frame,
    (address, bytes): (u64, usize),
    at: usize,
    data: &[u8],
) -> Result<(), InvocationError> {
    map(root, SPACE, frame, address, Access::ReadWrite)?;
    let room = bytes.saturating_sub(at).min(data.len());
    let page = core::ptr::with_exposed_provenance_mut::<u8>(usize::try_from(address).unwrap_or(0));
    // SAFETY: the frame was mapped just now, `at + room` is at most its size, and nobody else knows it.
    unsafe { core::ptr::copy_nonoverlapping(data.as_ptr(), page.wrapping_add(at), room) };
    frame.unmap()
}

/// What servers are told, as words without padding: every byte of it is initialised.
pub(crate) trait Plain {}

impl Plain for abi::server::ServerInfo {}

/// All its fields are of 64 bits or arrays of them, and the seed is 64 bytes.
impl Plain for HostInfo {}

/// The bytes of a plain value, to fill a page with.
pub(crate) fn bytes_of<T: Plain>(information: &T) -> &[u8] {
    let size = size_of::<T>();
    // SAFETY: every byte of the record is initialised: it has no padding.
    unsafe { core::slice::from_raw_parts(core::ptr::from_ref(information).cast(), size) }
}
