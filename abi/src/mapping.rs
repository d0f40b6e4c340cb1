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
/// The bit of the byte that every Map and Protect has.
const READ: u64 = 1 << ACCESS_SHIFT;

/// All but the low bits of a page in the lower half.
const ONE_PAGE_MASK: u64 = !(crate::LOWER_HALF_END / crate::PAGE_BYTES - 1);

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

/// How pages may be used: bits 4:2 of an entry's eighth byte, of which the first is always set.
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
    pub const READ_WRITE_EXECUTE: Self = Self(7);
    /// Every access: by the bits above the first.
    pub const ALL: [Self; 4] = [Self::READ, Self::READ_WRITE, Self::READ_EXECUTE, Self::READ_WRITE_EXECUTE];

    /// The three bits.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The rights to the memory that this needs.
    pub const fn rights(self) -> Rights {
        if self.0 & 2 != 0 { Rights::READ_WRITE } else { Rights::READ }
    }

    /// True when instructions may be fetched.
    pub const fn executes(self) -> bool {
        self.0 & 4 != 0
    }
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
    #[inline(always)]
    pub const fn page(self) -> u64 {
        self.first & PAGE_MASK
    }

    /// How many pages.
    #[inline(always)]
    pub const fn count(self) -> u64 {
        self.first >> COUNT_SHIFT & MAX_PAGES
    }

    /// True when it maps one page of the lower half, whatever the access: one test.
    #[inline(always)]
    pub const fn maps_one_page(self) -> bool {
        const MASK: u64 = ONE_PAGE_MASK & !(6 << (BYTE_SHIFT + ACCESS_SHIFT));
        const MAP: u64 = Operation::Map as u64 | READ;
        self.first & MASK == MAP << BYTE_SHIFT | 1 << COUNT_SHIFT
    }

    /// True when it unmaps one page of the lower half: one test.
    #[inline(always)]
    pub const fn unmaps_one_page(self) -> bool {
        self.first & ONE_PAGE_MASK == (Operation::Unmap as u64) << BYTE_SHIFT | 1 << COUNT_SHIFT
    }

    /// What is done; `None` for a byte that says nothing: no operation, Map or Protect without READ, Unmap
    /// with an access, or bits that are not used.
    pub const fn operation(self) -> Option<Operation> {
        let byte = self.first >> BYTE_SHIFT;
        match byte & OPERATION_MASK {
            _ if byte >> (ACCESS_SHIFT + 3) != 0 => None,
            1 if byte & READ != 0 => Some(Operation::Map),
            2 if byte & READ != 0 => Some(Operation::Protect),
            3 if byte == Operation::Unmap as u64 => Some(Operation::Unmap),
            _ => None,
        }
    }

    /// Which of [`Access::ALL`] Map and Protect give, 0 to 3.
    #[inline(always)]
    pub const fn access(self) -> u64 {
        self.first >> (BYTE_SHIFT + ACCESS_SHIFT + 1) & 3
    }

    /// First page in the window.
    #[inline(always)]
    pub const fn window_page(self) -> u64 {
        self.second & WINDOW_PAGE_MASK
    }

    /// Which window.
    #[inline(always)]
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
        assert_eq!((entry.operation(), entry.access()), (Some(Operation::Map), 2));
        assert_eq!((entry.window(), entry.window_page()), (7, 0x98_7654_3210_ffff));
        assert_eq!(entry.first >> 56, 0b10101);
        assert_eq!(MapEntry::unmap(5, 6), MapEntry { first: 5 | 6 << 40 | 3 << 56, second: 0 });
        let protect = MapEntry::protect(1, 2, Access::READ_WRITE, 3);
        assert_eq!((protect.operation(), protect.access()), (Some(Operation::Protect), 1));
        assert_eq!(protect.second, 3 << 56);
        let end = crate::LOWER_HALF_END / crate::PAGE_BYTES;
        assert!(MapEntry::unmap(end - 1, 1).unmaps_one_page() && !MapEntry::unmap(0, 1).maps_one_page());
        let map = MapEntry::map(0, 1, Access::READ_WRITE_EXECUTE, 7, 0);
        assert!(map.maps_one_page() && !map.unmaps_one_page());
        assert!(!MapEntry { first: map.first | 1 << 63, ..map }.maps_one_page());
        for (page, count) in [(end, 1), (1 << 39, 1), (5, 0), (5, 2), (5, 3), (5, 257)] {
            assert!(!MapEntry::unmap(page, count).unmaps_one_page());
            assert!(!MapEntry::map(page, count, Access::READ, 0, 0).maps_one_page());
        }
        let map = |page, count, from| MapEntry::map(page, count, Access::READ, 1, from);
        assert_eq!(map(10, 5, 20).after(3), map(13, 2, 23));
    }

    #[test]
    fn bytes_that_say_nothing_are_no_operation() {
        for byte in 0..=255_u64 {
            let entry = MapEntry { first: byte << 56, second: 0 };
            let operation = match byte & 3 {
                1 if byte < 32 && byte & 4 != 0 => Some(Operation::Map),
                2 if byte < 32 && byte & 4 != 0 => Some(Operation::Protect),
                3 if byte == 3 => Some(Operation::Unmap),
                _ => None,
            };
            assert_eq!(entry.operation(), operation, "{byte:#b}");
            let one = MapEntry { first: entry.first | 1 << 40, second: 0 };
            assert_eq!(one.maps_one_page(), operation == Some(Operation::Map));
            assert_eq!(one.unmaps_one_page(), operation == Some(Operation::Unmap));
        }
    }

    #[test]
    fn access_says_what_it_needs() {
        assert_eq!(Access::READ.rights(), Rights::READ);
        assert_eq!(Access::READ_WRITE_EXECUTE.rights(), Rights::READ_WRITE);
        assert!(Access::READ_EXECUTE.executes() && !Access::READ_WRITE.executes());
        for (index, access) in (0..).zip(Access::ALL) {
            let entry = MapEntry::map(0, 1, access, 0, 0);
            assert_eq!((entry.access(), entry.first >> 58), (index, access.bits().into()));
        }
    }
}
