//! Everything the core may ask of a machine, and the machines there are.

pub mod loongarch64;
