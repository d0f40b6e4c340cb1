//! Capabilities: how they lie in a slot, how an address finds a slot, and how they derive from each other.

pub mod cap;
pub mod codec;
pub mod delete;
pub mod derivation;
mod finalise;
pub mod region;
pub mod space;
