//! The LoongArch64 machine: start-up, registers, translation, interrupts, devices of QEMU's `virt` board.
//!
//! Owns every privileged instruction and every device register that the kernel touches. What is plain
//! data ([`machine_description`]) is compiled and tested on the developer's machine too; the rest exists
//! on the bare machine alone. Numbers and behaviour are those of the LoongArch reference manual, volume 1
//! ("manual" below), and of QEMU's `virt` board as 10.0.2 has it.

pub mod machine_description;

#[cfg(target_os = "none")]
pub mod boot;
#[cfg(target_os = "none")]
pub mod cpu;
#[cfg(target_os = "none")]
pub mod crash;
#[cfg(target_os = "none")]
pub mod firmware;
#[cfg(target_os = "none")]
pub mod hosted_fault;
#[cfg(target_os = "none")]
pub mod hosted_path;
#[cfg(target_os = "none")]
pub mod hot_path;
#[cfg(target_os = "none")]
pub mod interrupt_controller;
#[cfg(target_os = "none")]
pub mod machine;
#[cfg(target_os = "none")]
pub mod paging;
#[cfg(target_os = "none")]
pub mod power;
#[cfg(target_os = "none")]
pub mod registers;
#[cfg(target_os = "none")]
pub mod selftest;
#[cfg(target_os = "none")]
pub mod start;
#[cfg(target_os = "none")]
pub mod timer;
#[cfg(target_os = "none")]
pub mod tlb_refill;
#[cfg(target_os = "none")]
pub mod trap;
#[cfg(target_os = "none")]
pub mod uart;
#[cfg(target_os = "none")]
pub mod vector;
#[cfg(target_os = "none")]
pub mod window;
