//! Clocks and sleeping.

pub mod clock;
pub mod sleep;

#[cfg(test)]
mod tests;
