//! Makes ELF programs for LoongArch.

use std::vec;
use std::vec::Vec;

/// A PT_LOAD, or another program header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) kind: u32,
    pub(crate) flags: u32,
    pub(crate) offset: u64,
    pub(crate) address: u64,
    pub(crate) file: u64,
    pub(crate) memory: u64,
    pub(crate) align: u64,
}

impl Header {
    pub(crate) const fn load(flags: u32, offset: u64, address: u64, file: u64, memory: u64) -> Self {
        Self { kind: 1, flags, offset, address, file, memory, align: 0x1_0000 }
    }
}

/// An ELF file with these program headers and so many bytes in all; byte n beyond the headers is n mod 251.
pub(crate) fn program(kind: u16, entry: u64, headers: &[Header], bytes: usize) -> Vec<u8> {
    let mut out = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&258_u16.to_le_bytes());
    out.extend_from_slice(&1_u32.to_le_bytes());
    for value in [entry, 64, 0] {
        out.extend_from_slice(&value.to_le_bytes());
    }
    out.extend_from_slice(&0x43_u32.to_le_bytes());
    for value in [64, 56, u16::try_from(headers.len()).unwrap(), 64, 0, 0] {
        out.extend_from_slice(&value.to_le_bytes());
    }
    for header in headers {
        out.extend_from_slice(&header.kind.to_le_bytes());
        out.extend_from_slice(&header.flags.to_le_bytes());
        for value in [header.offset, header.address, header.address, header.file, header.memory, header.align]
        {
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
    let start = out.len();
    out.resize(bytes.max(start), 0);
    for (number, byte) in out.iter_mut().enumerate().skip(start) {
        *byte = u8::try_from(number % 251).unwrap();
    }
    out
}

/// A usual static program: text at 1_2000_0000, data and bss behind it.
pub(crate) fn usual() -> Vec<u8> {
    let text = Header::load(5, 0, 0x1_2000_0000, 0x1000, 0x1000);
    let data = Header::load(6, 0x1000, 0x1_2001_1000, 0x123, 0x9000);
    program(2, 0x1_2000_0200, &[text, data], 0x1123)
}
