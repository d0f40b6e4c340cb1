//! Linux's frame for LoongArch: what a handler finds on its stack, and what rt_sigreturn reads back.
//!
//! From the stack pointer upwards: siginfo (128 bytes), ucontext with sigcontext at its end (448), then records
//! {magic, size} of which at most one is of the vector unit, and an END record of zeros. loongarch.md §3.4;
//! arch/loongarch/include/uapi/asm/{sigcontext,ucontext}.h.

use super::info::Info;
use super::number::Signal;
use crate::Errno;
use crate::host::{ContextId, CopyStop, FrameEnds, FrameParts, Host, Registers, Width};
use crate::memory::fault::Access;
use crate::memory::space::View;
use crate::number::to_u64;
use crate::user::UserSlice;
use core::mem::offset_of;
use core::ops::Range;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

/// Bytes from the stack pointer to the first record.
pub const FRAME_BYTES: u64 = offset_of!(Frame, record) as u64;
/// Where the ucontext begins.
pub const UCONTEXT: u64 = offset_of!(Frame, flags) as u64;
/// Where uc_sigmask lies.
pub const MASK: u64 = offset_of!(Frame, mask) as u64;
/// What rt_sigreturn looks at: from uc_stack to the first word of the first record.
pub const READ: Range<usize> = offset_of!(Frame, stack)..offset_of!(Frame, record) + 8;
/// Bytes of a record's head.
pub const RECORD: u64 = 16;

/// sc_flags.
pub mod flags {
    use crate::memory::fault::Access;

    /// There is a record of the vector unit, and it counts.
    pub const USED_FP: u32 = 1;
    /// A load was refused.
    pub const ADDRESS_READ: u32 = 1 << 30;
    /// A store was refused.
    pub const ADDRESS_WRITE: u32 = 1 << 31;

    /// What a refused access is told by.
    pub const fn of_access(access: Access) -> u32 {
        match access {
            Access::Load | Access::Fetch => ADDRESS_READ,
            Access::Store => ADDRESS_WRITE,
        }
    }
}

/// Magic numbers and payload bytes of records.
pub mod record {
    use crate::host::Width;

    /// FPU_CTX_MAGIC.
    pub const FPU: u32 = 0x4650_5501;
    /// LSX_CTX_MAGIC.
    pub const LSX: u32 = 0x5358_0001;
    /// LASX_CTX_MAGIC.
    pub const LASX: u32 = 0x4153_5801;
    /// LBT_CTX_MAGIC.
    pub const LBT: u32 = 0x4254_0001;
    /// Bytes of an LBT record's payload.
    pub const LBT_BYTES: u64 = 40;

    /// The magic number of a width's record.
    pub const fn magic(width: Width) -> u32 {
        match width {
            Width::None => 0,
            Width::Fp => FPU,
            Width::Lsx => LSX,
            Width::Lasx => LASX,
        }
    }

    /// Bytes of a width's payload: registers, fcc, fcsr, rounded up to what aligns its type.
    pub const fn bytes(width: Width) -> u64 {
        match width {
            Width::None => 0,
            Width::Fp => 272,
            Width::Lsx => 528,
            Width::Lasx => 1040,
        }
    }

    /// Where fcsr lies in it: behind the registers and fcc.
    pub const fn fcsr(width: Width) -> u64 {
        32 * 8 * width.lanes() as u64 + 8
    }
}

/// A frame without its records, and the head of the first: all of it if nothing of the vector unit is in use. The
/// machine's routines know it as [`runtime::host::signal::Frame`].
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Frame {
    info: [u64; 16],
    flags: u64,
    link: u64,
    stack: [u64; 3],
    mask: u64,
    /// The rest of the program's own sigset_t, and what aligns sigcontext.
    unused: [u64; 16],
    registers: [u64; 33],
    context_flags: u64,
    record: [u64; 2],
}

macro_rules! same_places {
    ($($field:ident)*) => {
        $(const _: () =
            assert!(offset_of!(Frame, $field) == offset_of!(runtime::host::signal::Frame, $field));)*
        const _: () = assert!(size_of::<Frame>() == size_of::<runtime::host::signal::Frame>());
    };
}

same_places!(info flags link stack mask unused registers context_flags record);
const _: () = assert!(UCONTEXT == 128 && FRAME_BYTES == 576);

impl Frame {
    /// Of these registers and parts.
    pub fn new(registers: &Registers, parts: &FrameParts<'_>) -> Self {
        let mut frame = Self::new_zeroed();
        for (place, word) in frame.info.iter_mut().zip(parts.info) {
            *place = *word;
        }
        (frame.stack, frame.mask) = (*parts.stack, parts.mask);
        let values = [registers.pc, 0].into_iter().chain(registers.general.into_iter().skip(1));
        for (place, value) in frame.registers.iter_mut().zip(values) {
            *place = value;
        }
        (frame.context_flags, frame.record) = (parts.context_flags, [parts.record, 0]);
        frame
    }

