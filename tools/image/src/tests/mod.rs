//! Whole builds with a kernel and programs made by hand (`fixture`), and what they refuse.

mod fixture;
mod placed;
mod random;
mod wrong;
