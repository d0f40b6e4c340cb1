//! Programs for Linux's system calls that must do on Bixi what they do on Linux.
//!
//! `programs/` has their sources, small ones that print `ok` or what differs; `manifest.toml` lists the tests that are
//! made of them; `recorded.toml` has what each test did on Linux. It is written by a run there and by nothing else:
//! `cargo xtask compare --record`.
//!
//! Reading order: [`manifest`] (which tests there are), [`build`] (the programs), [`recorded`] (what is
//! right), [`on_linux`] and [`on_bixi`] (a run there), [`campaign`] (one program again and
//! again on Bixi), [`random_code`] (one that is made for that). [`figures`] are what
//! operations cost, by `benchmarks/`.

pub mod build;
pub mod campaign;
pub mod figures;
pub mod manifest;
pub mod on_bixi;
pub mod on_linux;
pub mod random_code;
pub mod recorded;

/// The environment of every test.
pub const ENVIRONMENT: [&str; 2] = ["PATH=/usr/bin:/bin", "HOME=/"];

/// Returns this crate's folder in the checkout.
fn folder() -> &'static std::path::Path {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
}
