//! What stories are told with.

pub(crate) mod assistant;
pub(crate) mod failure;
pub(crate) mod fault;
pub(crate) mod frame;
pub(crate) mod hosting;
pub(crate) mod shared;
pub(crate) mod stage;
pub(crate) mod word;
