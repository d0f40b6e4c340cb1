//! Owns what QEMU calls: it sets up the counters, lets QEMU inline the counting, and writes a line at each stop mark.
//!
//! Neighbours: [`crate::class`] and [`crate::opcode`] decide which counters an instruction adds to, once, when it is
//! translated; a mark costs a call, nothing else does.
#![expect(unsafe_code, reason = "talks to QEMU through its C interface")]

mod counters;
mod histogram;
mod options;

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::io::Write;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::ffi;
use crate::line::label;
use counters::{Counters, Counts};
use histogram::Histogram;
use options::Options;

/// The interface version, which QEMU looks up by this name.
#[unsafe(no_mangle)]
pub(crate) static qemu_plugin_version: c_int = ffi::PLUGIN_VERSION;

/// `ori $zero, $zero, 0x5A1`.
const START: u32 = 0x0396_8400;
/// `ori $zero, $zero, 0x5A2`.
const STOP: u32 = 0x0396_8800;

/// The one plugin of this process.
static PLUGIN: OnceLock<Plugin> = OnceLock::new();

/// Everything that the callbacks share.
struct Plugin {
    counters: Counters,
    histogram: Option<Histogram>,
    marks: Mutex<Marks>,
}

/// What the marks change.
struct Marks {
    output: Box<dyn Write + Send>,
    registers: Option<MarkRegisters>,
    open: Option<OpenPair>,
}

/// A start mark without its stop mark yet.
struct OpenPair {
    label: String,
    ops: u64,
    counts: Counts,
}

/// The handles of the registers that a start mark passes: `$a0` and `$a1`.
#[derive(Clone, Copy)]
struct MarkRegisters {
    label: *mut ffi::Register,
    ops: *mut ffi::Register,
}

// SAFETY: the handles are only given back to QEMU, which allows any vCPU's thread to use them.
unsafe impl Send for MarkRegisters {}

/// Called by QEMU when it loads the plugin; 0 means that it is ready.
///
/// # Safety
/// QEMU passes `count` options as C strings.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn qemu_plugin_install(
    id: ffi::PluginId,
    _info: *const ffi::Info,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    // SAFETY: QEMU's promise, passed on.
    let options = unsafe { Options::of_arguments(count, arguments) };
    let installed = options.and_then(|options| install(id, &options));
    match installed {
        Ok(()) => 0,
        Err(message) => {
            eprintln!("counter: {message}");
            1
        }
    }
}

fn install(id: ffi::PluginId, options: &Options) -> Result<(), String> {
    let plugin = Plugin {
        counters: Counters::new(),
        histogram: options.histogram()?.map(Histogram::new),
        marks: Mutex::new(Marks { output: options.output()?, registers: None, open: None }),
    };
    PLUGIN.set(plugin).map_err(|_| "loaded twice".to_owned())?;
    // SAFETY: QEMU gave the id, and the callbacks live as long as the process.
    unsafe { ffi::qemu_plugin_register_vcpu_init_cb(id, find_registers) };
    // SAFETY: as above.
    unsafe { ffi::qemu_plugin_register_vcpu_tb_trans_cb(id, translate) };
    Ok(())
}

/// Called when a vCPU appears: registers can be looked up from then on.
extern "C" fn find_registers(_id: ffi::PluginId, _vcpu: c_uint) {
    let Some(plugin) = PLUGIN.get() else { return };
    let found = counters::find_register(c"r4").zip(counters::find_register(c"r5"));
    let mut marks = plugin.marks.lock().unwrap_or_else(PoisonError::into_inner);
    marks.registers = found.map(|(label, ops)| MarkRegisters { label, ops });
}

/// Called when guest code is translated: says what each of its instructions adds to.
extern "C" fn translate(_id: ffi::PluginId, block: *mut ffi::TranslationBlock) {
    let Some(plugin) = PLUGIN.get() else { return };
    // SAFETY: the block is QEMU's, valid during this call.
    let count = unsafe { ffi::qemu_plugin_tb_n_insns(block) };
    for index in 0..count {
        // SAFETY: the index is below the count that QEMU gave.
        let instruction = unsafe { ffi::qemu_plugin_tb_get_insn(block, index) };
        let mut bytes = [0_u8; 4];
        // SAFETY: the buffer has the length that is passed.
        unsafe { ffi::qemu_plugin_insn_data(instruction, bytes.as_mut_ptr().cast(), bytes.len()) };
        match u32::from_le_bytes(bytes) {
            START => call_at(instruction, at_start),
            STOP => call_at(instruction, at_stop),
            encoding => count_at(plugin, instruction, encoding),
        }
    }
}

fn call_at(instruction: *mut ffi::Instruction, callback: extern "C" fn(c_uint, *mut c_void)) {
    // SAFETY: the instruction is valid while its block is translated; the callback ignores its data.
    unsafe {
        ffi::qemu_plugin_register_vcpu_insn_exec_cb(
            instruction,
            callback,
            ffi::CALLBACK_READS_REGISTERS,
            std::ptr::null_mut(),
        );
    }
}

fn count_at(plugin: &Plugin, instruction: *mut ffi::Instruction, encoding: u32) {
    // SAFETY: the instruction is valid while its block is translated.
    let pc = unsafe { ffi::qemu_plugin_insn_vaddr(instruction) };
    plugin.counters.count(instruction, pc, encoding);
    if let Some(histogram) = &plugin.histogram {
        histogram.count(instruction, pc);
    }
}

extern "C" fn at_start(_vcpu: c_uint, _data: *mut c_void) {
    let Some(plugin) = PLUGIN.get() else { return };
    let mut marks = plugin.marks.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(registers) = marks.registers else { return };
    if let Some(histogram) = &plugin.histogram {
        histogram.start();
    }
    let label = label(counters::read_register(registers.label));
    let ops = counters::read_register(registers.ops);
    marks.open = Some(OpenPair { label, ops, counts: plugin.counters.total() });
}

extern "C" fn at_stop(_vcpu: c_uint, _data: *mut c_void) {
    let Some(plugin) = PLUGIN.get() else { return };
    let mut marks = plugin.marks.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(pair) = marks.open.take() else { return };
    let sample = plugin.counters.total().since(&pair.counts, &pair.label, pair.ops);
    // A reader that went away is found out by the tools: lines are missing.
    let _ = writeln!(marks.output, "{sample}");
    if let Some(histogram) = &plugin.histogram {
        histogram.stop(&pair.label);
    }
}
