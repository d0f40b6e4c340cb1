//! Owns the part of QEMU's plugin interface (version 4, QEMU 10.0) that the counter uses, and of GLib's arrays.
//!
//! Written by hand because QEMU's packages ship no header; the declarations follow `qemu-plugin.h` of QEMU 10.0.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// The interface version that the plugin asks for: the first with per-vCPU scoreboards and readable registers.
pub(crate) const PLUGIN_VERSION: c_int = 4;

/// `QEMU_PLUGIN_CB_NO_REGS` and `QEMU_PLUGIN_CB_R_REGS`: the callback reads registers.
pub(crate) const CALLBACK_READS_REGISTERS: c_int = 1;

/// `QEMU_PLUGIN_INLINE_ADD_U64`.
pub(crate) const INLINE_ADD: c_int = 0;

pub(crate) type PluginId = u64;

macro_rules! opaque {
    ($($(#[$meta:meta])* $name:ident),*) => {
        $($(#[$meta])* #[repr(C)] pub(crate) struct $name { _private: [u8; 0] })*
    };
}

opaque! {
    /// A block of guest code that is being translated.
    TranslationBlock,
    /// One instruction of it.
    Instruction,
    /// A structure that each vCPU has its own copy of.
    Scoreboard,
    /// A guest register's handle.
    Register,
    /// `qemu_info_t`, which the counter does not read.
    Info
}

/// `qemu_plugin_u64`: one counter of every vCPU's copy of a scoreboard.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Counter {
    pub(crate) scoreboard: *mut Scoreboard,
    pub(crate) offset: usize,
}

/// `qemu_plugin_reg_descriptor`.
#[repr(C)]
pub(crate) struct RegisterDescription {
    pub(crate) handle: *mut Register,
    pub(crate) name: *const c_char,
    pub(crate) feature: *const c_char,
}

/// GLib's `GArray` and `GByteArray`: the public part of both is a pointer and a length.
#[repr(C)]
pub(crate) struct Array<T> {
    pub(crate) data: *mut T,
    pub(crate) length: c_uint,
}

#[expect(unsafe_code, reason = "the interface of QEMU and GLib")]
unsafe extern "C" {
    pub(crate) fn qemu_plugin_register_vcpu_init_cb(id: PluginId, callback: extern "C" fn(PluginId, c_uint));
    pub(crate) fn qemu_plugin_register_vcpu_tb_trans_cb(
        id: PluginId,
        callback: extern "C" fn(PluginId, *mut TranslationBlock),
    );
    pub(crate) fn qemu_plugin_tb_n_insns(block: *const TranslationBlock) -> usize;
    pub(crate) fn qemu_plugin_tb_get_insn(block: *const TranslationBlock, index: usize) -> *mut Instruction;
    pub(crate) fn qemu_plugin_insn_data(
        instruction: *const Instruction,
        to: *mut c_void,
        length: usize,
    ) -> usize;
    pub(crate) fn qemu_plugin_insn_vaddr(instruction: *const Instruction) -> u64;
    pub(crate) fn qemu_plugin_register_vcpu_insn_exec_cb(
        instruction: *mut Instruction,
        callback: extern "C" fn(c_uint, *mut c_void),
        flags: c_int,
        data: *mut c_void,
    );
    pub(crate) fn qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
        instruction: *mut Instruction,
        operation: c_int,
        counter: Counter,
        value: u64,
    );
    pub(crate) fn qemu_plugin_scoreboard_new(size: usize) -> *mut Scoreboard;
    pub(crate) fn qemu_plugin_scoreboard_find(scoreboard: *mut Scoreboard, vcpu: c_uint) -> *mut c_void;
    pub(crate) fn qemu_plugin_num_vcpus() -> c_int;
    pub(crate) fn qemu_plugin_get_registers() -> *mut Array<RegisterDescription>;
    pub(crate) fn qemu_plugin_read_register(register: *mut Register, to: *mut Array<u8>) -> c_int;
    pub(crate) fn g_byte_array_new() -> *mut Array<u8>;
    pub(crate) fn g_byte_array_free(array: *mut Array<u8>, free_data: c_int) -> *mut u8;
    pub(crate) fn g_array_free(array: *mut Array<RegisterDescription>, free_data: c_int) -> *mut c_char;
}
