//! rt_sigreturn: a handler is done, and what its frame says, changed or not, goes on.
//!
//! The frame is the program's to forge. What Linux refuses is refused, by SIGSEGV; everything else is taken as
//! it is: general registers and pc mean nothing to the server, masks and stacks are checked as calls check them.

use super::frame::{FRAME_BYTES, MASK, READ, RECORD, flags, record};
use super::info::{Info, code};
use super::number::{NEVER, Signal};
use super::{Attention, Stopped};
use crate::Errno;
use crate::dispatch::{Arguments, Flow, Strace};
use crate::host::{ContextId, CopyStop, Exit, FrameEnds, Host, Width};
use crate::memory::fault::Access;
use crate::memory::space::View;
use crate::number::low_u32;
use crate::process::{Process, Thread};
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
#[inline(always)] // One function with its entry: registers are saved once.
pub fn rt_sigreturn<H: Host>(server: &mut Server<H>, _: Arguments) -> Result<Flow, Errno> {
    match server.restore() {
        Ok(flow) => Ok(flow),
        // What a refused frame leaves is the call's end with 0, as Linux has it.
        Err(_) => Ok(server.force_at_return(Info::BAD_FRAME, Flow::Done(0))),
    }
}

impl<H: Host> Server<H> {
    /// A signal that the thread cannot put off, and how it goes on to it.
    #[cold]
    #[inline(never)]
    fn force_at_return(&mut self, info: Info, flow: Flow) -> Flow {
        if let Some(current) = self.acting {
            self.force(current.thread, info);
            self.attention = Attention::Due;
        }
        if self.acting.is_some() { flow } else { Flow::Gone }
    }

    #[inline(always)] // One function with its entry: registers are saved once.
    fn restore(&mut self) -> Result<Flow, Errno> {
        let Current { thread, process, .. } = self.current()?;
        let record = self.threads.get_mut(thread).ok_or(Errno::ESRCH)?;
        let frame = self.host.stack_pointer(record.context);
        let read = UserSlice::new(frame, READ.end as u64)?.after(READ.start as u64);
        let Ok(ends) = self.host.peek_frame(frame) else { return self.restore_anyhow(frame, read) };
        if low_u32(ends.record) != 0 {
            return self.restore_with_vectors(frame, read, ends);
        }
        let owner = self.processes.get(process).ok_or(Errno::ESRCH)?;
        // Without records, nothing more is to be looked at. What the handler used is not the program's.
        if low_u32(ends.context_flags) & flags::USED_FP == 0
            && self.host.vector_width(record.context) != Width::None
        {
            self.host.clear_vectors(record.context);
        }
        if restore_registers(&mut self.host, record, frame, &ends).is_err() {
            return self.restore_anyhow(frame, read);
        }
        Ok(restored(&mut self.host, record, owner, self.strace, &mut self.attention))
    }

    /// The same for a frame that has records, of which it is the usual one that can be loaded at once.
    #[inline(never)]
    fn restore_with_vectors(&mut self, frame: u64, read: UserSlice, ends: FrameEnds) -> Result<Flow, Errno> {
        let Current { thread, process, .. } = self.current()?;
        let record = self.threads.get_mut(thread).ok_or(Errno::ESRCH)?;
        let owner = self.processes.get(process).ok_or(Errno::ESRCH)?;
        let loaded = match usual_record(&mut self.host, frame + FRAME_BYTES, ends.record) {
            Some((width, payload)) => self.host.load_vectors(record.context, width, payload).is_ok(),
            None => false,
        };
        if !loaded {
            return self.restore_with_records(frame, read, ends);
        }
        if restore_registers(&mut self.host, record, frame, &ends).is_err() {
            return self.restore_anyhow(frame, read);
        }
        Ok(restored(&mut self.host, record, owner, self.strace, &mut self.attention))
    }

    /// The same for any records, wherever they lie.
    #[cold]
    #[inline(never)]
    fn restore_with_records(&mut self, frame: u64, read: UserSlice, ends: FrameEnds) -> Result<Flow, Errno> {
        let Current { thread, process, space } = self.current()?;
        let record = self.threads.get_mut(thread).ok_or(Errno::ESRCH)?;
        let owner = self.processes.get(process).ok_or(Errno::ESRCH)?;
        let shared = self.spaces.get_mut(space).ok_or(Errno::ESRCH)?;
        // Linux sets it before it looks at the rest.
        record.mask = ends.mask & !NEVER;
        let mut view = View { host: &mut self.host, memory: &mut self.memory, space: &mut shared.space };
        let context = record.context;
        if view.restore_vectors(context, frame)? == Trap::FloatingPoint {
            return self.trap_at_return(context, frame, read, ends.stack);
        }
        if restore_registers(&mut self.host, record, frame, &ends).is_err() {
            return self.restore_anyhow(frame, read);
        }
        Ok(restored(&mut self.host, record, owner, self.strace, &mut self.attention))
    }

