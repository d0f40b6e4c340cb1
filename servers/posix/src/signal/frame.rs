//! Linux's frame for LoongArch: what a handler finds on its stack, and what rt_sigreturn reads back.
//!
//! From the stack pointer upwards: siginfo (128 bytes), ucontext with sigcontext at its end (448), then records
//! {magic, size} of which at most one is of the vector unit, and an END record of zeros. loongarch.md §3.4;
//! arch/loongarch/include/uapi/asm/{sigcontext,ucontext}.h.

use super::info::Info;
use super::number::Signal;
use super::stack::StackWords;
use crate::Errno;
use crate::host::{ContextId, CopyStop, FRAME_WORDS, Host, Width};
use crate::memory::fault::Access;
use crate::memory::space::View;
use crate::number::to_u64;
use crate::user::{UserPtr, UserSlice};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

/// Bytes from the stack pointer to the first record.
pub const FRAME_BYTES: u64 = 576;
/// Where the ucontext begins.
pub const UCONTEXT: u64 = 128;
/// Where uc_stack lies.
pub const STACK: u64 = UCONTEXT + 16;
/// Where uc_sigmask lies: 8 bytes of 128, the rest being nobody's.
pub const MASK: u64 = UCONTEXT + 40;
/// Where sigcontext begins: sc_pc, then sc_regs.
pub const REGISTERS: u64 = UCONTEXT + 176;
/// Where sc_flags lies.
pub const FLAGS: u64 = REGISTERS + 8 * FRAME_WORDS as u64;
const _: () = assert!(FLAGS + 8 == FRAME_BYTES);
/// Bytes of a record's head.
pub const RECORD: u64 = 16;

/// sc_flags.
pub mod flags {
    /// There is a record of the vector unit, and it counts.
    pub const USED_FP: u32 = 1;
    /// A load was refused.
    pub const ADDRESS_READ: u32 = 1 << 30;
    /// A store was refused.
    pub const ADDRESS_WRITE: u32 = 1 << 31;
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

/// A frame without its records, and the head of the first: all of it if nothing of the vector unit is in use.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct Frame {
    info: [u64; 16],
    flags: u64,
    link: u64,
    stack: StackWords,
    mask: u64,
    /// The rest of the program's own sigset_t, and what aligns sigcontext.
    unused: [u64; 16],
    registers: [u64; FRAME_WORDS],
    context_flags: u64,
    record: [u64; 2],
}

const _: () = assert!(core::mem::offset_of!(Frame, stack) as u64 == STACK);
const _: () = assert!(core::mem::offset_of!(Frame, mask) as u64 == MASK);
const _: () = assert!(core::mem::offset_of!(Frame, registers) as u64 == REGISTERS);
const _: () = assert!(core::mem::offset_of!(Frame, context_flags) as u64 == FLAGS);
const _: () = assert!(core::mem::offset_of!(Frame, record) as u64 == FRAME_BYTES);

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
    pub stack: StackWords,
    /// uc_sigmask.
    pub mask: u64,
    /// The ADDRESS bits of sc_flags.
    pub access: Option<Access>,
}

impl<H: Host> View<'_, H> {
    /// Writes the frame of a context, which is current and complete, below an address; where it lies.
    ///
    /// # Errors
    /// EFAULT when the program could not write all of it itself.
    pub fn write_frame(
        &mut self,
        context: ContextId,
        top: u64,
        width: Width,
        contents: &Contents<'_>,
    ) -> Result<Layout, Errno> {
        let layout = Layout::below(top, width);
        let Layout { sp, record, end } = layout;
        UserSlice::new(sp, (top & !15).wrapping_sub(sp))?;
        let access = match contents.access {
            Some(Access::Load | Access::Fetch) => flags::ADDRESS_READ,
            Some(Access::Store) => flags::ADDRESS_WRITE,
            None => 0,
        };
        let (used, head) = match record {
            Some((head, _)) => (flags::USED_FP, u64::from(record::magic(width)) | (end - head) << 32),
            None => (0, 0),
        };
        // Filled in place: every copy of it would cost what the frame's own does.
        let mut frame = Frame::new_zeroed();
        for (place, word) in frame.info.iter_mut().zip(contents.info.0) {
            *place = word;
        }
        (frame.stack, frame.mask) = (contents.stack, contents.mask);
        self.host.frame_registers(context, &mut frame.registers);
        frame.context_flags = u64::from(access | used);
        frame.record = [head, 0];
        self.write(UserPtr::new(sp)?, &frame)?;
        if let Some((_, payload)) = record {
            let payload = UserSlice::new(payload, record::bytes(width))?;
            self.persist(payload, Access::Store, |host, at| host.store_vectors(context, width, at))?;
            self.write(UserPtr::new(end)?, &[0_u64; 2])?;
        }
        Ok(layout)
    }

    /// Does what the host does with a program's memory, at most a page of it, again until it is done, with the
    /// page faults that it meets resolved.
    ///
    /// # Errors
    /// EFAULT when the program could not do it itself.
    pub fn persist(
        &mut self,
        slice: UserSlice,
        access: Access,
        mut work: impl FnMut(&mut H, u64) -> Result<(), CopyStop>,
    ) -> Result<(), Errno> {
        let (at, bytes) = (slice.address(), slice.bytes());
        // It reaches over two pages at most.
        for _ in 0..3 {
            let Err(stop) = work(self.host, at) else { return Ok(()) };
            // Where it stopped may be told too low: the last byte is in the page that it could be instead.
            for offset in [to_u64(stop.done), bytes.saturating_sub(1)] {
                self.resolve(at + offset, access).map_err(|_| Errno::EFAULT)?;
            }
        }
        Err(Errno::EFAULT)
    }
}

impl Info {
    /// The signal for a frame that cannot be used.
    pub const BAD_FRAME: Self = Self::new(Signal::SIGSEGV, super::info::code::SI_KERNEL);
}
