//! rt_sigreturn: a handler is done, and what its frame says, changed or not, goes on.
//!
//! The frame is the program's to forge. What Linux refuses is refused, by SIGSEGV; everything else is taken as
//! it is: general registers and pc mean nothing to the server, masks and stacks are checked as calls check them.

use super::frame::{FRAME_BYTES, MASK, READ, RECORD, flags, record};
use super::info::{Info, code};
use super::number::{NEVER, Signal};
use crate::Errno;
use crate::dispatch::{Arguments, Flow};
use crate::host::{ContextId, Exit, Host, Width};
use crate::memory::fault::Access;
use crate::memory::space::View;
use crate::number::low_u32;
use crate::server::{Current, Server};
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
    #[inline]
    fn restore(&mut self) -> Result<Trap, Errno> {
        let context = self.thread()?.context;
        let sp = self.host.stack_pointer(context);
        let restored = self.restore_from(context, sp);
        if restored.is_err() {
            // What a refused frame leaves: the call's end with 0, as Linux has it.
            self.host.finish_call(context, 0);
        }
        restored
    }

    #[inline]
    fn restore_from(&mut self, context: ContextId, frame: u64) -> Result<Trap, Errno> {
        let read = UserSlice::new(frame, READ.end as u64)?.after(READ.start as u64);
        let Current { thread, space, .. } = self.current()?;
        let shared = self.spaces.get_mut(space).ok_or(Errno::ESRCH)?;
        let mut view = View { host: &mut self.host, memory: &mut self.memory, space: &mut shared.space };
        let thread = self.threads.get_mut(thread).ok_or(Errno::ESRCH)?;
        let ends = match view.persist(read, Access::Load, |host, _| host.peek_frame(frame)) {
            Ok(ends) => ends,
            Err(error) => {
                // Linux sets the mask before it looks at the rest.
                thread.mask = view.read(UserPtr::<u64>::new(frame + MASK)?)? & !NEVER;
                return Err(error);
            }
        };
        thread.mask = ends.mask & !NEVER;
        let trap = if low_u32(ends.record) == 0 {
            // Without records, nothing more is to be looked at. What the handler used is not the program's.
            if low_u32(ends.context_flags) & flags::USED_FP == 0
                && view.host.vector_width(context) != Width::None
            {
                view.host.clear_vectors(context);
            }
            Trap::No
        } else {
            view.restore_vectors(context, frame, ends.record)?
        };
        view.persist(read, Access::Load, |host, _| host.load_frame(context, frame))?;
        thread.signals.stack.restore(ends.stack, view.host.stack_pointer(context));
        Ok(trap)
    }
}

impl<H: Host> View<'_, H> {
    fn restore_vectors(&mut self, context: ContextId, frame: u64, head: u64) -> Result<Trap, Errno> {
        let first = frame + FRAME_BYTES;
        let (width, payload, fcsr) = match self.usual_record(first, head)? {
            Some(usual) => usual,
            None => {
                // Linux restores what is there whether or not the flags say that it counts.
                let Some((width, payload)) = self.read_records(first)?.widest() else { return Ok(Trap::No) };
                let fcsr = self.read(UserPtr::new(payload + record::fcsr(width))?)?;
                (width, payload, fcsr)
            }
        };
        let pending = fcsr & ((fcsr & ENABLES) << CAUSE_SHIFT);
        if pending != 0 {
            self.write(UserPtr::new(payload + record::fcsr(width))?, &(fcsr & !pending))?;
        }
        let payload = UserSlice::new(payload, record::fcsr(width) + 4)?;
        self.persist(payload, Access::Load, |host, at| host.load_vectors(context, width, at))?;
        Ok(if pending == 0 { Trap::No } else { Trap::FloatingPoint })
    }

    /// The one record of a frame as the server writes it: its width, payload and fcsr. `None` for other frames.
    fn usual_record(&mut self, first: u64, head: u64) -> Result<Option<(Width, u64, u32)>, Errno> {
        let (width, capability) = match low_u32(head) {
            record::FPU => (Width::Fp, 1 << 3),
            record::LSX => (Width::Lsx, 1 << 4),
            record::LASX => (Width::Lasx, 1 << 5),
            _ => return Ok(None),
        };
        let usual = head >> 32 == RECORD + record::bytes(width);
        if !usual || self.host.hardware_capabilities() & capability == 0 {
            return Ok(None);
        }
        // fcsr, and the head of what follows the record.
        let payload = first + RECORD;
        let [fcsr, next] = self.read(UserPtr::<[u64; 2]>::new(payload + record::fcsr(width))?)?;
        Ok((low_u32(next) == 0).then_some((width, payload, low_u32(fcsr))))
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
            let (magic, size) = (low_u32(head), head >> 32);
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
