//! Programs: from an ELF file to a space, a stack and registers.
//!
//! A program is loaded into a space of its own, which takes the old one's place only when everything has
//! succeeded ([`load`]). What a program finds at its start is laid out in [`stack`].

pub mod elf;
pub mod execve;
pub mod layout;
pub mod load;
pub mod stack;
pub mod vdso;
pub mod words;

#[cfg(test)]
mod tests;
