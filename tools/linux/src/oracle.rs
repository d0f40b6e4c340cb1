//! Owns a run: files and programs in, what each program wrote and how it ended out.

use std::path::{Path, PathBuf};
use std::time::Duration;

use machine::{Emulator, Machine, Verdict};
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use packages::compiler::{Compiler, Linking, Recipe};
use packages::loong64::Loong64;

use crate::kernel::Kernel;
use crate::plan;
use crate::program::{Group, Outcome, Program};
use crate::report;
use initrd::cpio::Archive;

/// Frames on the second line, the log on the first; a kernel that panics ends the run. Without ACPI the probe for a
/// keyboard controller crashes.
const COMMAND_LINE: &str =
    "console=ttyS0,115200 rdinit=/init initcall_blacklist=i8042_init nokaslr quiet panic=-1";

/// How long Linux may take beside the programs: to boot, to switch between them, and to end.
const OWN_TIME: Duration = Duration::from_secs(60);

/// How many lines of Linux's log an error shows.
const LOG_LINES: usize = 40;

/// Linux for LoongArch, ready to run programs.
#[derive(Clone, Debug)]
pub struct Oracle {
    kernel: Kernel,
    init: PathBuf,
}

impl Oracle {
    /// Provides Debian's kernel and the guest's first process.
    ///
    /// # Errors
    /// A package cannot be had, or the first process cannot be compiled.
    pub fn provide(loong64: &Loong64<'_>, compiler: &Compiler) -> Result<Self> {
        let kernel = Kernel::provide(loong64)?;
        let init = loong64.setup_folder().join("linux").join("init");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("init").join("init.c");
        let recipe = Recipe { sources: &[source], headers: &[], options: &[], linking: Linking::Static };
        compiler.build(loong64.shell(), &recipe, &init)?;
        Ok(Self { kernel, init })
    }

    /// Returns the version of Debian's kernel.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.kernel.version
    }

    /// Runs groups of programs in one boot and returns what each program did, in order.
    ///
    /// # Errors
    /// Linux did not come to its end; the error shows its log.
    pub fn run(&self, files: &Archive, groups: &[Group]) -> Result<Vec<Outcome>> {
        let folder = tempfile::Builder::new().prefix("bixi-").tempdir().into_diagnostic()?;
        let initrd = folder.path().join("initrd");
        std::fs::write(&initrd, self.initrd(files, groups)?).into_diagnostic()?;
        let mut machine = Machine::new(&self.kernel.image);
        machine.command_line = Some(COMMAND_LINE.into());
        machine.initrd = Some(initrd);
        machine.timeout = groups.iter().map(|group| group.time_limit).sum::<Duration>() + OWN_TIME;
        let run = machine.run(&Emulator::find()?, |_, _| {})?;
        let programs = groups.iter().map(|group| group.programs.len()).sum();
        if run.verdict == (Verdict::Passed { exit_code: 0 }) {
            return Ok(report::outcomes(&run.output, programs));
        }
        let log = packages::shell::last_lines(&run.log, LOG_LINES);
        Err(miette!(help = log, "Linux {} {}", self.version(), run.verdict))
    }

    /// Runs one program in a boot of its own.
    ///
    /// # Errors
    /// As for [`Self::run`].
    pub fn run_one(&self, files: &Archive, program: Program, time_limit: Duration) -> Result<Outcome> {
        let outcomes = self.run(files, &[Group { programs: vec![program], time_limit }])?;
        outcomes.into_iter().next().ok_or_else(|| miette!("Linux ran no program"))
    }

    fn initrd(&self, files: &Archive, groups: &[Group]) -> Result<Vec<u8>> {
        let init = std::fs::read(&self.init)
            .into_diagnostic()
            .wrap_err_with(|| format!("cannot read {}", self.init.display()))?;
        let mut archive = files.clone();
        archive
            .folder("dev", 0o755)
            .character_device("dev/console", 0o600, (5, 1))
            .file("init", 0o755, &init);
        plan::add(&mut archive, groups);
        Ok(archive.finish())
    }
}
