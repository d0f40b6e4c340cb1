//! Owns looking for room on the disk before anything is built: a compiler or an emulator whose disk is full fails in
//! the middle, with messages of its own.

use std::path::Path;

use miette::{IntoDiagnostic, Result, WrapErr, miette};

use crate::workspace::Workspace;

/// What a command puts on the disk, in MiB, as measured from a fresh clone, and some more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    /// All of it: what is there already counts.
    whole_mib: u64,
    /// Where all of it is there: what is built again beside it, and files that last as long as the command.
    least_mib: u64,
}

/// For `run`: the tool, kernel, servers and the guest's files.
pub(crate) const RUN: Need = Need { whole_mib: 700, least_mib: 150 };
/// For `bench` and `compare`: the same, with a C compiler's files, a counter and Linux.
pub(crate) const MEASURE: Need = Need { whole_mib: 900, least_mib: 200 };
/// For `test`: everything for the developer's machine, too, linted and tested.
pub(crate) const TEST: Need = Need { whole_mib: 2_200, least_mib: 400 };

impl Need {
    /// Refuses to begin where there is too little room.
    pub(crate) fn check(self, workspace: &Workspace) -> Result<()> {
        let target = workspace.target();
        let free_mib = free_mib(&target)?;
        // Only who is short of room needs to know what is there already.
        if free_mib >= self.whole_mib {
            return Ok(());
        }
        self.check_against(free_mib, size_bytes(&target) >> 20, &target)
    }

    fn check_against(self, free_mib: u64, there_mib: u64, target: &Path) -> Result<()> {
        let needed_mib = self.whole_mib.saturating_sub(there_mib).max(self.least_mib);
        if free_mib >= needed_mib {
            return Ok(());
        }
        Err(miette!(
            help = "`cargo clean` removes what older builds have left; CARGO_TARGET_DIR names a folder on another disk",
            "too little room on the disk of {}: {needed_mib} MiB are needed, {free_mib} MiB are free",
            target.display()
        ))
    }
}

/// The room that this user has on a folder's disk; the folder may be still to be made.
fn free_mib(folder: &Path) -> Result<u64> {
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(folder);
    let disk = rustix::fs::statvfs(there)
        .into_diagnostic()
        .wrap_err_with(|| format!("cannot see how much room {} has", there.display()))?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize) >> 20)
}

/// The size of all files in a folder; what cannot be read takes no room.
fn size_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => size_bytes(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_already_needs_no_room() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("below")).unwrap();
        std::fs::write(folder.path().join("below/file"), [0; 3000]).unwrap();
        std::fs::write(folder.path().join("file"), [0; 500]).unwrap();
        assert_eq!(size_bytes(folder.path()), 3500);
        assert_eq!(size_bytes(&folder.path().join("none")), 0);
        let need = Need { whole_mib: 100, least_mib: 10 };
        for (free, there, enough) in
            [(100, 0, true), (99, 0, false), (99, 1, true), (9, 100, false), (10, 100, true)]
        {
            assert_eq!(need.check_against(free, there, folder.path()).is_ok(), enough, "{free} {there}");
        }
        let told = need.check_against(9, 50, Path::new("/t")).unwrap_err().to_string();
        assert_eq!(told, "too little room on the disk of /t: 50 MiB are needed, 9 MiB are free");
    }

    #[test]
    fn a_folder_that_is_not_there_yet_is_on_its_parents_disk() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_mib(&folder.path().join("a/b")).is_ok());
    }
}
