//! Small guests for the tests: a few instructions in an ELF file, made here so that no other compiler is needed.
//!
//! They run as QEMU starts them, in direct-address mode: addresses are physical.

use std::path::{Path, PathBuf};

/// Where guests are loaded.
const LOAD_ADDRESS: u64 = 0x20_0000;

/// The serial lines' data registers.
pub(crate) const LINES: [u32; 4] = [0x1fe0_01e0, 0x1fe0_02e0, 0x1fe0_03e0, 0x1fe0_04e0];

const T0: u32 = 12;
const T1: u32 = 13;
const A0: u32 = 4;
const A1: u32 = 5;

/// A guest that is being written.
#[derive(Default)]
pub(crate) struct Guest {
    words: Vec<u32>,
}

impl Guest {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds one instruction.
    pub(crate) fn word(mut self, word: u32) -> Self {
        self.words.push(word);
        self
    }

    /// Loads a 32-bit value with its top bit clear: `lu12i.w`, `ori`.
    pub(crate) fn set(self, register: u32, value: u32) -> Self {
        self.word(0x1400_0000 | (value >> 12) << 5 | register)
            .word(0x0380_0000 | (value & 0xfff) << 10 | register << 5 | register)
    }

    /// Prints on one of the lines.
    pub(crate) fn print(self, line: usize, text: &[u8]) -> Self {
        let store_byte = 0x2900_0000 | T0 << 5 | T1;
        let start = self.set(T0, LINES[line]);
        text.iter().fold(start, |guest, &byte| guest.set(T1, byte.into()).word(store_byte))
    }

    /// Starts a pair of marks, with a label of up to four characters.
    pub(crate) fn start(self, label: &[u8], ops: u32) -> Self {
        let register = label.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte));
        self.set(A0, register).set(A1, ops).word(0x0396_8400)
    }

    /// Ends a pair of marks.
    pub(crate) fn stop(self) -> Self {
        self.word(0x0396_8800)
    }

    /// Powers off.
    pub(crate) fn power_off(self) -> PoweredOff {
        let guest = self.set(T0, 0x100e_001c).set(T1, 0x34).word(0x2900_0000 | T0 << 5 | T1);
        PoweredOff(guest.forever())
    }

    /// Branches to itself.
    pub(crate) fn forever(self) -> Self {
        self.word(0x5000_0000)
    }

    /// Writes the guest as an ELF file, with the memory that it asks for.
    pub(crate) fn write(&self, folder: &Path, memory_bytes: u64) -> PathBuf {
        let code: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut elf = Vec::from(*b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
        let header_bytes = 64_u64;
        let code_offset = header_bytes + 56;
        for half in [2_u16, 258] {
            elf.extend(half.to_le_bytes());
        }
        elf.extend(1_u32.to_le_bytes());
        for long in [LOAD_ADDRESS, header_bytes, 0] {
            elf.extend(long.to_le_bytes());
        }
        elf.extend(0_u32.to_le_bytes());
        for half in [64_u16, 56, 1, 64, 0, 0] {
            elf.extend(half.to_le_bytes());
        }
        for word in [1_u32, 7] {
            elf.extend(word.to_le_bytes());
        }
        let size = code.len() as u64;
        for long in [code_offset, LOAD_ADDRESS, LOAD_ADDRESS, size, memory_bytes.max(size), 4] {
            elf.extend(long.to_le_bytes());
        }
        elf.extend(code);
        let file = folder.join("guest.elf");
        std::fs::write(&file, elf).unwrap();
        file
    }
}

/// A guest that has powered off: nothing can follow.
pub(crate) struct PoweredOff(pub(crate) Guest);
