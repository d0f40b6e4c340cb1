//! The four entries of a host, the dispatch of system calls, and the ways back to a program (C-23 to C-25).
//!
//! | a call by | registers saved | instructions of the host |
//! | --- | --- | --- |
//! | a leaf | none; it uses `$t0` to `$t2` alone | 6 to it, 5 behind it |
//! | `bixi_host_call` | what compiled code may destroy | 6, then 20 to the handler and 22 behind it |
//! | `bixi_host_full_call` | all that a program keeps | 11 more |
//!
//! What is saved goes to the current context's [`registers`](abi::context::Context::registers). A handler that
//! cannot answer at once, or has other work for its core, sets `attention` in the block: then the program's
//! callee-saved registers go to its context too, and the host's `attention` function says what is [`Next`].

/// How a host goes on: what its `fault`, `interrupted` and `attention` functions answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Next {
    how: u64,
    switch_to: u64,
}

impl Next {
    /// Goes back from a system call: all that Linux keeps comes from the context, with `$a0` as its result, and the
    /// pc is the call's.
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

    /// The same after Switch to another context; [`super::Block::context`] is that context's already.
    pub const fn after_switch(self, context: u64) -> Self {
        Self { switch_to: context, ..self }
    }
}

/// Makes the entries of a host, once in its program.
///
/// - `fault`, `interrupted`: `extern "C" fn() -> Next`, the program's registers being in the current context;
/// - `attention`: `extern "C" fn(result: u64) -> Next`, after a call whose handler answered `result`;
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
            "alsl.d $t2, $a7, $t2, 4",
            "ld.d $t2, $t2, {entry}",
            "jirl $zero, $t2, 0",

            // A leaf's end: its result is in `$a0`.
            ".globl bixi_host_leaf_done",
            "bixi_host_leaf_done:",
            "ld.d $t2, $t0, {attention_word}",
            "bnez $t2, 1f",
            "addi.d $t1, $t1, 4",
            "b bixi_host_enter",
            "1:",
            "ld.d $t2, $t0, {context}",
            "bixi_host_save",
            "move $tp, $t0",
            "ld.d $sp, $tp, {stack}",
            "b bixi_host_attention",

            "bixi_host_unknown:",
            "ld.d $t2, $t0, {context}",
            "bixi_host_save",
            "move $tp, $t0",
            "ld.d $sp, $tp, {stack}",
            "ld.d $t1, $tp, {unknown}",
            "b 2f",

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
            "ld.d $t1, $tp, {table}",
            "alsl.d $t1, $a7, $t1, 4",
            "ld.d $t1, $t1, {handler}",
            "2:",
            "jirl $ra, $t1, 0",
            "ld.d $t0, $tp, {attention_word}",
            "ld.d $t2, $tp, {context}",
            "bnez $t0, bixi_host_attention",
            // Back from a call with the result in `$a0`, from the context in `$t2`.
            "bixi_host_return:",
            "ld.d $t1, $t2, 0",
            ".irp number, 1,2,3,5,6,7,8,9,10,11",
            "ld.d $r\\number, $t2, 8 * \\number",
            ".endr",
            "addi.d $t1, $t1, 4",
            ".irp number, 14,15,16,17,18,19,20",
            "move $r\\number, $zero",
            ".endr",
            // The one `break` of the host: Enter, with the pc in `$t1` (C-24).
            ".globl bixi_host_enter",
            "bixi_host_enter:",
            "break 0",

            // The result is in `$a0`, the callee-saved registers are the program's; `$t2` is its context.
            "bixi_host_attention:",
            ".irp number, 21,22,23,24,25,26,27,28,29,30,31",
            "st.d $r\\number, $t2, 8 * \\number",
            ".endr",
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
            "b bixi_host_return",
            "4:",
            "move $s8, $a0",
            "move $a0, $a1",
            "ori $a7, $zero, {switch}",
            "syscall 0",
            "bstrpick.d $t0, $a1, 63, 16",
            "bnez $t0, 6f",
            "move $a0, $s8",
            "b 3b",
            "5:",
            "addi.d $a0, $a0, -1",
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

            // In a routine of `copy`, which uses `$a0` to `$a5` and `$t0` to `$t4` (C-29).
            ".globl bixi_host_own_fault",
            "bixi_host_own_fault:",
            "addi.d $sp, $sp, -96",
            "st.d $ra, $sp, 0",
            ".irp number, 4,5,6,7,8,9",
            "st.d $r\\number, $sp, 8 * \\number - 24",
            ".endr",
            ".irp number, 12,13,14,15,16",
            "st.d $r\\number, $sp, 8 * \\number - 40",
            ".endr",
            "move $a0, $t5",
            "move $a1, $t6",
            "move $a2, $t7",
            "move $a3, $t8",
            "bl {resolve}",
            "move $t5, $a0",
            ".irp number, 4,5,6,7,8,9",
            "ld.d $r\\number, $sp, 8 * \\number - 24",
            ".endr",
            ".irp number, 12,13,14,15,16",
            "ld.d $r\\number, $sp, 8 * \\number - 40",
            ".endr",
            "ld.d $ra, $sp, 0",
            "addi.d $sp, $sp, 96",
            "jirl $zero, $t5, 0",
            ".purgem bixi_host_save",
            ".popsection",
            entries = const $crate::host::block::TABLE_ENTRIES,
            table = const $crate::host::block::BLOCK + core::mem::offset_of!($crate::host::Block, table),
            context = const $crate::host::block::BLOCK + core::mem::offset_of!($crate::host::Block, context),
            stack = const $crate::host::block::BLOCK + core::mem::offset_of!($crate::host::Block, stack),
            attention_word = const $crate::host::block::BLOCK + core::mem::offset_of!($crate::host::Block, attention),
            unknown = const $crate::host::block::BLOCK + core::mem::offset_of!($crate::host::Block, unknown),
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
