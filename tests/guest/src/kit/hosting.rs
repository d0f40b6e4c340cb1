//! A minimal host (C-20): the guest's own image mapped in the upper half too, a thread there that does what the
//! director says, and programs of a few instructions.
//!
//! Reading order: [`house`] builds it and speaks with it, [`code`] is what runs in the upper half, [`program`]
//! what its programs do.

pub(crate) mod code;
pub(crate) mod house;
pub(crate) mod nap;
pub(crate) mod program;
