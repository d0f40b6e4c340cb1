//! Where a path can lead, and what a process keeps of the files: its descriptors and its working directory.

use super::descriptor::{DescriptorsId, OpenId};
use super::proc::Entry;
use super::tree::{NodeId, ROOT};
use crate::Errno;
use crate::host::Host;
use crate::process::ProcessId;
use crate::server::Server;

/// Something that a path can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A node of the tree in memory.
    Node(NodeId),
    /// Something in /proc.
    Proc(Entry),
    /// An open file that has no name: a pipe or a stream, reached through /proc.
    Open(OpenId),
}

impl Place {
    /// The root directory.
    pub const ROOT: Self = Self::Node(ROOT);
}

/// What a process has of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holdings {
    /// Its table of descriptors.
    pub descriptors: DescriptorsId,
    /// Its working directory.
    pub directory: Place,
    /// The file of the program that it runs.
    pub program: Option<NodeId>,
}

/// Whether a new process has its parent's descriptors or a copy of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descend {
    /// The same table (CLONE_FILES).
    Share,
    /// A table of its own with the same open files.
    Copy,
}

impl<H: Host> Server<H> {
    /// What a child of a process has of the files. Whoever gets it gives it back to [`Server::leave_files`].
    ///
    /// # Errors
    /// ENFILE when there are too many tables.
    pub fn descend_files(&mut self, parent: ProcessId, descend: Descend) -> Result<Holdings, Errno> {
        let Holdings { descriptors, directory, program } =
            self.processes.get(parent).ok_or(Errno::ESRCH)?.files;
        let descriptors = match descend {
            Descend::Share => self.files.share_descriptors(descriptors),
            Descend::Copy => self.copy_descriptors(descriptors),
        };
        let descriptors = descriptors.ok_or(Errno::ENFILE)?;
        self.hold_place(directory);
        if let Some(program) = program {
            self.run_program(program);
        }
        Ok(Holdings { descriptors, directory, program })
    }

    /// Gives back what a process had: the last user of a table closes what is in it.
    pub fn leave_files(&mut self, holdings: Holdings) {
        self.release_descriptors(holdings.descriptors);
        self.release_place(holdings.directory);
        if let Some(program) = holdings.program {
            self.give_up_program(program);
        }
    }

    /// A process runs a file from now on: it stays, and nobody may write it (ETXTBSY).
    pub fn run_program(&mut self, id: NodeId) {
        if let Some(node) = self.files.tree.get_mut(id) {
            node.holders += 1;
            node.writers -= 1;
        }
    }

    /// A process does not run a file any more.
    pub fn give_up_program(&mut self, id: NodeId) {
        if let Some(node) = self.files.tree.get_mut(id) {
            node.writers += 1;
        }
        self.release_node(id);
    }

    /// The acting thread wrote where nobody reads: SIGPIPE. It is delivered when the call ends.
    pub fn broken_pipe(&mut self) {
        self.send_self(crate::signal::number::Signal::SIGPIPE);
    }

    /// A place stays, whatever becomes of its names.
    pub fn hold_place(&mut self, place: Place) {
        if let Place::Node(id) = place {
            self.files.tree.hold(id);
        }
    }

    /// A place is needed no longer.
    pub(super) fn release_place(&mut self, place: Place) {
        if let Place::Node(id) = place {
            self.release_node(id);
        }
    }

    /// A node is needed no longer.
    #[inline]
    pub(crate) fn release_node(&mut self, id: NodeId) {
        let left = self.files.tree.release(id);
        self.free_left(left);
    }
}