    /// What counts before the rest.
    pub const fn ends(&self) -> FrameEnds {
        let [record, _] = self.record;
        FrameEnds { stack: self.stack, mask: self.mask, context_flags: self.context_flags, record }
    }

    /// The registers in it.
    pub const fn program_registers(&self) -> Registers {
        let [pc, general @ ..] = self.registers;
        Registers { general, pc }
    }
}

/// Where the parts of a frame lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The stack pointer that the handler gets.
    pub sp: u64,
    /// The record of the vector unit: where its head lies, and its payload.
    pub record: Option<(u64, u64)>,
    /// The END record.
    pub end: u64,
}

impl Layout {
    /// Below an address, with a record of that width.
    pub const fn below(top: u64, width: Width) -> Self {
        let end = (top & !15).wrapping_sub(RECORD);
        if matches!(width, Width::None) {
            return Self { sp: end.wrapping_sub(FRAME_BYTES), record: None, end };
        }
        let align = if matches!(width, Width::Lasx) { 32 } else { 16 };
        let payload = end.wrapping_sub(record::bytes(width)) & !(align - 1);
        let head = payload.wrapping_sub(RECORD);
        Self { sp: head.wrapping_sub(FRAME_BYTES), record: Some((head, payload)), end }
    }
}

/// What a frame is made of, beside what is in the context.
#[derive(Clone, Copy, Debug)]
pub struct Contents<'a> {
    /// siginfo.
    pub info: &'a Info,
    /// uc_stack.
    pub stack: &'a [u64; 3],
    /// uc_sigmask.
    pub mask: u64,
    /// The ADDRESS bits of sc_flags.
    pub access: u32,
}

impl<H: Host> View<'_, H> {
    /// Writes the frame of a context, which is current and complete, below an address; where it lies.
    ///
    /// # Errors
    /// EFAULT when the program could not write all of it itself.
    #[inline(always)] // What it would save and load are a third of what it does.
    pub fn write_frame(
        &mut self,
        context: ContextId,
        top: u64,
        width: Width,
        contents: &Contents<'_>,
    ) -> Result<u64, Errno> {
        let layout = Layout::below(top, width);
        let Layout { sp, record, end } = layout;
        let whole = UserSlice::new(sp, (top & !15).wrapping_sub(sp))?;
        let (used, head) = match record {
            Some((head, _)) => (flags::USED_FP, u64::from(record::magic(width)) | (end - head) << 32),
            None => (0, 0),
        };
        let parts = FrameParts {
            info: &contents.info.0,
            stack: contents.stack,
            mask: contents.mask,
            context_flags: u64::from(contents.access | used),
            record: head,
            end,
        };
        self.persist(whole, Access::Store, move |host, at| host.save_frame(context, at, &parts))?;
        if let Some((_, payload)) = record {
            let payload = UserSlice::new(payload, record::bytes(width))?;
            self.persist(payload, Access::Store, move |host, at| host.store_vectors(context, width, at))?;
        }
        Ok(sp)
    }

    /// Does what the host does with a program's memory, at most a page of it, again until it is done, with the
    /// page faults that it meets resolved.
    ///
    /// # Errors
    /// EFAULT when the program could not do it itself.
    #[inline(always)] // What its callers hand over stays in registers.
    pub fn persist(
        &mut self,
        slice: UserSlice,
        access: Access,
        mut work: impl FnMut(&mut H, u64) -> Result<(), CopyStop>,
    ) -> Result<(), Errno> {
        match work(self.host, slice.address()) {
            Ok(()) => Ok(()),
            Err(stop) => self.reborrow().again(slice, access, stop, work),
        }
    }

    /// The same from the first stop on. It takes copies, so that what the usual way needs can stay in registers.
    #[cold]
    #[inline(never)]
    fn again(
        mut self,
        slice: UserSlice,
        access: Access,
        first: CopyStop,
        mut work: impl FnMut(&mut H, u64) -> Result<(), CopyStop>,
    ) -> Result<(), Errno> {
        let (at, bytes) = (slice.address(), slice.bytes());
        let mut stop = first;
        // It reaches over two pages at most.
        for _ in 0..2 {
            // Where it stopped may be told too low: the last byte is in the page that it could be instead.
            for offset in [to_u64(stop.done), bytes.saturating_sub(1)] {
                self.resolve(at + offset, access).map_err(|_| Errno::EFAULT)?;
            }
            match work(self.host, at) {
                Ok(()) => return Ok(()),
                Err(next) => stop = next,
            }
        }
        Err(Errno::EFAULT)
    }
}

impl Info {
    /// The signal for a frame that cannot be used.
    pub const BAD_FRAME: Self = Self::new(Signal::SIGSEGV, super::info::code::SI_KERNEL);
}
