//! Owns how the tools start other programs: every command goes through [`Shell`], so `--verbose` shows all of them.
//!
//! A command's output is kept and shown only when it fails.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use miette::{IntoDiagnostic, Result, WrapErr, miette};

/// How much of what a tool does it tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbosity {
    /// Results only.
    Quiet,
    /// Every command that is executed, and the guest's log.
    Verbose,
}

/// Starts programs, and says so when asked to.
#[derive(Debug, Clone)]
pub struct Shell {
    verbosity: Verbosity,
    /// The search path that programs are looked up in; tests put stand-ins here.
    path: OsString,
}

impl Shell {
    /// Returns a shell that looks programs up in this process's own `PATH`.
    pub fn new(verbosity: Verbosity) -> Self {
        Self { verbosity, path: std::env::var_os("PATH").unwrap_or_default() }
    }

    /// Returns a shell that knows only the programs of the given search path.
    pub fn with_path(path: impl Into<OsString>) -> Self {
        Self { verbosity: Verbosity::Quiet, path: path.into() }
    }

    /// Returns how talkative the user wants the tool to be.
    pub fn verbosity(&self) -> Verbosity {
        self.verbosity
    }

    /// Returns where a program lies, or nothing if it is not installed.
    pub fn find(&self, program: &str) -> Option<PathBuf> {
        std::env::split_paths(&self.path).map(|folder| folder.join(program)).find(|file| {
            file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
        })
    }

    /// Prepares a command that starts the named program of this shell's search path.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.find(program).unwrap_or_else(|| program.into()));
        command.env("PATH", &self.path).stdin(Stdio::null());
        command
    }

    /// Runs a command to its end and returns what it printed, however it ended.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn output(&self, command: &mut Command) -> Result<Output> {
        self.announce(command);
        command.output().into_diagnostic().wrap_err_with(|| format!("cannot start `{}`", words(command)))
    }

    /// Runs a command to its end and returns its standard output; failing is an error with what it printed.
    ///
    /// # Errors
    /// It cannot be started, or it fails.
    pub fn read(&self, command: &mut Command) -> Result<String> {
        let output = self.output(command)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let printed = [output.stdout, output.stderr].concat();
        Err(miette!(
            help = last_lines(&String::from_utf8_lossy(&printed), 30),
            "`{}` failed ({})",
            words(command),
            output.status
        ))
    }

    /// Says what is started, to a user who wants to know.
    pub fn announce(&self, command: &Command) {
        if self.verbosity == Verbosity::Verbose {
            crate::tell!("+ {}", words(command));
        }
    }
}

/// Returns a command as a person would type it.
fn words(command: &Command) -> String {
    let variables = command
        .get_envs()
        .filter(|(name, _)| *name != OsStr::new("PATH"))
        .filter_map(|(name, value)| Some(format!("{}={}", name.display(), quoted(value?))));
    let program = std::iter::once(quoted(command.get_program()));
    variables.chain(program).chain(command.get_args().map(quoted)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+:,./@%~".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Returns the end of a text, at most `count` lines of it.
pub fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(count)..).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_it_would_be_typed() {
        let mut command = Command::new("cargo");
        command.args(["build", "--config", r#"a.b="c d""#]).env("RUSTC_BOOTSTRAP", "1");
        assert_eq!(words(&command), r#"RUSTC_BOOTSTRAP=1 cargo build --config 'a.b="c d"'"#);
    }

    #[test]
    fn a_failing_command_is_an_error_that_names_it() {
        let shell = Shell::new(Verbosity::Quiet);
        let error = shell.read(shell.command("sh").args(["-c", "echo broken; exit 3"])).unwrap_err();
        assert!(error.to_string().contains("exit status: 3"), "{error}");
        assert_eq!(error.help().unwrap().to_string(), "broken");
    }

    #[test]
    fn only_the_last_lines_are_kept() {
        assert_eq!(last_lines("1\n2\n3\n", 2), "2\n3");
        assert_eq!(last_lines("1", 2), "1");
    }
}
