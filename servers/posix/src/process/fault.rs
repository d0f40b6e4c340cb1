//! A program's faults: page faults are resolved, everything else is a signal, as Linux chooses it.

use super::instruction::{self, Bounds};
use super::schedule::{Next, Posix};
use super::shortage::Relieved;
use super::{Signal, ThreadId};
use crate::address::LOWER_HALF_END;
use crate::host::{Exit, Host, Registers};
use crate::memory::fault::{Access, Refused};
use crate::server::Server;
use crate::signal::frame::flags;
use crate::signal::info::Info;

/// What the kernel wrote to the context when the program faulted (C-20).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// ESTAT.
    pub cause: u64,
    /// BADV.
    pub address: u64,
    /// BADI.
    pub instruction: u32,
}

mod code {
    pub(super) const SI_KERNEL: i32 = 128;
    pub(super) const SEGV_MAPERR: i32 = 1;
    pub(super) const SEGV_ACCERR: i32 = 2;
    pub(super) const SEGV_BNDERR: i32 = 3;
    pub(super) const BUS_ADRALN: i32 = 1;
    pub(super) const BUS_ADRERR: i32 = 2;
    pub(super) const FPE_INTDIV: i32 = 1;
    pub(super) const FPE_INTOVF: i32 = 2;
    pub(super) const FPE_FLTDIV: i32 = 3;
    pub(super) const FPE_FLTOVF: i32 = 4;
    pub(super) const FPE_FLTUND: i32 = 5;
    pub(super) const FPE_FLTRES: i32 = 6;
    pub(super) const FPE_FLTINV: i32 = 7;
    pub(super) const FPE_FLTUNK: i32 = 14;
    pub(super) const TRAP_BRKPT: i32 = 1;
}

/// ESTAT's exception codes (loongarch.md §1.4).
mod exception {
    pub(super) const LOAD_INVALID: u64 = 0x1;
    pub(super) const STORE_INVALID: u64 = 0x2;
    pub(super) const FETCH_INVALID: u64 = 0x3;
    pub(super) const NOT_WRITABLE: u64 = 0x4;
    pub(super) const NOT_READABLE: u64 = 0x5;
    pub(super) const NOT_EXECUTABLE: u64 = 0x6;
    pub(super) const PRIVILEGE: u64 = 0x7;
    pub(super) const ADDRESS: u64 = 0x8;
    pub(super) const ALIGNMENT: u64 = 0x9;
    pub(super) const BOUND: u64 = 0xa;
    pub(super) const BREAK: u64 = 0xc;
    pub(super) const FLOATING_POINT: u64 = 0x12;
}

impl Fault {
    const fn exception(self) -> u64 {
        self.cause >> 16 & 0x3f
    }

    /// How a page was touched, if this is a page fault that memory can answer.
    const fn access(self) -> Option<Access> {
        match self.exception() {
            exception::LOAD_INVALID | exception::NOT_READABLE => Some(Access::Load),
            exception::STORE_INVALID | exception::NOT_WRITABLE => Some(Access::Store),
            exception::FETCH_INVALID | exception::NOT_EXECUTABLE => Some(Access::Fetch),
            _ => None,
        }
    }

    /// How memory was touched, also where the fault's code does not say: at a page of the host's.
    fn touched(self, pc: u64) -> Option<Access> {
        match self.exception() {
            exception::PRIVILEGE if self.address == pc => Some(Access::Fetch),
            exception::PRIVILEGE => Some(instruction::access(self.instruction)),
            _ => self.access(),
        }
    }

    /// The signal of what is no page fault (arch/loongarch/kernel/traps.c).
    fn signal(self, registers: &Registers) -> Info {
        let pc = registers.pc;
        let (signal, code, address) = match self.exception() {
            // A page of the host's: to the program it is not there (C-29).
            exception::PRIVILEGE => (Signal::SIGSEGV, code::SEGV_MAPERR, self.address),
            exception::ADDRESS => (Signal::SIGBUS, code::BUS_ADRERR, self.address),
            exception::ALIGNMENT => (Signal::SIGBUS, code::BUS_ADRALN, self.address),
            exception::BOUND => match instruction::bounds(self.instruction, &registers.general) {
                Some(Bounds { address, lower, upper }) => {
                    return Info::bounds(Signal::SIGSEGV, code::SEGV_BNDERR, address, lower, upper);
                }
                None => (Signal::SIGSEGV, code::SI_KERNEL, 0),
            },
            exception::BREAK => match self.instruction & 0x7fff {
                // BRK_BUG: Linux's WARN, at which a program gets the signal bare.
                1 => (Signal::SIGTRAP, code::SI_KERNEL, 0),
                6 => (Signal::SIGFPE, code::FPE_INTOVF, pc),
                7 => (Signal::SIGFPE, code::FPE_INTDIV, pc),
                _ => (Signal::SIGTRAP, code::TRAP_BRKPT, pc),
            },
            // Undefined and privileged instructions, and units that the machine has not.
            _ => (Signal::SIGILL, code::SI_KERNEL, 0),
        };
        Info::fault(signal, code, address)
    }
}

