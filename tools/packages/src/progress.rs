//! Owns how setup shows that it is working: a spinner on a terminal, one plain line a step elsewhere.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::ProgressBar;

use crate::shell::{Shell, Verbosity};

/// A step of setup that is under way; dropping it takes its spinner away.
#[derive(Debug)]
pub struct Progress(Option<ProgressBar>);

impl Progress {
    /// Says what is being done.
    pub fn start(shell: &Shell, what: &str) -> Self {
        if shell.verbosity() == Verbosity::Verbose || !std::io::stderr().is_terminal() {
            eprintln!("setup: {what}");
            return Self(None);
        }
        let bar = ProgressBar::new_spinner().with_message(format!("setup: {what}"));
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(Some(bar))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.abandon();
        }
    }
}
