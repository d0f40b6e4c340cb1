//! Messages between threads.
