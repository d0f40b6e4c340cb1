//! Address spaces: a VSpace with an identifier, page tables as they are needed, and Frames in it.

use abi::object::ObjectType;
use abi::server::ImageSegment;
use abi::{CPtr, Error, PAGE_BYTES, Rights};

use crate::error::InvocationError;
use crate::memory::Memory;
use crate::stubs::{AsidPool, Frame, PageTable, VSpace};

/// Bit 0 of Frame.Map's attributes: no execution.
const NO_EXECUTE: u64 = 1;
/// Bit 1 of Frame.Map's attributes: uncached.
const UNCACHED: u64 = 2;

/// What a mapped page may be used for; there is no write with execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Constants.
    Read,
    /// Data.
    ReadWrite,
    /// Text.
    ReadExecute,
    /// Registers of a device.
    Device,
}

impl Access {
    /// The access of a segment, by the number that stands in its record.
    pub fn of_segment(code: u64) -> Option<Self> {
        [Self::Read, Self::ReadWrite, Self::ReadExecute]
            .into_iter()
            .zip(1..)
            .find_map(|(access, number)| (number == code).then_some(access))
    }

    const fn rights(self) -> Rights {
        match self {
            Self::Read | Self::ReadExecute => Rights::READ,
            Self::ReadWrite | Self::Device => Rights::READ_WRITE,
        }
    }

    const fn attributes(self) -> u64 {
        match self {
            Self::Read | Self::ReadWrite => NO_EXECUTE,
            Self::ReadExecute => 0,
            Self::Device => NO_EXECUTE | UNCACHED,
        }
    }
}

/// Makes an empty address space.
///
/// # Errors
/// What Retype and Assign refuse.
pub fn make_space(memory: &mut Memory, pool: AsidPool) -> Result<VSpace, InvocationError> {
    let space = VSpace(memory.make(ObjectType::VSpace, 0)?);
    pool.assign(space)?;
    Ok(space)
}

/// Maps a Frame, and the page tables that it needs.
///
/// # Errors
/// What Map refuses, and what making a page table refuses.
pub fn map(
    memory: &mut Memory,
    space: VSpace,
    frame: Frame,
    address: u64,
    access: Access,
) -> Result<(), InvocationError> {
    loop {
        let mapped = frame.map(space, address, access.rights().raw(), access.attributes());
        match mapped {
            Err(refusal) if refusal.error == Error::NoPageTable => {
                PageTable(memory.make(ObjectType::PageTable, 0)?).map(space, address)?;
            }
            done => return done,
        }
    }
}

/// Makes a page of zeros and maps it.
///
/// # Errors
/// As [`map`].
pub fn map_new_page(
    memory: &mut Memory,
    space: VSpace,
    address: u64,
    access: Access,
) -> Result<Frame, InvocationError> {
    let frame = Frame(memory.make(ObjectType::Frame, abi::PAGE_BITS)?);
    map(memory, space, frame, address, access)?;
    Ok(frame)
}

/// Maps a server's own image into another space: the same pages, data too.
///
/// # Errors
/// As [`map`].
pub fn map_image(
    memory: &mut Memory,
    space: VSpace,
    segments: &[ImageSegment],
) -> Result<(), InvocationError> {
    for segment in segments {
        let access = Access::of_segment(segment.access).ok_or(Error::InvalidArgument)?;
        for page in 0..segment.pages {
            let frame = memory.copy(CPtr(segment.first_slot + page), Rights::ALL)?;
            map(memory, space, Frame(frame), segment.address + page * PAGE_BYTES, access)?;
        }
    }
    Ok(())
}
