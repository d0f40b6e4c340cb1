//! Which files are programs: the checks of Linux's load_elf_binary before the point of no return.

use crate::Errno;
use crate::address::PAGE_BYTES;
use crate::memory::area::Protection;
use crate::number::to_usize;
use alloc::vec::Vec;
use elf::abi;
use elf::endian::LittleEndian;
use elf::file::{Class, FileHeader, parse_ident};
use elf::parse::ParseAt;
use elf::segment::ProgramHeader;

/// `e_machine` of LoongArch.
const MACHINE: u16 = 258;
const HEADER_BYTES: usize = 64;
const SEGMENT_BYTES: u16 = 56;
/// Most bytes of program headers (Linux's 65,536, not the page).
const HEADERS_MOST: usize = 65_536;

/// How a file is read: from an offset, as much as is there; says how much that was.
pub type Read<'a> = dyn FnMut(u64, &mut [u8]) -> usize + 'a;

/// As many of the wished bytes as the file has.
fn some(read: &mut Read<'_>, offset: u64, length: usize) -> Vec<u8> {
    let mut bytes = alloc::vec![0; length];
    let there = read(offset, &mut bytes);
    bytes.truncate(there);
    bytes
}

/// A program whose headers have passed.
#[derive(Debug)]
pub struct Program {
    /// Whether its addresses are fixed.
    pub placement: Placement,
    /// Its first instruction, before placement.
    pub entry: u64,
    /// Where the program headers lie in the file.
    pub headers_offset: u64,
    /// How many there are.
    pub header_count: u16,
    /// Its PT_LOADs, in the file's order.
    pub segments: Vec<Segment>,
    /// Where the program headers are said to be mapped (PT_PHDR), before placement.
    pub headers_address: Option<u64>,
    /// The path in PT_INTERP, if any.
    pub interpreter: Option<Vec<u8>>,
    /// Whether its stack may hold instructions.
    pub stack: Protection,
}

/// Where a program may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// At the addresses that it names (ET_EXEC).
    Fixed,
    /// Anywhere (ET_DYN), at a multiple of this.
    Anywhere {
        /// Largest alignment of its segments.
        align: u64,
    },
}

/// A PT_LOAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Address, before placement.
    pub address: u64,
    /// Bytes in memory.
    pub memory: u64,
    /// Where its bytes lie in the file.
    pub offset: u64,
    /// Bytes in the file.
    pub file: u64,
    /// What it may be used for.
    pub protection: Protection,
}

impl Program {
    /// Checks a file.
    ///
    /// # Errors
    /// ENOEXEC for what is no program for this machine, EIO for an interpreter's path beyond the file.
    pub fn parse(read: &mut Read<'_>) -> Result<Self, Errno> {
        let header = header(&some(read, 0, HEADER_BYTES))?;
        let placement = match header.e_type {
            abi::ET_EXEC => Placement::Fixed,
            abi::ET_DYN => Placement::Anywhere { align: PAGE_BYTES },
            _ => return Err(Errno::ENOEXEC),
        };
        let mut program = Self {
            placement,
            entry: header.e_entry,
            headers_offset: header.e_phoff,
            header_count: header.e_phnum,
            segments: Vec::new(),
            headers_address: None,
            interpreter: None,
            stack: Protection::READ | Protection::WRITE,
        };
        for segment in program_headers(read, &header)? {
            program.note(read, &segment)?;
        }
        Ok(program)
    }

    /// First address and first behind the last segment; `None` without any, or when one wraps.
    pub fn extent(&self) -> Option<(u64, u64)> {
        let start = self.segments.iter().map(|segment| segment.address).min()?;
        let mut end = start;
        for segment in &self.segments {
            end = end.max(segment.address.checked_add(segment.memory)?);
        }
        Some((start, end))
    }

    fn note(&mut self, read: &mut Read<'_>, header: &ProgramHeader) -> Result<(), Errno> {
        match header.p_type {
            abi::PT_LOAD => self.segments.push(self::segment(header)),
            abi::PT_PHDR => self.headers_address = Some(header.p_vaddr),
            abi::PT_GNU_STACK => {
                self.stack.set(Protection::EXECUTE, header.p_flags & abi::PF_X != 0);
            }
            // The first one counts.
            abi::PT_INTERP if self.interpreter.is_none() => {
                self.interpreter = Some(interpreter(read, header)?);
            }
            _ => {}
        }
        if let Placement::Anywhere { align } = &mut self.placement
            && header.p_type == abi::PT_LOAD
            && header.p_align.is_power_of_two()
        {
            *align = (*align).max(header.p_align);
        }
        Ok(())
    }
}

fn segment(header: &ProgramHeader) -> Segment {
    let mut protection = Protection::empty();
    protection.set(Protection::READ, header.p_flags & abi::PF_R != 0);
    protection.set(Protection::WRITE, header.p_flags & abi::PF_W != 0);
    protection.set(Protection::EXECUTE, header.p_flags & abi::PF_X != 0);
    let (address, memory) = (header.p_vaddr, header.p_memsz);
    Segment { address, memory, offset: header.p_offset, file: header.p_filesz, protection }
}

fn header(bytes: &[u8]) -> Result<FileHeader<LittleEndian>, Errno> {
    let ident = bytes.get(..abi::EI_NIDENT).ok_or(Errno::ENOEXEC)?;
    let ident = parse_ident::<LittleEndian>(ident).map_err(|_| Errno::ENOEXEC)?;
    if ident.1 != Class::ELF64 {
        return Err(Errno::ENOEXEC);
    }
    let tail = bytes.get(abi::EI_NIDENT..HEADER_BYTES).ok_or(Errno::ENOEXEC)?;
    let header = FileHeader::parse_tail(ident, tail).map_err(|_| Errno::ENOEXEC)?;
    if header.e_machine != MACHINE || header.e_phentsize != SEGMENT_BYTES || header.e_phnum == 0 {
        return Err(Errno::ENOEXEC);
    }
    Ok(header)
}

fn program_headers(
    read: &mut Read<'_>,
    header: &FileHeader<LittleEndian>,
) -> Result<Vec<ProgramHeader>, Errno> {
    let length = usize::from(header.e_phnum) * usize::from(SEGMENT_BYTES);
    if length > HEADERS_MOST {
        return Err(Errno::ENOEXEC);
    }
    let table = some(read, header.e_phoff, length);
    if table.len() != length {
        return Err(Errno::ENOEXEC);
    }
    let mut headers = Vec::with_capacity(usize::from(header.e_phnum));
    let mut at = 0;
    while at < length {
        let parsed = ProgramHeader::parse_at(LittleEndian, Class::ELF64, &mut at, &table);
        headers.push(parsed.map_err(|_| Errno::ENOEXEC)?);
    }
    Ok(headers)
}

fn interpreter(read: &mut Read<'_>, header: &ProgramHeader) -> Result<Vec<u8>, Errno> {
    const PATH_MAX: u64 = 4096;
    if header.p_filesz > PATH_MAX || header.p_filesz < 2 {
        return Err(Errno::ENOEXEC);
    }
    header.p_offset.checked_add(header.p_filesz).ok_or(Errno::EINVAL)?;
    let length = to_usize(header.p_filesz);
    let path = some(read, header.p_offset, length);
    if path.len() != length {
        return Err(Errno::EIO);
    }
    let path = path.strip_suffix(&[0]).ok_or(Errno::ENOEXEC)?;
    Ok(path.split(|byte| *byte == 0).next().unwrap_or_default().to_vec())
}
