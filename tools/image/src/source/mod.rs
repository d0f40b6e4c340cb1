//! From TOML text to typed values, each with its place.
//!
//! Owned here: how a table's keys are read ([`Keys`]) and what is said of a wrong one. What the keys mean
//! belongs to `system`.

mod keys;
mod units;

pub(crate) use self::keys::{Keys, tables};
pub(crate) use self::units::show_bytes;
