//! Where a path can lead, and what a process keeps of the files: its descriptors and its working directory.

use super::descriptor::DescriptorsId;
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
        let Holdings { descriptors, directory } = self.processes.get(parent).ok_or(Errno::ESRCH)?.files;
        let descriptors = match descend {
            Descend::Share => self.files.share_descriptors(descriptors),
            Descend::Copy => self.files.copy_descriptors(descriptors),
        };
        let descriptors = descriptors.ok_or(Errno::ENFILE)?;
        Ok(Holdings { descriptors, directory })
    }

    /// Gives back what a process had: the last user of a table closes what is in it.
    pub fn leave_files(&mut self, holdings: Holdings) {
        self.files.release_descriptors(holdings.descriptors);
    }

    /// The acting thread wrote where nobody reads: SIGPIPE, which [`crate::process`] delivers.
    pub fn broken_pipe(&mut self) {}
}
