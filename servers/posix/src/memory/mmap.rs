//! mmap and munmap, with Linux's checks in Linux's order (mm/mmap.c, arch/loongarch/mm/mmap.c).

use super::area::{Area, Backing, Protection, Role, Sharing};
use super::fault::Access;
use super::object::{ObjectId, Source};
use super::space::View;
use crate::Errno;
use crate::address::{LOWER_HALF_END, PAGE_BYTES, Page, PageRange, pages_of};
use crate::host::Host;
use bitflags::bitflags;

bitflags! {
    /// mmap's flags.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct MapFlags: u32 {
        /// Stores are seen by all who map it.
        const SHARED = 0x01;
        /// Stores are the program's own.
        const PRIVATE = 0x02;
        /// Exactly there, in place of what is there.
        const FIXED = 0x10;
        /// No file.
        const ANONYMOUS = 0x20;
        /// Extends downwards.
        const GROWSDOWN = 0x100;
        /// More than there is may be asked for: memory is counted when it is touched.
        const NORESERVE = 0x4000;
        /// Touch every page now.
        const POPULATE = 0x8000;
        /// Exactly there, if nothing is there.
        const FIXED_NOREPLACE = 0x10_0000;
        const _ = !0;
    }
}

/// The bits that say SHARED, PRIVATE or SHARED_VALIDATE.
const TYPE_MASK: u32 = 0x0f;
const SHARED_VALIDATE: u32 = 0x03;
/// Flags that SHARED_VALIDATE knows (Linux's LEGACY_MAP_MASK).
const VALIDATED: u32 = 0x0f
    | 0x10
    | 0x20
    | 0x100
    | 0x800
    | 0x1000
    | 0x2000
    | 0x4000
    | 0x8000
    | 0x1_0000
    | 0x2_0000
    | 0x4_0000
    | (0x3f << 26);
/// Shared and file mappings lie at addresses that agree with their offset modulo 64 KiB (SHMLBA), in pages.
const COLOUR_PAGES: u64 = 4;
/// Lowest page that mmap chooses by itself (vm.mmap_min_addr = 64 KiB).
const LOWEST: Page = Page(4);

/// The file that a call to mmap names.
#[derive(Clone, Copy, Debug)]
pub struct MappedFile {
    /// Its pages.
    pub object: ObjectId,
    /// What the descriptor's access mode lets a *shared* mapping do at most.
    pub shared_most: Protection,
    /// Whether the descriptor may read at all.
    pub readable: Readable,
}

/// Whether a descriptor was opened for reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readable {
    /// It was.
    Yes,
    /// It was not: no mapping of any kind.
    No,
}

/// The arguments of mmap, the file resolved.
#[derive(Clone, Copy, Debug)]
pub struct MapRequest {
    /// Where, or a wish.
    pub address: u64,
    /// How many bytes.
    pub bytes: u64,
    /// PROT_ bits; unknown ones are ignored, as Linux does.
    pub protection: u32,
    /// MAP_ bits.
    pub flags: u32,
    /// The file, when not anonymous.
    pub file: Option<MappedFile>,
    /// Offset in the file in bytes.
    pub offset: u64,
}

/// The PROT_ bits that mean something.
pub const fn protection_of(bits: u32) -> Protection {
    Protection::from_bits_truncate((bits & 7) as u8)
}

