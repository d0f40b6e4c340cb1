//! The one way into the kernel: `syscall 0`, as `abi::syscall` and C-6 describe it.
//!
//! Owned here: the registers of a native call. What the kernel does not preserve is declared lost, so the
//! compiler spills only what is live. What the call does not use of the message, argument and callee-saved
//! registers goes out as zero, so that a receiver sees nothing of the sender by accident (C-8).
//! `$sp`, `$tp`, `$fp` and `$s8` are kept by the kernel, and `asm!` could not declare them lost.

#![cfg_attr(target_arch = "loongarch64", expect(unsafe_code, reason = "the trap instruction"))]

use abi::message::REGISTER_WORDS;
use abi::{CPtr, MessageInfo, Syscall};

/// Message words 0 to 7, which travel in registers (C-7).
pub type Words = [u64; REGISTER_WORDS];

/// Message words of a message that has none.
pub const NO_WORDS: Words = [0; REGISTER_WORDS];

/// What a call takes in registers.
#[derive(Clone, Copy, Debug)]
pub struct Arguments {
    /// `$a0`: what is called, sent to, or received from.
    pub capability: CPtr,
    /// `$a1`: describes the message.
    pub info: MessageInfo,
    /// `$a2`: the Reply to receive with.
    pub reply: CPtr,
    /// The message.
    pub words: Words,
}

impl Arguments {
    /// Nothing but a capability.
    #[inline(always)]
    pub const fn of(capability: CPtr) -> Self {
        Self { capability, info: MessageInfo::new(0, 0), reply: CPtr::NULL, words: NO_WORDS }
    }
}

/// What a call leaves in registers.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// `$a0`: badge of the capability that the sender used.
    pub badge: u64,
    /// `$a1`: describes the message received, or is the kernel's result.
    pub info: MessageInfo,
    /// The message; words past `info.length()` have no meaning.
    pub words: Words,
}

/// The trap itself; `$t0` is an argument of two operations only.
#[cfg(target_arch = "loongarch64")]
macro_rules! native_call {
    ($operation:ident, $arguments:ident, $($destination:tt)*) => {{
        let Arguments { capability, info, reply, words } = $arguments;
        let [w0, w1, w2, w3, w4, w5, w6, w7] = words;
        let (badge, answer): (u64, u64);
        let (r0, r1, r2, r3, r4, r5, r6, r7): (u64, u64, u64, u64, u64, u64, u64, u64);
        // SAFETY: the kernel writes no memory of this thread but its IPC buffer, which is reached by volatile
        // accesses alone; every register that it does not preserve (C-6) is an output here.
        unsafe {
            core::arch::asm!(
                "syscall 0",
                inlateout("$a7") $operation.raw() => _,
                inlateout("$a0") capability.0 => badge,
                inlateout("$a1") info.raw() => answer,
                inlateout("$a2") reply.0 => _,
                $($destination)*,
                inlateout("$a3") w0 => r0,
                inlateout("$a4") w1 => r1,
                inlateout("$a5") w2 => r2,
                inlateout("$a6") w3 => r3,
                inlateout("$s0") w4 => r4,
                inlateout("$s1") w5 => r5,
                inlateout("$s2") w6 => r6,
                inlateout("$s3") w7 => r7,
                // Unused by any call, but they would carry a value of this thread's to the receiver.
                inlateout("$s4") 0_u64 => _,
                inlateout("$s5") 0_u64 => _,
                inlateout("$s6") 0_u64 => _,
                inlateout("$s7") 0_u64 => _,
                inlateout("$ra") 0_u64 => _,
                // The kernel clears or reloads `$r21` and the temporaries itself on every switch.
                lateout("$t1") _, lateout("$t2") _, lateout("$t3") _, lateout("$t4") _,
                lateout("$t5") _, lateout("$t6") _,
                // Temporaries that the hot path does not touch, so they would reach the receiver.
                inlateout("$t7") 0_u64 => _,
                inlateout("$t8") 0_u64 => _,
                options(nostack),
            );
        }
        Received { badge, info: MessageInfo::from_raw(answer), words: [r0, r1, r2, r3, r4, r5, r6, r7] }
    }};
}

/// Enters the kernel.
#[inline(always)]
#[cfg(target_arch = "loongarch64")]
pub fn trap(operation: Syscall, arguments: Arguments) -> Received {
    // `$t0` is no argument: the kernel clears it with the other temporaries on every switch.
    native_call!(operation, arguments, lateout("$t0") _)
}

/// Enters the kernel with a destination for the send half: NBSendRecv and NBSendWait.
#[inline(always)]
#[cfg(target_arch = "loongarch64")]
pub fn trap_to(destination: CPtr, operation: Syscall, arguments: Arguments) -> Received {
    native_call!(operation, arguments, inlateout("$t0") destination.0 => _)
}

/// There is no kernel below a host test: every call is refused by name.
#[cfg(not(target_arch = "loongarch64"))]
pub fn trap(_operation: Syscall, _arguments: Arguments) -> Received {
    Received {
        badge: 0,
        info: MessageInfo::from_kernel(abi::Error::UnknownSyscall.label(), 0),
        words: NO_WORDS,
    }
}

/// The same for a call with a destination.
#[cfg(not(target_arch = "loongarch64"))]
pub fn trap_to(_destination: CPtr, operation: Syscall, arguments: Arguments) -> Received {
    trap(operation, arguments)
}

/// The value of `$tp`: the address of the thread's IPC buffer, 0 in a thread without one.
#[inline(always)]
#[cfg(target_arch = "loongarch64")]
pub fn thread_pointer() -> u64 {
    let value: u64;
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!("move {}, $tp", out(reg) value, options(pure, nomem, nostack, preserves_flags));
    }
    value
}

/// A host test's thread has no IPC buffer.
#[cfg(not(target_arch = "loongarch64"))]
pub fn thread_pointer() -> u64 {
    0
}

/// Makes instructions that this core has written visible to its own fetch (manual volume 1, §2.2.8.2).
#[cfg(target_arch = "loongarch64")]
pub fn instruction_barrier() {
    // SAFETY: a barrier.
    unsafe { core::arch::asm!("ibar 0", options(nostack, preserves_flags)) }
}

/// A host test executes nothing that it writes.
#[cfg(not(target_arch = "loongarch64"))]
pub fn instruction_barrier() {}

/// The stable counter (`rdtime.d`), in ticks.
#[inline(always)]
#[cfg(target_arch = "loongarch64")]
pub fn counter() -> u64 {
    let value: u64;
    // SAFETY: reads a counter.
    unsafe {
        core::arch::asm!("rdtime.d {}, $zero", out(reg) value, options(nomem, nostack, preserves_flags));
    }
    value
}

/// No counter below a host test.
#[cfg(not(target_arch = "loongarch64"))]
pub fn counter() -> u64 {
    0
}
