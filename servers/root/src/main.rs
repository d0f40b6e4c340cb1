//! Root: the first server, made by the kernel itself. It builds the others from the system's description, and
//! then watches them.
//!
//! Reading order is the boot's: [`boot`] what the kernel left, [`plan`] what the description asks for,
//! [`parts`] what is shared between servers (rings, notifications, device pages), [`spawn`] a server from its
//! ELF, [`watch`] what becomes of faults, panics and ends. [`emergency`] writes when nobody else can.
//!
//! Invariant: everything that belongs to one server alone comes from Untypeds of its own, so that revoking
//! those takes it away whole; what two servers share belongs to root.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod boot;
#[cfg(target_os = "none")]
mod devices;
#[cfg(target_os = "none")]
mod emergency;
#[cfg(target_os = "none")]
mod image;
#[cfg(target_os = "none")]
mod information;
#[cfg(target_os = "none")]
mod parts;
#[cfg(target_os = "none")]
mod report;
#[cfg(target_os = "none")]
mod spawn;
#[cfg(target_os = "none")]
mod territory;
#[cfg(target_os = "none")]
mod watch;

#[cfg(target_os = "none")]
runtime::root_main!(watch::run_system, emergency::panicked);

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("root is a server of Bixi: it runs in an image, see `cargo xtask run --help`");
}
