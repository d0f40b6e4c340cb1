//! Files: a read-only tree from the initial archive, descriptors, and the console's streams.
//!
//! A descriptor names an open file, which names a node of the tree or a stream. What has no place in a
//! read-only tree answers EROFS, as a read-only mount does.

pub mod control;
pub mod cpio;
pub mod descriptor;
pub mod directory;
pub mod duplicate;
pub mod open;
pub mod path;
mod pieces;
pub mod place;
pub mod status;
mod stream;
pub mod transfer;
pub mod tree;

#[cfg(test)]
mod tests;

use crate::executor::wait::{QueueId, WaitQueues};
use crate::slots::Slots;
use cpio::Damaged;
use descriptor::{Descriptors, DescriptorsId, OpenFile, OpenId};
use tree::Tree;

/// Most open files and descriptor tables of the whole system.
const MOST_OPEN: usize = 1 << 16;

/// Everything about files.
#[derive(Debug)]
pub struct Files {
    /// The tree.
    pub tree: Tree,
    /// Open files.
    pub open: Slots<OpenId, OpenFile>,
    /// Tables of descriptors, one a process.
    pub descriptors: Slots<DescriptorsId, Descriptors>,
    /// Threads that wait for standard input.
    pub input_ready: QueueId,
    /// Threads that wait for room in an output stream.
    pub output_ready: QueueId,
}

impl Files {
    /// The files of an archive.
    ///
    /// # Errors
    /// What is wrong with the archive.
    pub fn new(archive: &'static [u8], waits: &mut WaitQueues) -> Result<Self, Damaged> {
        Ok(Self {
            tree: Tree::new(archive)?,
            open: Slots::new(MOST_OPEN),
            descriptors: Slots::new(MOST_OPEN),
            input_ready: waits.create(),
            output_ready: waits.create(),
        })
    }
}
