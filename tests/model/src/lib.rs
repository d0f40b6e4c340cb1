//! Checks of the hot path on the developer's machine (C-12, C-70).
//!
//! [`section`] takes the hot path's bytes from the kernel's ELF, [`instruction`] decodes them, [`permitted`]
//! holds them to the list of C-12, and [`interpreter`] runs them on the mock machine's memory.

pub mod host_text;
pub mod instruction;
pub mod interpreter;
pub mod permitted;
pub mod section;
pub mod world;
