//! Loading: from a checked program to areas in an empty space.

use super::elf::{Placement, Program, Segment};
use super::layout::Layout;
use super::vdso;
use crate::Errno;
use crate::address::{LOWER_HALF_END, PAGE_BYTES, Page, PageRange, pages_of};
use crate::host::Host;
use crate::memory::area::{Area, Backing, Protection, Role, Sharing};
use crate::memory::object::ObjectId;
use crate::memory::space::View;
use crate::user::UserSlice;

/// Where a program that may lie anywhere lies when it has an interpreter: two thirds up (ELF_ET_DYN_BASE).
const DYN_BASE: u64 = LOWER_HALF_END / 3 * 2;

/// A program in memory.
#[derive(Clone, Copy, Debug)]
pub struct Loaded {
    /// What was added to its addresses.
    pub bias: u64,
    /// Its first instruction.
    pub entry: u64,
    /// Where its program headers lie in memory; 0 when no segment has them.
    pub headers: u64,
    /// First address behind its segments.
    pub end: u64,
}

/// Why a program was not loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// execve fails and the old program goes on.
    Refused(Errno),
    /// Linux finds this out when the old program is gone already: the process dies of SIGSEGV.
    Fatal(Errno),
}

impl<H: Host> View<'_, H> {
    /// Maps a program's segments from its file's pages.
    ///
    /// # Errors
    /// [`LoadError`], as Linux's load_elf_binary.
    pub fn load(&mut self, program: &Program, file: ObjectId, layout: &Layout) -> Result<Loaded, LoadError> {
        let bias = self.bias(program, layout).map_err(LoadError::Fatal)?;
        let mut end = 0;
        for segment in &program.segments {
            let start = segment.address.wrapping_add(bias);
            self.load_segment(segment, start, file).map_err(LoadError::Fatal)?;
            end = end.max(start + segment.memory);
        }
        let entry = program.entry.wrapping_add(bias);
        if program.segments.is_empty() || entry >= LOWER_HALF_END {
            return Err(LoadError::Fatal(Errno::EINVAL));
        }
        Ok(Loaded { bias, entry, headers: headers(program, bias), end })
    }

    /// Maps the vDSO.
    ///
    /// # Errors
    /// ENOMEM.
    pub fn map_vdso(&mut self, object: ObjectId, at: Page) -> Result<(), Errno> {
        let range = PageRange::new(at, pages_of(vdso::IMAGE.len() as u64).ok_or(Errno::ENOMEM)?);
        self.memory.objects.share(object, range.pages());
        self.add_area(Area {
            range,
            protection: Protection::READ | Protection::EXECUTE,
            most: Protection::all(),
            sharing: Sharing::Private,
            backing: Backing::Object { object, page: 0 },
            role: Role::Plain,
        })
    }

    /// What is added to a program's addresses.
    fn bias(&self, program: &Program, layout: &Layout) -> Result<u64, Errno> {
        let Placement::Anywhere { align } = program.placement else { return Ok(0) };
        let (start, end) = program.extent().ok_or(Errno::EINVAL)?;
        let base = if program.interpreter.is_some() {
            DYN_BASE + layout.program * PAGE_BYTES
        } else {
            // A static program goes among the mappings, as an interpreter does.
            let pages = pages_of(end - Page::of(start).address())
                .and_then(|pages| pages.checked_add(align / PAGE_BYTES));
            let pages = pages.filter(|pages| *pages <= Page::of(LOWER_HALF_END).0).ok_or(Errno::ENOMEM)?;
            self.find_room(pages, None)?.address().next_multiple_of(align)
        };
        let base = base & !(align - 1);
        Ok(base.wrapping_sub(Page::of(start).address() & !(align - 1)))
    }

    fn load_segment(&mut self, segment: &Segment, start: u64, file: ObjectId) -> Result<(), Errno> {
        let fits = segment.file <= segment.memory
            && segment.memory <= LOWER_HALF_END
            && start <= LOWER_HALF_END - segment.memory;
        if !fits || start % PAGE_BYTES != segment.offset % PAGE_BYTES && segment.file != 0 {
            return Err(Errno::EINVAL);
        }
        let (first, end) = (Page::of(start), start + segment.memory);
        let range =
            |start: Page, end: u64| PageRange { start, end: Page(end.div_ceil(PAGE_BYTES)).max(start) };
        let mapped = if segment.file == 0 { first } else { range(first, start + segment.file).end };
        let from_file = PageRange { start: first, end: mapped };
        let zeros = range(mapped, end);
        if zeros.pages() > self.memory.frames.total() {
            return Err(Errno::ENOMEM);
        }
        // As with MAP_FIXED, what an earlier segment put there goes away.
        self.unmap(PageRange { start: first, end: zeros.end })?;
        if !from_file.is_empty() {
            self.memory.objects.share(file, from_file.pages());
            self.add_area(Area {
                range: from_file,
                protection: segment.protection,
                most: Protection::all(),
                sharing: Sharing::Private,
                backing: Backing::Object { object: file, page: Page::of(segment.offset).0 },
                role: Role::Plain,
            })?;
        }
        if !zeros.is_empty() {
            self.add_area(Area::zeros(zeros, segment.protection, Role::Plain))?;
        }
        self.clear_tail(segment, start + segment.file, mapped.address().min(end.next_multiple_of(PAGE_BYTES)))
    }

    /// Zeros behind the file's bytes in their last page, if the segment has such zeros and may be written.
    fn clear_tail(&mut self, segment: &Segment, from: u64, to: u64) -> Result<(), Errno> {
        let needed = segment.file != 0 && segment.memory > segment.file && from < to;
        if !needed || !segment.protection.contains(Protection::WRITE) {
            return Ok(());
        }
        let zeros = alloc::vec![0; crate::number::to_usize(to - from)];
        Ok(self.write_other(&zeros, UserSlice::new(from, to - from)?)?)
    }
}

/// Where the program headers are in memory: PT_PHDR, or the segment that has that part of the file.
fn headers(program: &Program, bias: u64) -> u64 {
    if let Some(address) = program.headers_address {
        return address.wrapping_add(bias);
    }
    let holds = |segment: &&Segment| {
        segment.offset <= program.headers_offset && program.headers_offset - segment.offset < segment.file
    };
    let segment = program.segments.iter().find(holds);
    segment.map_or(0, |segment| {
        segment.address.wrapping_add(bias).wrapping_add(program.headers_offset - segment.offset)
    })
}
