//! One area of a space: pages in a row with the same protection and the same source.

use super::object::ObjectId;
use crate::address::{Page, PageRange};
use bitflags::bitflags;

bitflags! {
    /// What a program asked to be allowed to do, in Linux's PROT_ bits.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Protection: u8 {
        /// Loads.
        const READ = 1;
        /// Stores.
        const WRITE = 2;
        /// Instruction fetches.
        const EXECUTE = 4;
    }
}

/// Who sees what is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// This space alone: a page is copied before the first store to it.
    Private,
    /// Everybody who maps the object.
    Shared,
}

/// Where the pages come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// Zeros.
    Zeros,
    /// An object's pages, the area's first being `page` of it.
    Object {
        /// Which object; the area holds one reference a page.
        object: ObjectId,
        /// Page of the object.
        page: u64,
    },
}

/// What an area is for, where that changes what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Made by mmap or by loading a program.
    Plain,
    /// Extends downwards when touched below (MAP_GROWSDOWN).
    Stack,
    /// The program break's.
    Heap,
}

/// One area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Its pages.
    pub range: PageRange,
    /// What the program may do now.
    pub protection: Protection,
    /// What mprotect may give it at most: a shared mapping of a file opened for reading lacks WRITE.
    pub most: Protection,
    /// Who sees stores.
    pub sharing: Sharing,
    /// Where pages come from.
    pub backing: Backing,
    /// What it is for.
    pub role: Role,
}

impl Area {
    /// A private area of zeros.
    pub const fn zeros(range: PageRange, protection: Protection, role: Role) -> Self {
        let most = Protection::all();
        Self { range, protection, most, sharing: Sharing::Private, backing: Backing::Zeros, role }
    }

    /// Whether its pages are zeros of this space's own when they are stored to for the first time.
    pub fn is_fresh(&self) -> bool {
        self.sharing == Sharing::Private && self.backing == Backing::Zeros
    }

    /// The part of it that lies in `range`, which must overlap it.
    pub fn part(&self, range: PageRange) -> Self {
        let range = self.range.intersection(range);
        let backing = match self.backing {
            Backing::Zeros => Backing::Zeros,
            Backing::Object { object, page } => {
                Backing::Object { object, page: page + (range.start.0 - self.range.start.0) }
            }
        };
        Self { range, backing, ..*self }
    }

    /// The object's page that `page` of the space shows, if an object backs the area.
    pub fn object_page(&self, page: Page) -> Option<(ObjectId, Page)> {
        match self.backing {
            Backing::Zeros => None,
            Backing::Object { object, page: first } => {
                Some((object, Page(first + page.0.saturating_sub(self.range.start.0))))
            }
        }
    }

    /// Both as one area, when the second goes on where this one ends and nothing else tells them apart.
    pub fn joined(&self, next: &Self) -> Option<Self> {
        let whole = PageRange { start: self.range.start, end: next.range.end };
        let continued = match self.backing {
            Backing::Zeros => Backing::Zeros,
            Backing::Object { object, page } => Backing::Object { object, page: page + self.range.pages() },
        };
        let follows = Self { range: next.range, backing: continued, ..*self };
        (self.range.end == next.range.start && follows == *next).then_some(Self { range: whole, ..*self })
    }
}
