//! The few dozen LoongArch instructions that the hot path uses (manual, volume 1, appendix B).

/// A general register's number, 0 to 31.
pub type Register = usize;

/// Operations on two registers or a register and an immediate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `add.d`, `addi.d`.
    Add,
    /// `sub.d`.
    Subtract,
    /// `and`, `andi`.
    And,
    /// `or`, `ori`, `move`.
    Or,
    /// `xor`, `xori`.
    Xor,
    /// `slt`, `slti`.
    Less,
    /// `sltu`, `sltui`.
    LessUnsigned,
    /// `slli.d`.
    ShiftLeft,
    /// `srli.d`.
    ShiftRight,
}

/// Conditions of branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// `beq`, `beqz`.
    Equal,
    /// `bne`, `bnez`.
    NotEqual,
    /// `blt`.
    Less,
    /// `bge`.
    NotLess,
    /// `bltu`.
    LessUnsigned,
    /// `bgeu`.
    NotLessUnsigned,
}

/// A decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// `rd = rj op rk`.
    Registers(Operation, Register, Register, Register),
    /// `rd = rj op immediate`.
    Immediate(Operation, Register, Register, i64),
    /// `rd = immediate`: `lu12i.w`.
    Constant(Register, i64),
    /// `rd = rj[high:low]`.
    Pick(Register, Register, u32, u32),
    /// `rd[high:low] = rj`.
    Insert(Register, Register, u32, u32),
    /// `rd = [rj + offset]`, 64 bits.
    Load(Register, Register, i64),
    /// `rd = [rj + rk]`, 64 bits.
    LoadIndexed(Register, Register, Register),
    /// `[rj + offset] = rd`, 64 bits.
    Store(Register, Register, i64),
    /// `rd = csr`.
    ReadCsr(Register, u32),
    /// Swaps `rd` and the register.
    WriteCsr(Register, u32),
    /// Swaps the bits of `rd` and the register that the mask in `rj` says.
    ExchangeCsr(Register, Register, u32),
    /// Goes to pc + offset if `rj condition rd`.
    Branch(Condition, Register, Register, i64),
    /// Goes to pc + offset.
    Jump(i64),
    /// Returns from the exception.
    ExceptionReturn,
}

/// Takes `bits` bits from `low` on.
const fn field(word: u32, low: u32, bits: u32) -> u32 {
    word >> low & ((1 << bits) - 1)
}

/// A register field.
fn register(word: u32, low: u32) -> Register {
    usize::try_from(field(word, low, 5)).unwrap_or(0)
}

/// A signed field of `bits` bits.
fn signed(value: u32, bits: u32) -> i64 {
    let shift = 64 - bits;
    i64::from(value) << shift >> shift
}

/// Decodes one word; `None` for an instruction that the hot path has no business to use.
#[must_use]
pub fn decode(word: u32) -> Option<Instruction> {
    use Instruction as I;
    use Operation as O;
    let (rd, rj, rk) = (register(word, 0), register(word, 5), register(word, 10));
    let signed_12 = signed(field(word, 10, 12), 12);
    let unsigned_12 = i64::from(field(word, 10, 12));
    if word == 0x0648_3800 {
        return Some(I::ExceptionReturn);
    }
    if word >> 24 == 0x04 {
        let number = field(word, 10, 14);
        return Some(match rj {
            0 => I::ReadCsr(rd, number),
            1 => I::WriteCsr(rd, number),
            _ => I::ExchangeCsr(rd, rj, number),
        });
    }
    if word >> 25 == 0x0a {
        return Some(I::Constant(rd, signed(field(word, 5, 20), 20) << 12));
    }
    if let Some(branch) = decode_branch(word) {
        return Some(branch);
    }
    let immediate = match word >> 22 {
        0x008 => Some(I::Immediate(O::Less, rd, rj, signed_12)),
        0x009 => Some(I::Immediate(O::LessUnsigned, rd, rj, signed_12)),
        0x00b => Some(I::Immediate(O::Add, rd, rj, signed_12)),
        0x00d => Some(I::Immediate(O::And, rd, rj, unsigned_12)),
        0x00e => Some(I::Immediate(O::Or, rd, rj, unsigned_12)),
        0x00f => Some(I::Immediate(O::Xor, rd, rj, unsigned_12)),
        0x002 => Some(I::Insert(rd, rj, field(word, 16, 6), field(word, 10, 6))),
        0x003 => Some(I::Pick(rd, rj, field(word, 16, 6), field(word, 10, 6))),
        0x0a3 => Some(I::Load(rd, rj, signed_12)),
        0x0a7 => Some(I::Store(rd, rj, signed_12)),
        _ => None,
    };
    let shift = || match word >> 16 {
        0x0041 => Some(I::Immediate(O::ShiftLeft, rd, rj, i64::from(field(word, 10, 6)))),
        0x0045 => Some(I::Immediate(O::ShiftRight, rd, rj, i64::from(field(word, 10, 6)))),
        _ => None,
    };
    let registers = || match word >> 15 {
        0x0021 => Some(I::Registers(O::Add, rd, rj, rk)),
        0x0023 => Some(I::Registers(O::Subtract, rd, rj, rk)),
        0x0024 => Some(I::Registers(O::Less, rd, rj, rk)),
        0x0025 => Some(I::Registers(O::LessUnsigned, rd, rj, rk)),
        0x0029 => Some(I::Registers(O::And, rd, rj, rk)),
        0x002a => Some(I::Registers(O::Or, rd, rj, rk)),
        0x002b => Some(I::Registers(O::Xor, rd, rj, rk)),
        0x7018 => Some(I::LoadIndexed(rd, rj, rk)),
        _ => None,
    };
    immediate.or_else(shift).or_else(registers)
}

