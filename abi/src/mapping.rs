//! Entries of `VSpace.MapMany` (C-41): what is done with a run of pages.
//!
//! An entry is two words: {page in the space 39:0, count 55:40, operation and access 63:56} and {page in the
//! window 55:0, window 63:56}. A single one travels in registers, a list in the caller's IPC buffer from
//! [`crate::message::LIST_OFFSET`] on.

use crate::Rights;

/// Windows that a VSpace can have.
pub const WINDOWS: usize = 8;
/// Most entries of a list.
pub const MAX_ENTRIES: usize = 64;
/// Most pages of an entry.
pub const MAX_PAGES: u64 = (1 << COUNT_BITS) - 1;

const PAGE_MASK: u64 = (1 << COUNT_SHIFT) - 1;
const COUNT_SHIFT: u32 = 40;
const COUNT_BITS: u32 = 16;
/// Where the eighth byte of either word begins.
const BYTE_SHIFT: u32 = 56;
const WINDOW_PAGE_MASK: u64 = (1 << BYTE_SHIFT) - 1;
const OPERATION_MASK: u64 = 3;
const ACCESS_SHIFT: u32 = 2;

/// What is done: the low two bits of an entry's eighth byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Operation {
    /// The pages show those of the window, whatever was there.
    Map = 1,
    /// Those that show some page of the window get other rights.
    Protect = 2,
    /// Nothing is there any longer; the second word is not looked at.
    Unmap = 3,
}

/// How pages may be used: bits 4:2 of an entry's eighth byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Access(u8);

impl Access {
    /// Loads.
    pub const READ: Self = Self(1);
    /// Loads and stores.
    pub const READ_WRITE: Self = Self(3);
    /// Loads and fetches.
    pub const READ_EXECUTE: Self = Self(5);
    /// Everything.
    pub const ALL: Self = Self(7);

    /// The three bits.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The rights to the memory that this needs; every access has READ.
    pub const fn rights(self) -> Rights {
        if self.0 & Self::WRITE != 0 { Rights::READ_WRITE } else { Rights::READ }
    }

    /// True when instructions may be fetched.
    pub const fn executes(self) -> bool {
        self.0 & Self::EXECUTE != 0
    }

    const WRITE: u8 = 2;
    const EXECUTE: u8 = 4;
}

/// An entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct MapEntry {
    /// Page in the space, count, operation and access.
    pub first: u64,
    /// Page in the window, and which window.
    pub second: u64,
}

impl MapEntry {
    /// Maps `count` pages from `page` on to those from `window_page` on of a window.
    pub const fn map(page: u64, count: u16, access: Access, window: u8, window_page: u64) -> Self {
        let second = window_page & WINDOW_PAGE_MASK | (window as u64) << BYTE_SHIFT;
        Self { second, ..Self::new(page, count, Operation::Map, access.0) }
    }

    /// Changes the access to those of `count` pages from `page` on that show a page of a window.
    pub const fn protect(page: u64, count: u16, access: Access, window: u8) -> Self {
        let second = (window as u64) << BYTE_SHIFT;
        Self { second, ..Self::new(page, count, Operation::Protect, access.0) }
    }

    /// Unmaps `count` pages from `page` on.
    pub const fn unmap(page: u64, count: u16) -> Self {
        Self::new(page, count, Operation::Unmap, 0)
    }

    const fn new(page: u64, count: u16, operation: Operation, access: u8) -> Self {
        let byte = operation as u64 | (access as u64) << ACCESS_SHIFT;
        let first = page & PAGE_MASK | (count as u64) << COUNT_SHIFT | byte << BYTE_SHIFT;
        Self { first, second: 0 }
    }

    /// What is left of the entry when the first `pages` of its pages, which are at most its count, are done.
    #[must_use]
    pub const fn after(self, pages: u64) -> Self {
        let left = self.count().saturating_sub(pages) << COUNT_SHIFT;
        let byte = self.first >> BYTE_SHIFT << BYTE_SHIFT;
        Self { first: (self.page() + pages) | left | byte, second: self.second + pages }
    }

    /// First page in the space.
    pub const fn page(self) -> u64 {
        self.first & PAGE_MASK
    }

    /// How many pages.
    pub const fn count(self) -> u64 {
        self.first >> COUNT_SHIFT & MAX_PAGES
    }

    /// What is done; `None` for a byte that says nothing: no operation, Map or Protect without READ, Unmap
    /// with an access, or bits that are not used.
    pub const fn operation(self) -> Option<(Operation, Access)> {
        let byte = self.first >> BYTE_SHIFT;
        let [access, ..] = (byte >> ACCESS_SHIFT).to_le_bytes();
        let reads = access & Access::READ.0 != 0 && access <= Access::ALL.0;
        match byte & OPERATION_MASK {
            1 if reads => Some((Operation::Map, Access(access))),
            2 if reads => Some((Operation::Protect, Access(access))),
            3 if access == 0 => Some((Operation::Unmap, Access(access))),
            _ => None,
        }
    }

    /// First page in the window.
    pub const fn window_page(self) -> u64 {
        self.second & WINDOW_PAGE_MASK
    }

    /// Which window.
    pub const fn window(self) -> u64 {
        self.second >> BYTE_SHIFT
    }
}

const _: () = assert!(size_of::<MapEntry>() == 16);
const _: () = assert!(
    crate::message::LIST_OFFSET + MAX_ENTRIES * size_of::<MapEntry>() <= size_of::<crate::IpcBuffer>()
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_keeps_its_parts() {
        let entry = MapEntry::map(0x12_3456_789a, 65535, Access::READ_EXECUTE, 7, 0x98_7654_3210_ffff);
        assert_eq!((entry.page(), entry.count()), (0x12_3456_789a, 65535));
        assert_eq!(entry.operation(), Some((Operation::Map, Access::READ_EXECUTE)));
        assert_eq!((entry.window(), entry.window_page()), (7, 0x98_7654_3210_ffff));
        assert_eq!(entry.first >> 56, 0b10101);
        assert_eq!(MapEntry::unmap(5, 6), MapEntry { first: 5 | 6 << 40 | 3 << 56, second: 0 });
        let protect = MapEntry::protect(1, 2, Access::READ_WRITE, 3);
        assert_eq!(protect.operation(), Some((Operation::Protect, Access::READ_WRITE)));
        assert_eq!(protect.second, 3 << 56);
        let map = |page, count, from| MapEntry::map(page, count, Access::READ, 1, from);
        assert_eq!(map(10, 5, 20).after(3), map(13, 2, 23));
    }

    #[test]
    fn bytes_that_say_nothing_are_no_operation() {
        let valid: [u64; 9] = [5, 13, 21, 29, 6, 14, 22, 30, 3];
        for byte in 0..=255 {
            let entry = MapEntry { first: byte << 56, second: 0 };
            assert_eq!(entry.operation().is_some(), valid.contains(&byte), "{byte:#b}");
        }
    }

    #[test]
    fn access_says_what_it_needs() {
        assert_eq!(Access::READ.rights(), Rights::READ);
        assert_eq!(Access::ALL.rights(), Rights::READ_WRITE);
        assert!(Access::READ_EXECUTE.executes() && !Access::READ_WRITE.executes());
    }
}
