//! Files: a tree in memory, open files and descriptors, pipes, devices, /proc.
//!
//! A path leads to a [`place::Place`]; a descriptor names an open file, which names a node of the tree, an end of
//! a pipe, a stream of the console, or an entry of /proc. The calls are a file each, by what they are about;
//! [`walk`] is the way from a path, [`data`] the way to a file's bytes, [`tree`] says how long a node lives.

pub mod access;
pub mod attributes;
pub mod control;
pub mod copying;
pub mod cpio;
pub mod data;
pub mod descriptor;
pub mod device;
pub mod directory;
pub mod duplicate;
pub mod event;
pub mod fifo;
pub mod fill;
pub mod folder;
pub mod lock;
pub mod names;
pub mod node;
pub mod open;
pub mod permission;
pub(crate) mod pieces;
pub mod pipe;
pub mod place;
pub mod poll;
pub mod positioned;
pub mod proc;
pub mod rename;
pub mod size;
pub mod statfs;
pub mod status;
mod stream;
pub mod transfer;
pub mod tree;
pub mod walk;
pub mod whereabouts;

#[cfg(test)]
mod tests;

use crate::executor::wait::{QueueId, WaitQueues};
use crate::slots::Slots;
use alloc::boxed::Box;
use alloc::vec::Vec;
use arrayvec::ArrayVec;
use cpio::Damaged;
use descriptor::{Descriptors, DescriptorsId, OpenFile, OpenId};
use event::{Event, EventId};
use lock::Locks;
use node::Time;
use pipe::{Pipe, PipeId};
use tree::{NodeId, Tree};

/// Most open files and descriptor tables of the whole system.
const MOST_OPEN: usize = 1 << 16;
/// Most pipes, and most counters.
const MOST_PIPES: usize = 1 << 14;
/// Paths that calls have in hand at once, for which buffers are kept.
const PATHS: usize = 2;

/// Everything about files.
#[derive(Debug)]
pub struct Files {
    /// The tree.
    pub tree: Tree,
    /// The directory that /proc hides.
    pub proc_at: NodeId,
    /// Open files.
    pub open: Slots<OpenId, OpenFile>,
    /// Tables of descriptors.
    pub descriptors: Slots<DescriptorsId, Descriptors>,
    /// Pipes and FIFOs that are open.
    pub pipes: Slots<PipeId, Pipe>,
    /// Counters.
    pub events: Slots<EventId, Event>,
    /// Threads that wait for signals to be read (signalfd).
    pub signal_arrived: QueueId,
    /// Locks.
    pub locks: Locks,
    /// Threads that wait for standard input.
    pub input_ready: QueueId,
    /// Threads that wait for room in an output stream.
    pub output_ready: QueueId,
    /// The st_ino that was given last to a pipe.
    last_anonymous: u64,
    /// A random number of this start, once somebody asked.
    boot_id: Option<[u8; 16]>,
    /// Buffers that are used again: for paths, for a directory's path and listing, for a page on its way.
    paths: ArrayVec<Box<[u8]>, PATHS>,
    text: Vec<u8>,
    listing: Vec<u8>,
    page: Vec<u8>,
}

impl Files {
    /// The files of an archive; programs may make so many more.
    ///
    /// # Errors
    /// What is wrong with the archive.
    pub fn new(
        archive: &'static [u8],
        now: Time,
        waits: &mut WaitQueues,
        more: usize,
    ) -> Result<Self, Damaged> {
        let mut tree = Tree::new(now);
        tree.fill(archive)?;
        let proc_at = tree.furnish(now);
        tree.allow(more);
        Ok(Self {
            tree,
            proc_at,
            open: Slots::new(MOST_OPEN),
            descriptors: Slots::new(MOST_OPEN),
            pipes: Slots::new(MOST_PIPES),
            events: Slots::new(MOST_PIPES),
            locks: Locks::new(waits),
            input_ready: waits.create(),
            signal_arrived: waits.create(),
            output_ready: waits.create(),
            last_anonymous: 0,
            boot_id: None,
            paths: ArrayVec::new(),
            text: Vec::new(),
            listing: Vec::new(),
            page: Vec::new(),
        })
    }
}