/// Decodes the branches and jumps whose target is in the instruction.
fn decode_branch(word: u32) -> Option<Instruction> {
    use Condition as C;
    let (rd, rj) = (register(word, 0), register(word, 5));
    let offset_16 = signed(field(word, 10, 16), 16) * 4;
    let offset_21 = signed(field(word, 0, 5) << 16 | field(word, 10, 16), 21) * 4;
    let offset_26 = signed(field(word, 0, 10) << 16 | field(word, 10, 16), 26) * 4;
    Some(match word >> 26 {
        0x10 => Instruction::Branch(C::Equal, rj, 0, offset_21),
        0x11 => Instruction::Branch(C::NotEqual, rj, 0, offset_21),
        0x14 => Instruction::Jump(offset_26),
        0x16 => Instruction::Branch(C::Equal, rj, rd, offset_16),
        0x17 => Instruction::Branch(C::NotEqual, rj, rd, offset_16),
        0x18 => Instruction::Branch(C::Less, rj, rd, offset_16),
        0x19 => Instruction::Branch(C::NotLess, rj, rd, offset_16),
        0x1a => Instruction::Branch(C::LessUnsigned, rj, rd, offset_16),
        0x1b => Instruction::Branch(C::NotLessUnsigned, rj, rd, offset_16),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_words_that_the_assembler_gave() {
        use Instruction as I;
        let words = [
            (0x02ff_fd6d, I::Immediate(Operation::Add, 13, 11, -1)), // addi.d $t1, $a7, -1
            (0x28c0_018d, I::Load(13, 12, 0)),                       // ld.d $t1, $t0, 0
            (0x29c0_218d, I::Store(13, 12, 8)),                      // st.d $t1, $t0, 8
            (0x0400_c40c, I::ReadCsr(12, 0x31)),                     // csrrd $t0, 0x31
            (0x0400_182c, I::WriteCsr(12, 6)),                       // csrwr $t0, 6
            (0x0041_148d, I::Immediate(Operation::ShiftLeft, 13, 4, 5)), // slli.d $t1, $a0, 5
            (0x0015_000c, I::Registers(Operation::Or, 12, 0, 0)),    // move $t0, $zero
            (0x0085_000e, I::Insert(14, 0, 5, 0)),                   // bstrins.d $t2, $zero, 5, 0
            (0x00cf_00af, I::Pick(15, 5, 15, 0)),                    // bstrpick.d $t3, $a1, 15, 0
            (0x1400_0105, I::Constant(5, 0x8000)),                   // lu12i.w $a1, 8
            (0x0340_0000, I::Immediate(Operation::And, 0, 0, 0)),    // nop
        ];
        for (word, expected) in words {
            assert_eq!(decode(word), Some(expected), "{word:#010x}");
        }
    }

    #[test]
    fn refuses_what_leaves_the_guest() {
        // cpucfg, idle, iocsrrd.w, cacop, hvcl, invtlb, tlbwr, ll.d, dbar
        for word in [
            0x0000_6c85,
            0x0648_8000,
            0x0648_0885,
            0x0600_0000,
            0x002b_8100,
            0x0649_8000,
            0x0648_3000,
            0x2200_0085,
            0x3872_0000,
        ] {
            assert_eq!(decode(word), None, "{word:#010x}");
        }
    }
}
