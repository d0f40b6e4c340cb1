//! The four entries of a host, the dispatch of system calls, and the ways back to a program (C-23 to C-25).
//!
//! | a call by | registers saved | instructions of the host |
//! | --- | --- | --- |
//! | a leaf | none; it uses `$t0` to `$t2` alone | 6 to it, 5 behind it |
//! | `bixi_host_call` | what compiled code may destroy | 6, then 18 to the handler and 23 behind it |
//! | `bixi_host_full_call` | all that a program keeps | 11 more |
//!
//! What is saved goes to the current context's [`registers`](abi::context::Context::registers), with the call's own pc.
//! A handler's [`Answer`] says whether the program goes on behind the call at once, or the host's `attention`
//! function is asked what is [`Next`].

/// What a handler answers: an `extern "C" fn` that finds the program's `$a0` to `$a5` in place, [`super::Block::state`]
/// in `$a6` and the call's number in `$a7`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Answer {
    /// The program's `$a0`, when it goes on.
    pub value: u64,
    /// [`Answer::GOES_ON`], or else with the bit [`Answer::KEEP`] set or not.
    pub attention: u64,
}

impl Answer {
    /// The program goes on behind its call.
    pub const GOES_ON: u64 = 0;
    /// `attention` is asked, and the program's other registers go to the current context before.
    pub const KEEP: u64 = 1;
    /// `attention` is asked, and nothing is written to any context: it was replaced, or is nobody's. So do all even
    /// numbers but 0 and [`Answer::ENTER`], and all odd ones as [`Answer::KEEP`]: `attention` is told which it is.
    pub const FORGET: u64 = 2;
    /// Nobody is asked: the current context is entered in full, with [`abi::context::enter`]'s flags in the value.
    pub const ENTER: u64 = 6;

    /// The program goes on with this result.
    pub const fn now(value: u64) -> Self {
        Self { value, attention: Self::GOES_ON }
    }
}

/// How a host goes on: what its `fault`, `interrupted` and `attention` functions answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Next {
    how: u64,
    switch_to: u64,
}

impl Next {
    /// Goes back from a system call: all that Linux keeps comes from the context, `$a0` and where to go on too.
    pub const fn minimal() -> Self {
        Self { how: 0, switch_to: 0 }
    }

    /// Enters with every register of the context.
    pub const fn full() -> Self {
        Self { how: 1, switch_to: 0 }
    }

    /// The same, after the host changed the context's vector state in memory (C-30).
    pub const fn full_with_vectors() -> Self {
        Self { how: 2, switch_to: 0 }
    }

    /// The same with [`abi::context::enter`]'s flags.
    pub const fn full_with(flags: u64) -> Self {
        Self { how: 1 + flags, switch_to: 0 }
    }

    /// The same after Switch to another context; [`super::Block::context`] is that context's already.
    pub const fn after_switch(self, context: u64) -> Self {
        Self { switch_to: context, ..self }
    }
}

