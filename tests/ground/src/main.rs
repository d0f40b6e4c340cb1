//! A host that hosts nobody: it looks at everything that root gave it (C-44, C-45) and tells each check's result as
//! a test of the guest's; `cargo xtask test` boots it. An initrd that says so makes it do what a host must not, so
//! that root has something to report.
//!
//! Reading order: [`host`] its start and entries, [`checks`] what is looked at, [`misdeed`] what is not done.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod checks;
#[cfg(target_os = "none")]
mod failure;
#[cfg(target_os = "none")]
mod host;
#[cfg(target_os = "none")]
mod misdeed;
#[cfg(target_os = "none")]
mod spaces;
#[cfg(target_os = "none")]
mod word;

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("ground is a test of Bixi's: `cargo xtask test` boots it");
}
