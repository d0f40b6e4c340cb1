//! rt_sigreturn: a handler is done, and what its frame says, changed or not, goes on.
//!
//! The frame is the program's to forge. What Linux refuses is refused, by SIGSEGV; everything else is taken as
//! it is: general registers and pc mean nothing to the server, masks and stacks are checked as calls check them.

use super::frame::{FLAGS, FRAME_BYTES, MASK, RECORD, REGISTER_BYTES, REGISTERS, STACK, flags, record};
use super::info::{Info, code};
use super::number::{NEVER, Signal};
use super::stack::StackWords;
use crate::Errno;
use crate::dispatch::{Arguments, Flow};
use crate::host::{ContextId, Exit, Host, Width};
use crate::memory::fault::Access;
use crate::memory::space::View;
use crate::server::Server;
use crate::user::{UserPtr, UserSlice};

/// Records that are looked at; Linux looks at as many as there are.
const MOST_RECORDS: u32 = 1024;
/// FCSR0's enables in bits 4:0; a cause is 24 bits above its enable.
const ENABLES: u32 = 0x1f;
const CAUSE_SHIFT: u32 = 24;

/// Where a frame has records, by the widths that can be restored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// Payload of each width's last record: FPU, LSX, LASX.
    payloads: [Option<u64>; 3],
}

impl Records {
    /// The widest one, and its payload.
    pub fn widest(&self) -> Option<(Width, u64)> {
        let widths = [Width::Fp, Width::Lsx, Width::Lasx];
        let both = widths.into_iter().zip(self.payloads).rev();
        both.filter_map(|(width, payload)| Some((width, payload?))).next()
    }
}

/// Whether the restored fcsr is at once a SIGFPE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trap {
    No,
    FloatingPoint,
}

/// rt_sigreturn(2).
pub fn rt_sigreturn<H: Host>(server: &mut Server<H>, _: Arguments) -> Result<Flow, Errno> {
    let thread = server.current()?.thread;
    server.thread_mut()?.exit = Exit::Full;
    let forced = match server.restore() {
        Ok(Trap::No) => return Ok(Flow::Replaced),
        Ok(Trap::FloatingPoint) => Info::new(Signal::SIGFPE, code::SI_KERNEL),
        Err(_) => Info::BAD_FRAME,
    };
    server.force(thread, forced);
    Ok(if server.acting.is_some() { Flow::Replaced } else { Flow::Gone })
}

impl<H: Host> Server<H> {
    fn restore(&mut self) -> Result<Trap, Errno> {
        let context = self.thread()?.context;
        let sp = self.host.stack_pointer(context);
        // What a refused frame leaves: the call's end with 0, as Linux has it.
        let refused = |server: &mut Self, error| {
            server.host.finish_call(context, 0);
            Err(error)
        };
        let frame = match UserSlice::new(sp, FRAME_BYTES) {
            Ok(frame) => frame.address(),
            Err(error) => return refused(self, error),
        };
        let mut view = self.view()?;
        let mask: u64 = match UserPtr::new(frame + MASK).and_then(|pointer| view.read(pointer)) {
            Ok(mask) => mask,
            Err(error) => return refused(self, error),
        };
        self.thread_mut()?.mask = mask & !NEVER;
        let mut view = self.view()?;
        let trap = match view.restore_vectors(context, frame) {
            Ok(trap) => trap,
            Err(error) => return refused(self, error),
        };
        let registers = UserSlice::new(frame + REGISTERS, REGISTER_BYTES)?;
        view.persist(registers, Access::Load, |host, at| host.load_registers(context, at))?;
        let given: StackWords = view.read(UserPtr::new(frame + STACK)?)?;
        let sp = self.host.stack_pointer(context);
        // Linux ignores that it cannot be set.
        let _ = self.thread_mut()?.signals.stack.set(given, sp);
        Ok(trap)
    }
}

impl<H: Host> View<'_, H> {
    fn restore_vectors(&mut self, context: ContextId, frame: u64) -> Result<Trap, Errno> {
        let [used, first]: [u64; 2] = self.read(UserPtr::new(frame + FLAGS)?)?;
        let used = crate::number::low_u32(used) & flags::USED_FP != 0;
        // Without records, which is the usual frame, nothing more is to be looked at.
        let records = if first & 0xffff_ffff == 0 {
            Records::default()
        } else {
            self.read_records(frame + FRAME_BYTES)?
        };
        if !used {
            // What the handler used is not the program's.
            if self.host.vector_width(context) != Width::None {
                self.host.clear_vectors(context);
            }
            return Ok(Trap::No);
        }
        let Some((width, payload)) = records.widest() else { return Ok(Trap::No) };
        let fcsr = UserPtr::<u32>::new(payload + record::fcsr(width))?;
        let held = self.read(fcsr)?;
        let pending = held & ((held & ENABLES) << CAUSE_SHIFT);
        if pending != 0 {
            self.write(fcsr, &(held & !pending))?;
        }
        let payload = UserSlice::new(payload, record::bytes(width))?;
        self.persist(payload, Access::Load, |host, at| host.load_vectors(context, width, at))?;
        Ok(if pending == 0 { Trap::No } else { Trap::FloatingPoint })
    }

    /// Reads a frame's records up to the end.
    ///
    /// # Errors
    /// EINVAL for a magic number that is none, a size below its record's, a width that the machine has not;
    /// EFAULT for what cannot be read.
    pub fn read_records(&mut self, first: u64) -> Result<Records, Errno> {
        let mut records = Records::default();
        let mut at = first;
        for _ in 0..MOST_RECORDS {
            let head: u64 = self.read(UserPtr::new(at)?)?;
            let (magic, size) = (crate::number::low_u32(head), head >> 32);
            let (least, place) = match magic {
                0 => return Ok(records),
                record::FPU => (record::bytes(Width::Fp), Some((0, 1 << 3))),
                record::LSX => (record::bytes(Width::Lsx), Some((1, 1 << 4))),
                record::LASX => (record::bytes(Width::Lasx), Some((2, 1 << 5))),
                record::LBT => (record::LBT_BYTES, None),
                _ => return Err(Errno::EINVAL),
            };
            if size < RECORD + least {
                return Err(Errno::EINVAL);
            }
            if let Some((number, capability)) = place {
                if self.host.hardware_capabilities() & capability == 0 {
                    return Err(Errno::EINVAL);
                }
                // Its payload is looked at in one piece.
                UserSlice::new(at, RECORD + least)?;
                if let Some(payload) = records.payloads.get_mut(number) {
                    *payload = Some(at + RECORD);
                }
            }
            at = at.checked_add(size).ok_or(Errno::EFAULT)?;
        }
        Err(Errno::EINVAL)
    }
}