impl<H: Host> View<'_, H> {
    /// Maps memory; returns its address.
    ///
    /// # Errors
    /// As mmap(2): EINVAL, ENOMEM, EEXIST, EACCES, EOVERFLOW, EOPNOTSUPP.
    pub fn mmap(&mut self, request: &MapRequest) -> Result<u64, Errno> {
        let flags = MapFlags::from_bits_retain(request.flags);
        if request.bytes == 0 {
            return Err(Errno::EINVAL);
        }
        let pages = pages_of(request.bytes).ok_or(Errno::ENOMEM)?;
        let first_page = request.offset / PAGE_BYTES;
        if request.file.is_some()
            && first_page.checked_add(pages).is_none_or(|end| end > u64::MAX / PAGE_BYTES)
        {
            return Err(Errno::EOVERFLOW);
        }
        let (sharing, most) = match kind(request) {
            Ok(kind) => kind,
            // Linux looks for room first: without it the answer is ENOMEM, whatever else is wrong.
            Err(error) => return Err(self.place(request, flags, pages).err().unwrap_or(error)),
        };
        let range = self.place(request, flags, pages)?;
        let protection = protection_of(request.protection);
        if !most.contains(protection & Protection::WRITE) {
            return Err(Errno::EACCES);
        }
        if !flags.contains(MapFlags::NORESERVE) {
            self.check_commit(sharing, protection, range)?;
        }
        // What the new area replaces makes room for it; nothing is taken away before that is clear.
        let replaced: u64 = match flags.intersects(MapFlags::FIXED) {
            true => self.space.areas.parts(range).map(|area| area.range.pages()).sum(),
            false => 0,
        };
        self.check_room(pages - replaced)?;
        self.unmap(range)?;
        let backing = match (request.file, sharing) {
            (Some(file), _) => {
                self.memory.objects.share(file.object, pages);
                Backing::Object { object: file.object, page: first_page }
            }
            (None, Sharing::Shared) => {
                let object = self.memory.objects.create(Source::Zeros, pages * PAGE_BYTES, pages);
                Backing::Object { object, page: 0 }
            }
            (None, Sharing::Private) => Backing::Zeros,
        };
        let grows =
            flags.contains(MapFlags::GROWSDOWN) && request.file.is_none() && sharing == Sharing::Private;
        let role = if grows { Role::Stack } else { Role::Plain };
        self.add_area(Area { range, protection, most, sharing, backing, role })?;
        if flags.contains(MapFlags::POPULATE) {
            self.populate(range);
        }
        Ok(range.start.address())
    }

    /// Unmaps memory.
    ///
    /// # Errors
    /// EINVAL for an address that is not a page's or a range beyond the space; ENOMEM for too many areas.
    pub fn munmap(&mut self, address: u64, bytes: u64) -> Result<u64, Errno> {
        let range = PageRange::of_bytes(address, bytes)?;
        if range.is_empty() {
            return Err(Errno::EINVAL);
        }
        self.unmap(range)?;
        Ok(0)
    }

    /// Touches every page of a range as far as that is allowed; failing is not an error (MAP_POPULATE).
    ///
    /// Zeros that can only be read are left to the program: they cost no frames, and there may be any number of them.
    pub fn populate(&mut self, range: PageRange) {
        let mut page = range.start;
        while page < range.end {
            let Some(area) = self.space.areas.at_or_after(page).copied() else { return };
            let writable = area.protection.contains(Protection::WRITE) && area.sharing == Sharing::Private;
            if area.range.start > page || area.is_fresh() && !writable {
                page = if area.range.start > page { area.range.start } else { area.range.end };
                continue;
            }
            let access = if writable { Access::Store } else { Access::Load };
            if self.resolve(page.address(), access).is_err() {
                return;
            }
            page = page.plus(1);
        }
    }

    /// Free pages for a mapping that may lie anywhere, as high as possible below `mmap_top`.
    ///
    /// # Errors
    /// ENOMEM when there is no such gap.
    pub fn find_room(&self, pages: u64, colour: Option<u64>) -> Result<Page, Errno> {
        let place = |page: Page| match colour {
            None => page,
            Some(offset) => Page(page.0.saturating_sub(page.0.wrapping_sub(offset) % COLOUR_PAGES)),
        };
        let areas = &self.space.areas;
        let found = areas.gap_below((LOWEST, self.space.mmap_top), pages, place, Self::guard);
        let top = Page::of(LOWER_HALF_END);
        // Linux tries again from the bottom up; where in the space matters to nobody then.
        found.or_else(|| areas.gap_below((LOWEST, top), pages, place, Self::guard)).ok_or(Errno::ENOMEM)
    }

    /// Where the mapping is to lie.
    fn place(&self, request: &MapRequest, flags: MapFlags, pages: u64) -> Result<PageRange, Errno> {
        let exact = flags.intersects(MapFlags::FIXED | MapFlags::FIXED_NOREPLACE);
        let end = Page::of(LOWER_HALF_END);
        if pages > end.0 {
            return Err(Errno::ENOMEM);
        }
        let colour = (request.file.is_some() || flags.contains(MapFlags::SHARED))
            .then_some(request.offset / PAGE_BYTES);
        if exact {
            if request.address > LOWER_HALF_END - pages * PAGE_BYTES {
                // LoongArch's own check (arch_get_unmapped_area) comes before the one that says ENOMEM elsewhere.
                return Err(Errno::EINVAL);
            }
            let start = Page::of(request.address);
            let off_colour = |offset: u64| !start.0.wrapping_sub(offset).is_multiple_of(COLOUR_PAGES);
            let shared = flags.contains(MapFlags::SHARED);
            if start.address() != request.address || (shared && colour.is_some_and(off_colour)) {
                return Err(Errno::EINVAL);
            }
            let range = PageRange::new(start, pages);
            if flags.contains(MapFlags::FIXED_NOREPLACE) && !self.space.areas.is_free(range) {
                return Err(Errno::EEXIST);
            }
            return Ok(range);
        }
        if let Some(start) = self.hinted(request.address, pages, colour) {
            return Ok(PageRange::new(start, pages));
        }
        Ok(PageRange::new(self.find_room(pages, colour)?, pages))
    }

    /// The wished place, if it is free and leaves stacks their guard.
    fn hinted(&self, address: u64, pages: u64, colour: Option<u64>) -> Option<Page> {
        if address == 0 {
            return None;
        }
        let mut start = Page(pages_of(address)?).max(LOWEST);
        if let Some(offset) = colour {
            // COLOUR_ALIGN rounds up to 64 KiB and then adds the offset's colour.
            start = Page(start.0.next_multiple_of(COLOUR_PAGES) + offset % COLOUR_PAGES);
        }
        if start.plus(pages) > Page::of(LOWER_HALF_END) {
            return None;
        }
        let above = self.space.areas.at_or_after(start);
        above
            .is_none_or(|area| start.plus(pages).plus(Self::guard(area)) <= area.range.start)
            .then_some(start)
    }

    /// Linux's heuristic overcommit: only what could never be there is refused.
    fn check_commit(&self, sharing: Sharing, protection: Protection, range: PageRange) -> Result<(), Errno> {
        let writable = protection.contains(Protection::WRITE) || sharing == Sharing::Shared;
        let hopeless = range.pages() > self.memory.frames.total();
        if writable && hopeless { Err(Errno::ENOMEM) } else { Ok(()) }
    }
}

/// Whose stores are seen where, and what mprotect may allow later.
fn kind(request: &MapRequest) -> Result<(Sharing, Protection), Errno> {
    let everything = Protection::all();
    let Some(file) = request.file else {
        return match request.flags & TYPE_MASK {
            1 => Ok((Sharing::Shared, everything)),
            2 => Ok((Sharing::Private, everything)),
            _ => Err(Errno::EINVAL),
        };
    };
    let kind = match request.flags & TYPE_MASK {
        SHARED_VALIDATE if request.flags & !VALIDATED != 0 => return Err(Errno::EOPNOTSUPP),
        1 | SHARED_VALIDATE => (Sharing::Shared, file.shared_most),
        2 => (Sharing::Private, everything),
        _ => return Err(Errno::EINVAL),
    };
    if file.readable == Readable::No { Err(Errno::EACCES) } else { Ok(kind) }
}
