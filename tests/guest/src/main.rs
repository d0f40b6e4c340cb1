//! Stories told against the real kernel, in QEMU: each has a name, a result, and a reason when it is skipped.
//!
//! Reading order: [`kit`] is what a story is told with (a stage of memory that is swept after each story,
//! assistants that may die), [`story`] has the stories by subject, and [`run`] tells them all and reports.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(
    target_os = "none",
    expect(
        clippy::result_large_err,
        clippy::large_enum_variant,
        reason = "a failure has its text in it: there is no heap"
    )
)]

#[cfg(target_os = "none")]
mod echo;
#[cfg(target_os = "none")]
mod figures;
#[cfg(target_os = "none")]
mod kit;
#[cfg(target_os = "none")]
mod run;
#[cfg(target_os = "none")]
mod story;
#[cfg(target_os = "none")]
mod victim;

#[cfg(target_os = "none")]
runtime::server_main!(begin);

/// The guest tells stories; another server with the same program is its victim.
#[cfg(target_os = "none")]
fn begin(server: runtime::server::Server) -> u8 {
    match server.arguments().next() {
        Some("victim") => victim::fail(&server),
        Some("echo") => echo::echo(&server),
        Some("figures") => figures::measure(server),
        _ => run::tell_all(server),
    }
}

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("guest runs in an image: see `cargo xtask test --help`");
}
