//! Threads and processes.

mod children;
mod life;
mod running;
mod shortage;