    /// A page of the frame is not there yet: once it is, everything begins anew.
    #[cold]
    #[inline(never)]
    fn restore_anyhow(&mut self, frame: u64, read: UserSlice) -> Result<Flow, Errno> {
        let mut view = self.view()?;
        let peeked = view.persist(read, Access::Load, |host, _| host.peek_frame(frame).map(drop));
        if let Err(error) = peeked {
            // Linux sets the mask before it looks at the rest.
            let mask = view.read(UserPtr::<u64>::new(frame + MASK)?)?;
            self.thread_mut()?.mask = mask & !NEVER;
            return Err(error);
        }
        self.restore_again()
    }

    #[inline(never)]
    fn restore_again(&mut self) -> Result<Flow, Errno> {
        self.restore()
    }

    /// The frame's fcsr is a trap at once: its registers count, and it is told of the trap there.
    #[cold]
    fn trap_at_return(
        &mut self,
        context: ContextId,
        frame: u64,
        read: UserSlice,
        stack: [u64; 3],
    ) -> Result<Flow, Errno> {
        self.view()?.persist(read, Access::Load, |host, _| host.load_frame(context, frame))?;
        let sp = self.host.stack_pointer(context);
        let record = self.thread_mut()?;
        record.exit = Exit::Full;
        record.signals.stack.restore(stack, sp);
        Ok(self.force_at_return(Info::new(Signal::SIGFPE, code::SI_KERNEL), Flow::Replaced))
    }
}

/// Gives a thread what a frame has beside records.
///
/// # Errors
/// As [`Host::load_frame`].
#[inline(always)] // As `restore`.
fn restore_registers<H: Host>(
    host: &mut H,
    record: &mut Thread,
    frame: u64,
    ends: &FrameEnds,
) -> Result<(), CopyStop> {
    record.mask = ends.mask & !NEVER;
    host.load_frame(record.context, frame)?;
    record.signals.stack.restore(ends.stack, host.stack_pointer(record.context));
    Ok(())
}

/// How a thread goes on whose registers are those of a frame.
#[inline(always)] // As `restore`.
fn restored<H: Host>(
    host: &mut H,
    record: &mut Thread,
    owner: &Process,
    strace: Strace,
    attention: &mut Attention,
) -> Flow {
    let open = (record.signals.pending.set() | owner.signals.pending.set()) & !record.mask;
    if open == 0
        && owner.signals.stopped == Stopped::No
        && strace == Strace::Off
        && let Some(flags) = host.enter_flags(record.context)
    {
        *attention = Attention::Quiet;
        return Flow::Enter(flags);
    }
    record.exit = Exit::Full;
    Flow::Replaced
}

/// Those of an fcsr's causes that are a trap at once.
#[inline]
const fn enabled_causes(fcsr: u32) -> u32 {
    fcsr & ((fcsr & ENABLES) << CAUSE_SHIFT)
}

/// The one record of a frame as the server writes it, with END behind it: its width and payload, all of which lies in the
/// program's half. `None` for frames that are to be gone through, and for those whose fcsr is a trap.
#[inline(always)] // One function with its caller: registers are saved once.
fn usual_record<H: Host>(host: &mut H, first: u64, head: u64) -> Option<(Width, u64)> {
    let (width, capability) = match low_u32(head) {
        record::FPU => (Width::Fp, 1 << 3),
        record::LSX => (Width::Lsx, 1 << 4),
        record::LASX => (Width::Lasx, 1 << 5),
        _ => return None,
    };
    let bytes = head >> 32;
    let (payload, next) = (first + RECORD, first + bytes);
    let usual = bytes >= RECORD + record::bytes(width) && next.is_multiple_of(8) && first.is_multiple_of(8);
    // The payload lies below END: where that is the program's, all of it is.
    if !usual
        || host.hardware_capabilities() & capability == 0
        || UserPtr::<u64>::new(next).is_err()
        || low_u32(host.load_double(next).ok()?) != 0
    {
        return None;
    }
    let fcsr = low_u32(host.load_double(payload + record::fcsr(width)).ok()?);
    (enabled_causes(fcsr) == 0).then_some((width, payload))
}

impl<H: Host> View<'_, H> {
    /// Loads the widest record of a frame. Linux restores what is there whether or not the flags say that it counts.
    fn restore_vectors(&mut self, context: ContextId, frame: u64) -> Result<Trap, Errno> {
        let Some((width, payload)) = self.read_records(frame + FRAME_BYTES)?.widest() else {
            return Ok(Trap::No);
        };
        let fcsr: u32 = self.read(UserPtr::new(payload + record::fcsr(width))?)?;
        let pending = enabled_causes(fcsr);
        if pending != 0 {
            self.write(UserPtr::new(payload + record::fcsr(width))?, &(fcsr & !pending))?;
        }
        let payload = UserSlice::new(payload, record::fcsr(width) + 4)?;
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
