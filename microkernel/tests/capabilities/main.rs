//! Stories about capabilities: each says what a user does and sees, on the mock machine.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at what it does not expect"
)]

mod cnode;
mod deletion;
mod hosts;
mod model;
mod random;
mod table;
mod untyped;
mod world;
