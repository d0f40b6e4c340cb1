//! What both sides of a trap, and the tools, compile against.

#![no_std]

#[cfg(test)]
extern crate std;

pub mod boot_archive;
pub mod description;
mod fields;
