//! The ways in: a call of the slow path, an exception, an interrupt. Each leaves the thread to run in
//! [`crate::kernel::Core::current`]; the machine's exit code does the rest.
