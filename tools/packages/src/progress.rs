//! Owns how the tools show that they are working: a spinner on a terminal, with the time that has passed.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::shell::{Shell, Verbosity};

/// A step that is under way; dropping it ends its spinner.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    after: After,
}

/// What stays on the screen when a step is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Line,
    Nothing,
}

impl Progress {
    /// Says what setup is doing: its line stays, and is printed where there is no terminal, too.
    #[must_use]
    pub fn start(shell: &Shell, what: &str) -> Self {
        let what = format!("setup: {what}");
        let bar = spinner(shell, &what);
        if bar.is_none() {
            crate::tell!("{what}");
        }
        Self { bar, after: After::Line }
    }

    /// Says what a person is waiting for; nothing of it stays.
    #[must_use]
    pub fn wait_for(shell: &Shell, what: &str) -> Self {
        Self { bar: spinner(shell, what), after: After::Nothing }
    }
}

fn spinner(shell: &Shell, what: &str) -> Option<ProgressBar> {
    if shell.verbosity() == Verbosity::Verbose || !std::io::stderr().is_terminal() {
        return None;
    }
    let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})").ok()?;
    let bar = ProgressBar::new_spinner().with_style(style).with_message(what.to_owned());
    bar.enable_steady_tick(Duration::from_millis(100));
    Some(bar)
}

impl Drop for Progress {
    fn drop(&mut self) {
        match (&self.bar, self.after) {
            (Some(bar), After::Line) => bar.abandon(),
            (Some(bar), After::Nothing) => bar.finish_and_clear(),
            (None, _) => {}
        }
    }
}
