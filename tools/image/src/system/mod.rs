//! A system description: what its tables mean, and what is refused.
//!
//! Read in this order: `model` (the tables and their keys), `names` (who means whom), `devices` (who owns
//! which registers), `hosting` (hosts and their programs), `limits` (what fits into a server's start information), `order` (who starts first), `compile` (the form that root reads).
//!
//! Every rule has an input that breaks it, in `tests/wrong`.

mod compile;
mod devices;
mod hosting;
mod limits;
mod model;
mod names;
mod order;

pub(crate) use self::model::System;

use crate::mistake::Mistake;

/// A description that passed every rule that needs no other file.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) system: System,
    /// What root reads.
    pub(crate) compiled: Vec<u8>,
}

/// Reads and checks the text of a description.
pub(crate) fn check(text: &str) -> Result<Checked, Mistake> {
    let system = System::read(text)?;
    let ends = names::check(&system)?;
    hosting::check(&system)?;
    let devices = devices::check(&system)?;
    limits::check(&system)?;
    let order = order::check(&system)?;
    let compiled = compile::compile(&system, &ends, &devices, &order)?;
    Ok(Checked { system, compiled })
}
