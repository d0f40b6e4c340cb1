//! Terminals: what is between people who type and programs that read, and job control.
//!
//! A terminal's line discipline is plain data ([`discipline`], with [`receive`] and [`erase`] for what is typed,
//! [`output`] and [`echo`] for what is shown); its settings are [`settings`]. A [`line`] adds what is typed while it has
//! no room. The terminals that there are lie in a [`table`]: the system's own ([`serial`]) and ptys ([`pty`]). What
//! programs do with them: [`transfer`] (read, write, poll), [`control`] (ioctl), [`job`] (who may, and hang-ups).

mod character;
pub mod control;
pub mod discipline;
pub mod echo;
mod erase;
pub mod input;
pub mod job;
pub mod line;
pub mod output;
mod pty;
mod receive;
mod serial;
pub mod settings;
pub mod table;
pub mod transfer;

#[cfg(test)]
mod tests;
