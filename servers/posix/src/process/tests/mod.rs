//! Threads and processes.

mod life;
mod running;
