//! QEMU plugin that counts what a LoongArch guest executes between two marks.
//!
//! A guest marks with instructions that do nothing: `ori $zero, $zero, 0x5A1` starts (`$a0` holds a label of up to
//! eight characters, `$a1` how many operations lie between the marks), `ori $zero, $zero, 0x5A2` stops and writes one
//! line. What is counted is exact and the same on every machine: instructions by the address they run at
//! ([`class`]), loads, stores and CSR accesses by their opcode ([`opcode`]). The marks themselves do not count;
//! everything else between them does, interrupts too.
//!
//! `plugin` is the part that QEMU calls; the counting itself is done by code that QEMU inlines, so that only marks cost
//! a call. [`line`] is the plugin's output, written here and read by the tools.

pub mod class;
pub mod line;
pub mod opcode;

// Neither a test nor a reader of the output has a QEMU to link against.
#[cfg(all(feature = "plugin", not(test)))]
mod ffi;
#[cfg(all(feature = "plugin", not(test)))]
mod plugin;
