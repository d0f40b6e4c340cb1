//! Runs the hot path's bytes: registers, the guest's control registers, and whatever memory is given.

use std::collections::BTreeMap;

use crate::instruction::{Condition, Instruction, Operation, decode};
use crate::section::HotSection;

/// What the instructions load from and store to.
pub trait Memory {
    /// The word at an address; `None` where nothing is.
    fn load(&mut self, address: u64) -> Option<u64>;
    /// Writes a word; `None` where nothing is.
    fn store(&mut self, address: u64, value: u64) -> Option<()>;
}

/// A core's registers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// General registers; 0 stays 0.
    pub general: [u64; 32],
    /// Control registers by number; those never written read as 0.
    pub control: BTreeMap<u32, u64>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By `ertn`, to ERA.
    Return,
    /// By a branch out of the section, to this link address.
    Left(u64),
    /// By a word that is no instruction, at this link address.
    Undefined(u64),
    /// By an access to memory that is not there, of the instruction at this link address.
    NoMemory(u64),
    /// Not within the bound.
    Endless,
}

/// A finished run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// How it ended.
    pub end: End,
    /// Instructions executed.
    pub instructions: usize,
}

/// Most instructions of a run.
const BOUND: usize = 1000;

impl Registers {
    fn get(&self, register: usize) -> u64 {
        self.general.get(register).copied().unwrap_or(0)
    }

    fn set(&mut self, register: usize, value: u64) {
        if register != 0
            && let Some(place) = self.general.get_mut(register)
        {
            *place = value;
        }
    }

    fn swap_control(&mut self, register: usize, number: u32, mask: u64) {
        let old = self.control.get(&number).copied().unwrap_or(0);
        self.control.insert(number, old & !mask | self.get(register) & mask);
        self.set(register, old);
    }
}

/// Runs from a link address until the section is left.
pub fn run(section: &HotSection, start: u64, registers: &mut Registers, memory: &mut impl Memory) -> Run {
    let mut pc = start;
    for instructions in 0..BOUND {
        let Some(word) = section.word(pc) else { return Run { end: End::Left(pc), instructions } };
        let Some(instruction) = decode(word) else { return Run { end: End::Undefined(pc), instructions } };
        match step(instruction, pc, registers, memory) {
            Some(Step::Next) => pc += 4,
            Some(Step::Go(target)) => pc = target,
            Some(Step::Return) => return Run { end: End::Return, instructions: instructions + 1 },
            None => return Run { end: End::NoMemory(pc), instructions },
        }
    }
    Run { end: End::Endless, instructions: BOUND }
}

/// Where an instruction leads.
enum Step {
    Next,
    Go(u64),
    Return,
}

/// Executes one instruction; `None` when memory is missing.
fn step(
    instruction: Instruction,
    pc: u64,
    registers: &mut Registers,
    memory: &mut impl Memory,
) -> Option<Step> {
    let address = |registers: &Registers, base, offset: i64| registers.get(base).wrapping_add_signed(offset);
    match instruction {
        Instruction::Registers(operation, rd, rj, rk) => {
            let value = compute(operation, registers.get(rj), registers.get(rk));
            registers.set(rd, value);
        }
        Instruction::Immediate(operation, rd, rj, immediate) => {
            let value = compute(operation, registers.get(rj), immediate.cast_unsigned());
            registers.set(rd, value);
        }
        Instruction::Constant(rd, value) => registers.set(rd, value.cast_unsigned()),
        Instruction::Pick(rd, rj, high, low) => {
            registers.set(rd, registers.get(rj) << (63 - high) >> (63 - high) >> low);
        }
        Instruction::Insert(rd, rj, high, low) => {
            let mask = u64::MAX >> (63 - high) & u64::MAX << low;
            registers.set(rd, registers.get(rd) & !mask | registers.get(rj) << low & mask);
        }
        Instruction::Load(rd, rj, offset) => {
            let value = memory.load(address(registers, rj, offset))?;
            registers.set(rd, value);
        }
        Instruction::LoadIndexed(rd, rj, rk) => {
            let value = memory.load(registers.get(rj).wrapping_add(registers.get(rk)))?;
            registers.set(rd, value);
        }
        Instruction::Store(rd, rj, offset) => {
            memory.store(address(registers, rj, offset), registers.get(rd))?
        }
        Instruction::ReadCsr(rd, number) => {
            let value = registers.control.get(&number).copied().unwrap_or(0);
            registers.set(rd, value);
        }
        Instruction::WriteCsr(rd, number) => registers.swap_control(rd, number, u64::MAX),
        Instruction::ExchangeCsr(rd, rj, number) => {
            let mask = registers.get(rj);
            registers.swap_control(rd, number, mask);
        }
        Instruction::Branch(condition, rj, rd, offset) => {
            if holds(condition, registers.get(rj), registers.get(rd)) {
                return Some(Step::Go(pc.wrapping_add_signed(offset)));
            }
        }
        Instruction::Jump(offset) => return Some(Step::Go(pc.wrapping_add_signed(offset))),
        Instruction::ExceptionReturn => return Some(Step::Return),
    }
    Some(Step::Next)
}

fn compute(operation: Operation, a: u64, b: u64) -> u64 {
    match operation {
        Operation::Add => a.wrapping_add(b),
        Operation::Subtract => a.wrapping_sub(b),
        Operation::And => a & b,
        Operation::Or => a | b,
        Operation::Xor => a ^ b,
        Operation::Less => u64::from(a.cast_signed() < b.cast_signed()),
        Operation::LessUnsigned => u64::from(a < b),
        Operation::ShiftLeft => a << (b & 63),
        Operation::ShiftRight => a >> (b & 63),
    }
}

fn holds(condition: Condition, a: u64, b: u64) -> bool {
    match condition {
        Condition::Equal => a == b,
        Condition::NotEqual => a != b,
        Condition::Less => a.cast_signed() < b.cast_signed(),
        Condition::NotLess => a.cast_signed() >= b.cast_signed(),
        Condition::LessUnsigned => a < b,
        Condition::NotLessUnsigned => a >= b,
    }
}
