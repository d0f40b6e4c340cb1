//! Terminals: what is between people who type and programs that read, and job control.
//!
//! A terminal's line discipline is plain data ([`discipline`], with [`receive`] and [`erase`] for what is typed,
//! [`output`] and [`echo`] for what is shown); its settings are [`settings`].

mod character;
pub mod discipline;
pub mod echo;
mod erase;
pub mod input;
pub mod line;
pub mod output;
mod receive;
pub mod settings;
