//! Programs' memory: areas, frames, page faults, and the calls that change them.
//!
//! [`space::View`] is a space with what changing it needs; the calls are its methods, a file each. What a
//! program could see of a frame before it is given to it is zeros or the file's bytes, nothing else.

pub mod advise;
pub mod ahead;
pub mod area;
pub mod area_map;
pub mod batch;
pub mod brk;
pub mod calls;
pub mod content;
pub mod fault;
pub mod fork;
pub mod frames;
pub mod mmap;
pub mod object;
pub mod page_map;
pub mod protect;
pub mod remap;
pub mod space;

#[cfg(test)]
pub(crate) mod tests;
