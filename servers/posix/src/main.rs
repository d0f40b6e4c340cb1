//! The POSIX server's program: for now it looks at all that root gave it, says so, and ends the system.

#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod target;

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("posix is a server of Bixi: it runs in an image, see `cargo xtask run --help`");
}
