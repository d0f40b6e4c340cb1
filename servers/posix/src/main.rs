//! The POSIX server's program: everything between the library and the machine is in `target`.

#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
extern crate alloc;

#[cfg(target_os = "none")]
mod target;

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("posix is a server of Bixi: it runs in an image, see `cargo xtask run --help`");
}
