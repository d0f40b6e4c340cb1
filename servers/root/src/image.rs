//! Pages with contents: root maps a fresh Frame for itself, fills it, and unmaps it again.

#![expect(unsafe_code, reason = "writes to a page that root has just mapped")]

use abi::{ObjectType, PAGE_BITS};
use runtime::InvocationError;
use runtime::memory::Memory;
use runtime::space::{Access, map};
use runtime::stubs::Frame;

use crate::boot::SPACE;

/// Where root maps the page that it fills.
const FILL_ADDRESS: u64 = 0x1_b000_0000;

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
    map(root, SPACE, frame, FILL_ADDRESS, Access::ReadWrite)?;
    let room = (1_usize << PAGE_BITS).saturating_sub(at).min(data.len());
    let page = core::ptr::with_exposed_provenance_mut::<u8>(usize::try_from(FILL_ADDRESS).unwrap_or(0));
    // SAFETY: the page was mapped just now, `at + room` is at most its size, and nobody else knows it.
    unsafe { core::ptr::copy_nonoverlapping(data.as_ptr(), page.wrapping_add(at), room) };
    frame.unmap()?;
    Ok(frame)
}

/// The bytes of a plain value, to fill a page with.
pub(crate) fn bytes_of(information: &abi::server::ServerInfo) -> &[u8] {
    let size = size_of::<abi::server::ServerInfo>();
    // SAFETY: every byte of the record is initialised: it has no padding (`information` asserts it).
    unsafe { core::slice::from_raw_parts(core::ptr::from_ref(information).cast(), size) }
}
