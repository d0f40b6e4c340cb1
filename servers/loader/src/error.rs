//! Why an ELF cannot be a server.

use abi::boot_archive::SegmentAccess;
use core::fmt;

/// The rule that a file breaks. A number is the index of the program header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ElfError {
    /// It does not begin with ELF's magic number.
    NotElf,
    /// It is big-endian.
    ByteOrder,
    /// It ends before what its headers promise.
    Truncated,
    /// It is for this other machine (`e_machine`).
    Machine(u16),
    /// It is a 32-bit file.
    Class,
    /// It is neither executable nor shared (`e_type`), an object file for instance.
    NotExecutable(u16),
    /// It needs a dynamic linker or relocation.
    Dynamic,
    /// It has thread-local storage, which servers have not.
    ThreadLocal,
    /// Nothing in it is to be loaded.
    NoSegments,
    /// More segments than a server may have.
    TooManySegments,
    /// A segment that can be neither read, written nor executed.
    NoAccess(usize),
    /// A segment that can be written and executed.
    WriteExecute(usize),
    /// A segment with more bytes in the file than in memory.
    FileLargerThanMemory(usize),
    /// A segment whose end wraps.
    Wraps(usize),
    /// A segment outside its half: a server's the lower one without its first page, a host's the upper one.
    Address(usize),
    /// A segment that overlaps the one before, or stands before it.
    Overlap(usize),
    /// A segment that begins in the last page of the one before.
    SharedPage(usize),
    /// The entry point is not an instruction of an executable segment.
    Entry(u64),
    /// A host's segment is not where `abi::upper` has its kind, or too large.
    HostPlace(SegmentAccess),
    /// A host's text does not begin with a HostHeader.
    NoHostHeader,
    /// A host's header has this address, which is not in its text.
    HostEntry(u64),
}

impl fmt::Display for ElfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotElf => f.write_str("not an ELF file"),
            Self::ByteOrder => f.write_str("a big-endian ELF file"),
            Self::Truncated => f.write_str("truncated: it ends before what its headers promise"),
            Self::Machine(machine) => {
                write!(f, "for another machine: {} instead of LoongArch (258)", MachineName(*machine))
            }
            Self::Class => f.write_str("a 32-bit file"),
            Self::NotExecutable(kind) => write!(f, "not an executable (e_type {kind})"),
            Self::Dynamic => f.write_str("not static: it needs a dynamic linker or relocation"),
            Self::ThreadLocal => f.write_str("it has thread-local storage (PT_TLS), which servers have not"),
            Self::NoSegments => f.write_str("nothing in it is to be loaded"),
            Self::TooManySegments => f.write_str("it has too many segments"),
            Self::NoAccess(index) => write!(f, "segment {index} has no access rights"),
            Self::WriteExecute(index) => write!(f, "segment {index} is both writable and executable"),
            Self::FileLargerThanMemory(index) => {
                write!(f, "segment {index} has more bytes in the file than in memory")
            }
            Self::Wraps(index) => write!(f, "the end of segment {index} wraps"),
            Self::Address(index) => {
                write!(f, "segment {index} is not in the half of the addresses that it belongs in")
            }
            Self::Overlap(index) => write!(f, "segment {index} overlaps or precedes the one before"),
            Self::SharedPage(index) => {
                write!(f, "segment {index} begins in the last 16 KiB page of the one before")
            }
            Self::Entry(entry) => write!(f, "the entry point {entry:#x} is not in an executable segment"),
            Self::HostPlace(SegmentAccess::ReadExecute) => f.write_str("the text is not where a host's is"),
            Self::HostPlace(SegmentAccess::Read) => f.write_str("the constants are not where a host's are"),
            Self::HostPlace(SegmentAccess::ReadWrite) => f.write_str("the data is not where a host's is"),
            Self::NoHostHeader => f.write_str("its text does not begin with a host's header"),
            Self::HostEntry(entry) => write!(f, "its header leads to {entry:#x}, which is not in its text"),
        }
    }
}

impl core::error::Error for ElfError {}

/// The machines that people have files of, by name.
struct MachineName(u16);

impl fmt::Display for MachineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            3 => f.write_str("x86 (3)"),
            8 => f.write_str("MIPS (8)"),
            40 => f.write_str("Arm (40)"),
            62 => f.write_str("x86-64 (62)"),
            183 => f.write_str("AArch64 (183)"),
            243 => f.write_str("RISC-V (243)"),
            other => write!(f, "machine {other}"),
        }
    }
}
