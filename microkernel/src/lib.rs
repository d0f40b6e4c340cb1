//! Bixi's kernel: a portable core, and under [`arch`] what a machine must provide.
#![cfg_attr(target_os = "none", no_std)]

pub mod arch;
