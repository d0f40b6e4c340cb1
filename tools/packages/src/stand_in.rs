//! Owns machines for tests: folders of small scripts that stand in for the programs that setup calls.

#![expect(clippy::unwrap_used, reason = "only tests use this, and they end when it fails")]

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::host::{Host, Rustup};
use crate::shell::{Shell, Verbosity};

/// A machine that has the programs it is given, and of the real one only the shell's usual tools.
#[derive(Debug)]
pub struct StandIn {
    folder: tempfile::TempDir,
}

impl StandIn {
    /// Makes a machine without programs, whose apt has one Debian 12 source.
    #[expect(clippy::new_without_default, reason = "it makes a folder")]
    pub fn new() -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap() };
        for folder in ["bin", "tools", "apt/sources.list.d", "checkout"] {
            std::fs::create_dir_all(machine.path(folder)).unwrap();
        }
        for tool in ["cat", "chmod", "grep", "ls", "sh", "touch"] {
            let real = Shell::new(Verbosity::Quiet).find(tool).unwrap();
            std::os::unix::fs::symlink(real, machine.path("tools").join(tool)).unwrap();
        }
        std::fs::write(machine.path("os-release"), "ID=debian\nVERSION_CODENAME=bookworm\n").unwrap();
        let source = "deb [signed-by=/keys.gpg] http://mirror.example/debian bookworm main\n";
        std::fs::write(machine.path("apt/sources.list"), source).unwrap();
        machine
    }

    /// Adds a program; `HERE` in its script stands for the machine's folder.
    pub fn with(self, program: &str, script: &str) -> Self {
        let file = self.path("bin").join(program);
        let script = script.replace("HERE", &self.folder.path().display().to_string());
        // Written by another process: a file that this one has open for writing cannot be executed, and a child that
        // another test's thread is starting holds whatever is open here for a moment.
        let mut writer =
            Command::new("tee").arg(&file).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        write!(writer.stdin.take().unwrap(), "#!/bin/sh\n{script}\n").unwrap();
        assert!(writer.wait().unwrap().success());
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    /// Returns a path on this machine.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns what a script has written to a file in the machine's folder.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Returns a shell that knows this machine's programs only.
    pub fn shell(&self) -> Shell {
        Shell::with_path(std::env::join_paths([self.path("bin"), self.path("tools")]).unwrap())
    }

    /// Returns the machine as setup sees it.
    pub fn host(&self, rustup: Rustup) -> Host {
        Host { rustup, apt_folder: self.path("apt"), os_release: self.path("os-release") }
    }
}
