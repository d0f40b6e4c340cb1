//! Who runs: ready queue, release queue, budgets, choice.

pub mod ready_queue;
