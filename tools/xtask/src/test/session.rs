//! Owns the check of `cargo xtask run` as a person uses it: a shell at a terminal, which is a pty here, with jobs that
//! are stopped, go on in the background and in the foreground, and are interrupted; a window that grows; a session
//! that script(1) writes down; the status.

mod terminal;

use miette::Result;
use rustix::termios::Winsize;

use super::{Campaign, Selection, Tally};
use terminal::{ANSWER, BOOT, PROMPT, Session};

const CTRL_C: &str = "\x03";
const CTRL_Z: &str = "\x1a";
const CTRL_D: &str = "\x04";

/// A session.
type Story = fn() -> Result<()>;

const STORIES: [(&str, Story); 4] = [
    ("session: a job is stopped, goes on, is interrupted, and exit 3 is the status", jobs),
    ("session: the same in bash-static", jobs_in_bash),
    ("session: the window's size, a pipe and Ctrl-D", window),
    ("session: script writes down what is done in it", script),
];

/// Runs the sessions; a full campaign has each of them ten times.
pub(crate) fn run(selection: &Selection, campaign: Campaign, tally: &mut Tally) {
    let times = match campaign {
        Campaign::Short => 1,
        Campaign::Full => 10,
    };
    for (name, story) in STORIES.iter().filter(|(name, _)| selection.has(name)) {
        tally.section(name);
        for time in 1..=times {
            let name = if times == 1 { (*name).to_owned() } else { format!("{name}, time {time}") };
            tally.add(&name, story());
        }
    }
}

const WINDOW: Winsize = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };

fn jobs() -> Result<()> {
    jobs_in(Session::start(WINDOW, &[])?, "[1] sleep 100")
}

fn jobs_in_bash() -> Result<()> {
    let prompt = format!("PS1={PROMPT}");
    let words = ["--package", "bash-static", "--env", &prompt, "--", "bash-static", "--norc", "--noprofile"];
    jobs_in(Session::start(WINDOW, &words)?, "[1]+ sleep 100 &")
}

fn jobs_in(mut session: Session, in_background: &str) -> Result<()> {
    session.wait_for(PROMPT, BOOT)?;
    session.begin("sleep 100")?;
    session.press(CTRL_Z, "Stopped")?;
    session.enter("bg", in_background)?;
    session.enter("jobs", "Running")?;
    session.begin("fg")?;
    // The shell names the job once it is in the foreground; a Ctrl-C before that is the shell's own.
    session.wait_for("sleep 100", ANSWER)?;
    session.press(CTRL_C, PROMPT)?;
    session.enter("echo after $?", "after 130")?;
    session.send("exit 3\r")?;
    session.end(3)
}

fn window() -> Result<()> {
    let mut session = Session::start(WINDOW, &[])?;
    session.wait_for(PROMPT, BOOT)?;
    session.enter("stty size", "24 80")?;
    session.resize(Winsize { ws_row: 50, ws_col: 132, ..WINDOW })?;
    // When the shell hears of it is its own affair.
    session.press("stty size\r", "50 132")?;
    session.wait_for(PROMPT, BOOT)?;
    session.enter("tty", "/dev/console")?;
    session.enter("echo one two | wc -w", "2")?;
    session.send(CTRL_D)?;
    session.end(0)
}

/// The shell within sits at a pty of script's, which has the outer window's size.
fn script() -> Result<()> {
    let mut session = Session::start(WINDOW, &["--package", "bsdutils"])?;
    session.wait_for(PROMPT, BOOT)?;
    session.enter("script -q /tmp/written", "built-in shell")?;
    session.enter("tty", "/dev/pts/0")?;
    session.enter("stty size", "24 80")?;
    session.begin("sleep 100")?;
    session.press(CTRL_C, PROMPT)?;
    session.enter("echo with\"\"in $?", "within 130")?;
    session.begin("exit")?;
    session.wait_for(PROMPT, BOOT)?;
    session.enter("tty", "/dev/console")?;
    session.enter("grep -c 'within 130' /tmp/written", "1")?;
    session.send("exit 5\r")?;
    session.end(5)
}