/// The code of a floating-point fault, from the causes in fcsr, the gravest first (force_fcsr_sig in
/// arch/loongarch/kernel/traps.c).
const fn floating_point_code(fcsr: u32) -> i32 {
    const CODES: [(u32, i32); 5] = [
        (1 << 28, code::FPE_FLTINV),
        (1 << 27, code::FPE_FLTDIV),
        (1 << 26, code::FPE_FLTOVF),
        (1 << 25, code::FPE_FLTUND),
        (1 << 24, code::FPE_FLTRES),
    ];
    let mut rest: &[(u32, i32)] = &CODES;
    while let [(cause, code), others @ ..] = rest {
        if fcsr & *cause != 0 {
            return *code;
        }
        rest = others;
    }
    code::FPE_FLTUNK
}

/// What becomes of a fault that cannot be resolved.
#[derive(Clone, Copy, Debug)]
enum Unresolved {
    /// The thread gets a signal.
    Signal(Info),
    /// Somebody has to give memory back first.
    OutOfMemory,
}

impl Unresolved {
    const fn of(refused: Refused, fault: Fault) -> Self {
        let (signal, code) = match refused {
            Refused::NotMapped => (Signal::SIGSEGV, code::SEGV_MAPERR),
            Refused::Protected => (Signal::SIGSEGV, code::SEGV_ACCERR),
            Refused::BeyondEnd => (Signal::SIGBUS, code::BUS_ADRERR),
            Refused::OutOfMemory => return Self::OutOfMemory,
        };
        Self::Signal(Info::fault(signal, code, fault.address))
    }
}

impl<H: Host> Posix<H> {
    /// The acting thread's program faulted, and its whole context is stored: what runs next.
    pub fn faulted(&mut self, fault: Fault) -> Next {
        let Some(server) = self.server() else { return Next::Finished };
        loop {
            let Some(current) = server.acting else { return self.schedule() };
            match server.resolve(current.thread, fault) {
                Ok(next) => return next,
                // Tried again once somebody has been killed, unless that was who touched the page.
                Err(Unresolved::OutOfMemory) if server.relieve() == Relieved::Yes => {}
                Err(Unresolved::OutOfMemory) => {
                    server.kill_current(Signal::SIGKILL);
                    return self.schedule();
                }
                Err(Unresolved::Signal(info)) => {
                    server.fault_signal(current.thread, fault, info);
                    return self.replaced();
                }
            }
        }
    }
}

impl<H: Host> Server<H> {
    /// The thread that faulted gets the signal, whatever else waits for it (CASES 33).
    fn fault_signal(&mut self, thread: ThreadId, fault: Fault, info: Info) {
        if let Some(record) = self.threads.get_mut(thread) {
            record.exit = Exit::Full;
            if info.signal() == Some(Signal::SIGSEGV) {
                let pc = self.host.registers(record.context).pc;
                if let Some(access) = fault.touched(pc) {
                    record.signals.bad_access = flags::of_access(access);
                }
            }
        }
        self.force(thread, info);
    }

    fn resolve(&mut self, thread: ThreadId, fault: Fault) -> Result<Next, Unresolved> {
        let context = self.threads.get(thread).ok_or(Unresolved::OutOfMemory)?.context;
        let Some(access) = fault.access() else {
            let registers = self.host.registers(context);
            if fault.exception() == exception::FLOATING_POINT {
                let code = floating_point_code(self.host.take_causes(context));
                return Err(Unresolved::Signal(Info::fault(Signal::SIGFPE, code, registers.pc)));
            }
            return Err(Unresolved::Signal(fault.signal(&registers)));
        };
        if fault.address >= LOWER_HALF_END {
            return Err(Unresolved::of(Refused::NotMapped, fault));
        }
        let mut view = self.view().map_err(|_| Unresolved::OutOfMemory)?;
        view.resolve(fault.address, access).map_err(|refused| Unresolved::of(refused, fault))?;
        Ok(Next::Enter(context, Exit::Full))
    }
}
