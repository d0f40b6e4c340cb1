//! The benchmarks; which ones run is the image's argument.
//!
//! IPC, without one: a client here, a passive server in an address space of its own, marks around each call.
//!
//! Owned here: which operations are measured and under which label. `call` is from the client's mark before its
//! Call to the server's mark after it has received; `reply` from the server's mark before ReplyRecv to the
//! client's mark after its Call; `rt` both ways between the client's marks. A digit is the number of message
//! words, `m` at the end means the runtime's typed methods, which are functions of their own (C-7); without it
//! the trap is inlined. The counter (tools/counter) counts; nothing that a call costs lies outside the marks.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod mapping;
#[cfg(target_os = "none")]
mod measured;
#[cfg(target_os = "none")]
mod run;
#[cfg(target_os = "none")]
mod style;

#[cfg(target_os = "none")]
runtime::server_main!(begin);

#[cfg(target_os = "none")]
fn begin(server: runtime::server::Server) -> u8 {
    match server.arguments().next() {
        Some("map") => mapping::measure(server),
        _ => run::measure(server),
    }
}

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("bench is a server of Bixi: it runs in an image, see `cargo xtask bench --help`");
}
