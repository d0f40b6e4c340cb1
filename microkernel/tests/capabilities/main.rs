//! Stories about capabilities: each says what a user does and sees, on the mock machine.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at what it does not expect")]

mod cnode;
mod deletion;
mod untyped;
mod world;
