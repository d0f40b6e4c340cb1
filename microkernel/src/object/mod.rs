//! The kernel's objects, one file a type (C-1).

pub mod asid;
pub mod cnode;
pub mod create;
pub mod debug;
pub mod endpoint;
pub mod frame;
pub mod host;
pub mod interrupt;
pub mod map_many;
pub mod notification;
pub mod page_table;
pub mod reply;
pub mod sched_context;
pub mod sched_control;
pub mod stale;
pub mod stock;
pub mod store;
pub mod thread;
pub mod timer;
pub mod translation;
pub mod untyped;
pub mod vspace;
pub mod window;
