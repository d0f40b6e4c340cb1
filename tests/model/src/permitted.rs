//! C-12: under KVM the hot path causes no exit. Its section uses known instructions and the guest's own
//! control registers only, and leaves by `ertn` or to the slow path's entries.

use crate::instruction::{Instruction, decode};
use crate::section::{HotSection, SectionError};

/// Control registers that are the guest's own under KVM: CRMD, PRMD, EUEN, ECFG, ESTAT, ERA, EENTRY, ASID,
/// PGDL, PGDH, KS0 to KS7, TCFG, TICLR, LLBCTL.
pub const GUEST_REGISTERS: &[u32] = &[
    0x0, 0x1, 0x2, 0x4, 0x5, 0x6, 0xc, 0x18, 0x19, 0x1a, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37,
    0x41, 0x44, 0x60,
];

/// The slow path's entries, to which the section may branch.
pub const WAYS_OUT: &[&str] = &[
    "bixi_hot_slow",
    "bixi_slow_syscall",
    "bixi_slow_exception",
    "bixi_slow_interrupt",
    "bixi_hosted_slow",
    "bixi_hosted_exception",
    "bixi_program_exception",
    "bixi_program_interrupted",
];

/// What the assembler puts between the vectors: an undefined instruction, so never executed unnoticed.
const PADDING: u32 = 0;

/// A violation, with the link address of the instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// An instruction that is not in the decoder's list.
    Instruction(u64, u32),
    /// A control register that is not the guest's own.
    Register(u64, u32),
    /// A jump to neither the section nor a way out.
    Target(u64, u64),
}

/// Checks every word of the section.
///
/// # Errors
///
/// A way out is missing from the kernel's symbols.
pub fn violations(section: &HotSection) -> Result<Vec<Violation>, SectionError> {
    let ways_out = WAYS_OUT.iter().map(|name| section.symbol(name)).collect::<Result<Vec<_>, _>>()?;
    let mut found = Vec::new();
    for (address, word) in (section.address..).step_by(4).zip(&section.words) {
        if *word == PADDING {
            continue;
        }
        match decode(*word) {
            None => found.push(Violation::Instruction(address, *word)),
            Some(
                Instruction::ReadCsr(_, number)
                | Instruction::WriteCsr(_, number)
                | Instruction::ExchangeCsr(_, _, number),
            ) if !GUEST_REGISTERS.contains(&number) => found.push(Violation::Register(address, number)),
            Some(Instruction::Branch(_, _, _, offset) | Instruction::Jump(offset)) => {
                let target = address.wrapping_add_signed(offset);
                if section.word(target).is_none() && !ways_out.contains(&target) {
                    found.push(Violation::Target(address, target));
                }
            }
            Some(_) => {}
        }
    }
    Ok(found)
}