/// Makes the entries of a host, once in its program.
///
/// - `fault`, `interrupted`: `extern "C" fn() -> Next`, the program's registers being in the current context;
/// - `attention`: `extern "C" fn(value: u64, attention: u64) -> Next`, after a handler's [`Answer`];
/// - `resolve`: `extern "C" fn(pc, address, access, cause) -> u64`, for a fault of the host's own in a program's
///   memory: `pc` to try again, or where to go on ([`crate::host::copy::fix_up`]);
/// - `refused`: `extern "C" fn(info: u64) -> !`, when the kernel refused Switch or EnterFull.
///
/// Their addresses, for ConfigureHost, are the symbols `bixi_host_system_call`, `bixi_host_fault`,
/// `bixi_host_interrupted` and `bixi_host_own_fault`.
#[macro_export]
macro_rules! host_entries {
    (fault: $fault:path, interrupted: $interrupted:path, attention: $attention:path, resolve: $resolve:path, refused: $refused:path $(,)?) => {
        core::arch::global_asm!(
            ".pushsection .text.bixi_host, \"ax\", @progbits",
            // What compiled code may destroy, to the context in `$t2`; the pc is in `$t1`.
            ".macro bixi_host_save",
            "st.d $t1, $t2, 0",
            ".irp number, 1,2,3,4,5,6,7,8,9,10,11",
            "st.d $r\\number, $t2, 8 * \\number",
            ".endr",
            ".endm",
            // `$t0` block, `$t1` pc; everything else is the program's.
            ".globl bixi_host_system_call",
            "bixi_host_system_call:",
            "ori $t2, $zero, {entries}",
            "bgeu $a7, $t2, bixi_host_unknown",
            "ld.d $t2, $t0, {table}",
            "alsl.d $t3, $a7, $t2, 4",
            "ld.d $t2, $t3, {entry}",
            "jirl $zero, $t2, 0",

            // A leaf's end: its result is in `$a0`.
            ".globl bixi_host_leaf_done",
            "bixi_host_leaf_done:",
            "move $t2, $zero",
            "move $t3, $zero",
            "addi.d $t1, $t1, 4",
            "b bixi_host_enter",

            // The block has its handler where an entry of the table has one.
            "bixi_host_unknown:",
            "addi.d $t3, $t0, {unknown}",
            "b bixi_host_call",

            ".globl bixi_host_full_call",
            "bixi_host_full_call:",
            "ld.d $t2, $t0, {context}",
            ".irp number, 21,22,23,24,25,26,27,28,29,30,31",
            "st.d $r\\number, $t2, 8 * \\number",
            ".endr",
            ".globl bixi_host_call",
            "bixi_host_call:",
            "ld.d $t2, $t0, {context}",
            "bixi_host_save",
            "move $tp, $t0",
            "ld.d $sp, $tp, {stack}",
            "ld.d $t1, $t3, {handler}",
            "ld.d $a6, $tp, {state}",
            "jirl $ra, $t1, 0",
            "ld.d $t2, $tp, {context}",
            "bnez $a1, bixi_host_attention",
            // Back from a call with the result in `$a0`, from the context in `$t2`.
            "bixi_host_return:",
            "ld.d $t1, $t2, 0",
            "addi.d $t1, $t1, 4",
            "bixi_host_return_to:",
            ".irp number, 1,2,3,5,6,7,8,9,10,11",
            "ld.d $r\\number, $t2, 8 * \\number",
            ".endr",
            ".irp number, 14,15,16,17,18,19,20",
            "move $r\\number, $zero",
            ".endr",
            // The one `break` of the host: Enter, with the pc in `$t1` (C-24).
            ".globl bixi_host_enter",
            "bixi_host_enter:",
            "break 0",

            // The answer is in `$a0` and `$a1`, the callee-saved registers are the program's; `$t2` is its context.
            "bixi_host_attention:",
            "andi $t0, $a1, {keep}",
            "beqz $t0, 8f",
            ".irp number, 21,22,23,24,25,26,27,28,29,30,31",
            "st.d $r\\number, $t2, 8 * \\number",
            ".endr",
            "1:",
            "bl {attention}",
            // As `$a0` says, after a Switch to `$a1` if that is not 0.
            ".globl bixi_host_next",
            "bixi_host_next:",
            "bnez $a1, 4f",
            "3:",
            "bnez $a0, 5f",
            ".globl bixi_host_go",
            "bixi_host_go:",
            "ld.d $t2, $tp, {context}",
            ".irp number, 4,21,22,23,24,25,26,27,28,29,30,31",
            "ld.d $r\\number, $t2, 8 * \\number",
            ".endr",
            "ld.d $t1, $t2, 0",
            "b bixi_host_return_to",
            "4:",
            "move $s8, $a0",
            "move $a0, $a1",
            "ori $a7, $zero, {switch}",
            "syscall 0",
            "bstrpick.d $t0, $a1, 63, 16",
            "bnez $t0, 6f",
            "move $a0, $s8",
            "b 3b",
            "8:",
            "addi.d $t0, $a1, -{enter}",
            "bnez $t0, 1b",
            "b 7f",
            "5:",
            "addi.d $a0, $a0, -1",
            "7:",
            "ori $a7, $zero, {enter_full}",
            "syscall 0",
            "6:",
            "move $a0, $a1",
            "bl {refused}",

            ".globl bixi_host_fault",
            "bixi_host_fault:",
            "move $tp, $t0",
            "ld.d $sp, $tp, {stack}",
            "bl {fault}",
            "b bixi_host_next",
            ".globl bixi_host_interrupted",
            "bixi_host_interrupted:",
            "move $tp, $t0",
            "ld.d $sp, $tp, {stack}",
            "bl {interrupted}",
            "b bixi_host_next",

            // In a routine of `copy`, which uses `$a0` to `$a7` and `$t0` to `$t4` (C-29).
            ".globl bixi_host_own_fault",
            "bixi_host_own_fault:",
            "addi.d $sp, $sp, -112",
            "st.d $ra, $sp, 0",
            ".irp number, 4,5,6,7,8,9,10,11,12,13,14,15,16",
            "st.d $r\\number, $sp, 8 * \\number - 24",
            ".endr",
            "move $a0, $t5",
            "move $a1, $t6",
            "move $a2, $t7",
            "move $a3, $t8",
            "bl {resolve}",
            "move $t5, $a0",
            ".irp number, 4,5,6,7,8,9,10,11,12,13,14,15,16",
            "ld.d $r\\number, $sp, 8 * \\number - 24",
            ".endr",
            "ld.d $ra, $sp, 0",
            "addi.d $sp, $sp, 112",
            "jirl $zero, $t5, 0",
            ".purgem bixi_host_save",
            ".popsection",
            entries = const $crate::host::block::TABLE_ENTRIES,
            table = const $crate::host::block::BLOCK + core::mem::offset_of!($crate::host::Block, table),
            context = const $crate::host::block::BLOCK + core::mem::offset_of!($crate::host::Block, context),
            stack = const $crate::host::block::BLOCK + core::mem::offset_of!($crate::host::Block, stack),
            state = const $crate::host::block::BLOCK + core::mem::offset_of!($crate::host::Block, state),
            unknown = const $crate::host::block::BLOCK + core::mem::offset_of!($crate::host::Block, unknown)
                - core::mem::offset_of!($crate::host::TableEntry, handler),
            keep = const $crate::host::Answer::KEEP,
            enter = const $crate::host::Answer::ENTER,
            entry = const core::mem::offset_of!($crate::host::TableEntry, entry),
            handler = const core::mem::offset_of!($crate::host::TableEntry, handler),
            switch = const $crate::abi::Syscall::Switch.raw(),
            enter_full = const $crate::abi::Syscall::EnterFull.raw(),
            fault = sym $fault,
            interrupted = sym $interrupted,
            attention = sym $attention,
            resolve = sym $resolve,
            refused = sym $refused,
        );
    };
}

/// Makes leaves (C-23) that answer a 32-bit number of what [`super::Block::identity`] leads to:
/// `symbol = offset, …`. A leaf touches `$t0` to `$t2` alone.
#[macro_export]
macro_rules! host_leaves {
    ($($symbol:literal = $offset:expr),* $(,)?) => {
        $(core::arch::global_asm!(
            ".pushsection .text.bixi_host, \"ax\", @progbits",
            concat!(".globl ", $symbol),
            concat!($symbol, ":"),
            "ld.d $a0, $t0, {identity}",
            "ld.w $a0, $a0, {offset}",
            "b bixi_host_leaf_done",
            ".popsection",
            identity = const $crate::host::block::BLOCK + core::mem::offset_of!($crate::host::Block, identity),
            offset = const $offset,
        );)*
    };
}

const _: () = assert!(core::mem::offset_of!(abi::context::Context, registers) == 0);
