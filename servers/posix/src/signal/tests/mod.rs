//! Signals.

mod delivery;
mod direct;
mod forged;
mod frames;
mod model;
mod opened;
mod stops;
mod waits;

use crate::host::{ContextId, Exit, Registers};
use crate::process::schedule::Next;
use crate::testing::driver::{Driver, SCRATCH};

pub(super) const KILL: u64 = 129;
pub(super) const TKILL: u64 = 130;
pub(super) const TGKILL: u64 = 131;
pub(super) const SIGSUSPEND: u64 = 133;
pub(super) const SIGACTION: u64 = 134;
pub(super) const SIGPROCMASK: u64 = 135;
pub(super) const SIGPENDING: u64 = 136;
pub(super) const SIGTIMEDWAIT: u64 = 137;
pub(super) const SIGQUEUEINFO: u64 = 138;
pub(super) const SIGRETURN: u64 = 139;
/// Where the tests' handlers are: signal n's at this and n times 16.
pub(super) const HANDLERS: u64 = 0x1_2000_0800;
/// Where the tests put what calls read and write.
pub(super) const DATA: u64 = SCRATCH + 0x7000;
/// Where the tests' programs have their stack.
pub(super) const STACK: u64 = SCRATCH + 0xf000;
pub(super) const RESTART: u64 = 0x1000_0000;
/// Where a frame has the saved mask, and the saved registers.
pub(super) const MASK: u64 = 168;
pub(super) const REGISTERS: u64 = 304;

pub(super) const fn bit(signal: u64) -> u64 {
    1 << (signal - 1)
}

/// A program with a stack and a pattern in its registers.
pub(super) fn running() -> Driver {
    let mut driver = Driver::with_scratch();
    let registers = driver.registers();
    registers.general = core::array::from_fn(|number| 0x100 + number as u64);
    registers.general[3] = STACK;
    registers.pc = 0x1_2000_0400;
    driver
}

impl Driver {
    pub(super) fn registers(&mut self) -> &mut Registers {
        let context = self.context().unwrap();
        &mut self.server().host.context(context).registers
    }

    pub(super) fn of(&mut self, context: ContextId) -> &mut Registers {
        &mut self.server().host.context(context).registers
    }

    /// Sets a handler.
    pub(super) fn handle(&mut self, signal: u64, flags: u64, mask: u64) {
        self.act(signal, HANDLERS + signal * 16, flags, mask);
    }

    pub(super) fn act(&mut self, signal: u64, handler: u64, flags: u64, mask: u64) {
        for (number, word) in [handler, flags, mask].iter().enumerate() {
            self.poke(DATA + number as u64 * 8, &word.to_le_bytes());
        }
        assert_eq!(self.call(SIGACTION, [signal, DATA, 0, 8, 0, 0]), Some(0));
    }

    /// Sets the mask; what it opens is delivered.
    pub(super) fn set_mask(&mut self, mask: u64) {
        self.poke(DATA, &mask.to_le_bytes());
        self.call(SIGPROCMASK, [2, DATA, 0, 8, 0, 0]);
    }

    pub(super) fn mask(&mut self) -> u64 {
        let thread = self.thread();
        self.server().threads.get(thread).unwrap().mask
    }

    pub(super) fn kill_self(&mut self, signal: u64) -> Option<u64> {
        let pid = self.pid();
        self.call(KILL, [pid, signal, 0, 0, 0, 0])
    }

    /// The signal whose handler was just entered, by pc and first argument.
    pub(super) fn handled(&mut self) -> Option<u64> {
        let Next::Enter(_, Exit::Full) = self.next else { return None };
        let registers = self.registers();
        let signal = registers.general[4];
        (registers.pc == HANDLERS.wrapping_add(signal.wrapping_mul(16))).then_some(signal)
    }

    /// The handler returns.
    pub(super) fn sigreturn(&mut self) {
        assert_eq!(self.call(SIGRETURN, [0; 6]), None);
    }

    pub(super) fn sp(&mut self) -> u64 {
        self.registers().general[3]
    }

    pub(super) fn half(&mut self, at: u64) -> u32 {
        u32::from_le_bytes(self.peek(at, 4).try_into().unwrap())
    }
}
