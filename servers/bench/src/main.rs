//! x
#![cfg_attr(target_os = "none", no_std, no_main)]
runtime::server_main!(serve);
fn serve(_: runtime::server::Server) -> u8 {
    0
}
#[cfg(not(target_os = "none"))]
fn main() {}
