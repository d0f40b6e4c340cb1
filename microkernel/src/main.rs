//! The bootable kernel: everything is in the library, from `bixi_start` in `arch/loongarch64/boot.rs` on.
//!
//! Built for the developer's machine it only says what it is, so that host checks cover the workspace.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
use microkernel as _;

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is Bixi's kernel, a bare-metal binary for loongarch64-unknown-none-softfloat.");
    println!("`cargo xtask run` builds and boots it.");
}
