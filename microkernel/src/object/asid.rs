//! Address-space identifiers: pools that assign them, and the hardware's 1023 that are lent (C-42).

use core::cell::Cell;

use abi::object::ASIDS_PER_POOL;

use crate::object::store::Ref;
use crate::object::vspace::VSpace;

/// A pool: entry `i` is the space with identifier `pool * 512 + i`.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct AsidPool {
    /// The spaces.
    pub spaces: [Cell<Option<Ref<VSpace>>>; ASIDS_PER_POOL],
}

const _: () = assert!(size_of::<AsidPool>() == 4096);
