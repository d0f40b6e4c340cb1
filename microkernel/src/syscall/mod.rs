//! Calls: from `$a7` to the operation, from a message's label to the method.

pub mod arguments;
pub mod dispatch;
pub mod invoke;
