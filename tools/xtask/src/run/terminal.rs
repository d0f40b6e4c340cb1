//! Owns the user's terminal while a guest has it: in raw mode, and as it was before however the command ends: by
//! itself, by a panic, or by a signal.
//!
//! Raw mode begins when the guest reads, so that until then Ctrl-C still ends everything. The one state is static: the
//! panic hook and the thread that hears signals restore the terminal too.

use std::io::{Error, IsTerminal, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use initrd::job::Window;
use machine::{Ender, Happened, Keyboard};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::stdio::{stdin, stdout};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::escape::{Escape, Typed};

/// What was done to the terminal.
enum State {
    /// Nothing yet.
    Untouched,
    /// It is raw; it was so before.
    Raw(Box<Termios>),
    /// It was given back, for good.
    GivenBack,
}

static STATE: Mutex<State> = Mutex::new(State::Untouched);
/// The signal that ends the command; 0 for none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// How long the command has to end by itself after a signal.
const GRACE: Duration = Duration::from_secs(3);
/// A window that a terminal without a size is taken to have.
const USUAL: Window = Window { rows: 24, columns: 80 };

/// The user's terminal.
#[derive(Debug)]
pub(super) struct UserTerminal {
    /// The size that the guest knows.
    window: Window,
}

impl UserTerminal {
    /// The terminal, if standard input and output both are one.
    pub(super) fn find() -> Option<Self> {
        let both = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        both.then(|| Self { window: size() })
    }

    /// The size of its window.
    pub(super) fn window(&self) -> Window {
        self.window
    }

    /// What the user types from now on.
    ///
    /// # Errors
    /// There is no way to hear of signals.
    pub(super) fn keyboard(&self) -> std::io::Result<Box<dyn Keyboard>> {
        let (wake, waker) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        Ok(Box::new(User {
            window: self.window,
            wake,
            waker: Some(waker),
            escape: Escape::default(),
            typed: Vec::new(),
        }))
    }

    /// The signal that ended the run, if one did.
    pub(super) fn signal() -> Option<u8> {
        u8::try_from(SIGNAL.load(Ordering::SeqCst)).ok().filter(|signal| *signal != 0)
    }
}

impl Drop for UserTerminal {
    fn drop(&mut self) {
        give_back();
    }
}

/// The user at the terminal.
struct User {
    window: Window,
    /// Readable when the window may have another size.
    wake: UnixStream,
    waker: Option<UnixStream>,
    escape: Escape,
    /// What was typed and not passed on yet.
    typed: Vec<u8>,
}

impl Keyboard for User {
    fn begin(&mut self, ender: Ender) -> std::io::Result<()> {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            hook(panic);
        }));
        let signals = Signals::new([SIGWINCH, SIGCONT, SIGTERM, SIGHUP, SIGINT, SIGQUIT])?;
        if let Some(waker) = self.waker.take() {
            std::thread::spawn(move || hear(signals, waker, &ender));
        }
        // Who does not see it has the manual.
        let _ = std::io::stderr().write_all(
            b"bixi: `exit` or Ctrl-D ends the shell and powers off; Ctrl-] twice stops the machine.\n",
        );
        make_raw()
    }

    fn next(&mut self, buffer: &mut [u8]) -> std::io::Result<Happened> {
        loop {
            if !self.typed.is_empty() {
                let length = self.typed.len().min(buffer.len());
                let passed: Vec<u8> = self.typed.drain(..length).collect();
                buffer.get_mut(..length).unwrap_or_default().copy_from_slice(&passed);
                return Ok(Happened::Typed(length));
            }
            let window = size();
            if window != self.window {
                self.window = window;
                return Ok(Happened::Window { rows: window.rows, columns: window.columns });
            }
            if self.wait()? == Happened::GiveUp {
                return Ok(Happened::GiveUp);
            }
            if self.typed.is_empty() && self.is_gone()? {
                return Ok(Happened::Gone);
            }
        }
    }
}

impl User {
    /// Waits for keys or a change of the window; keys are read.
    fn wait(&mut self) -> std::io::Result<Happened> {
        let terminal = stdin();
        let mut both = [PollFd::new(&terminal, PollFlags::IN), PollFd::new(&self.wake, PollFlags::IN)];
        poll(&mut both, None)?;
        let [keys, _] = both.map(|entry| entry.revents());
        let mut drained = [0; 64];
        // It only wakes: how often it did so does not count.
        let _ = self.wake.read(&mut drained);
        if keys.is_empty() {
            return Ok(Happened::Typed(0));
        }
        let mut read = [0; 1024];
        let length = match rustix::io::read(terminal, &mut read) {
            // A terminal that was closed.
            Err(Errno::IO) => 0,
            other => other?,
        };
        let keys = read.get(..length).unwrap_or_default();
        Ok(match self.escape.pass(keys, &mut self.typed) {
            Typed::ForGuest => Happened::Typed(length),
            Typed::Stop => Happened::GiveUp,
        })
    }

    /// Whether the terminal is there no more.
    fn is_gone(&self) -> std::io::Result<bool> {
        let terminal = stdin();
        let mut entry = [PollFd::new(&terminal, PollFlags::empty())];
        poll(&mut entry, Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 }))?;
        let [entry] = entry;
        Ok(entry.revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL))
    }
}

/// Hears signals: a new window size, a return from a stop, and those that end the command.
fn hear(mut signals: Signals, mut waker: UnixStream, ender: &Ender) {
    for signal in signals.forever() {
        if signal == SIGCONT {
            // The shell has set the terminal as it likes it meanwhile.
            let _ = make_raw();
        }
        if matches!(signal, SIGCONT | SIGWINCH) {
            // A full pipe wakes too.
            let _ = waker.write(&[0]);
            continue;
        }
        give_back();
        SIGNAL.store(signal, Ordering::SeqCst);
        ender.end();
        std::thread::sleep(GRACE);
        // It did not end by itself.
        let _ = emulate_default_handler(signal);
    }
}

fn size() -> Window {
    match tcgetwinsize(stdout()) {
        Ok(size) if size.ws_row != 0 && size.ws_col != 0 => {
            Window { rows: size.ws_row, columns: size.ws_col }
        }
        _ => USUAL,
    }
}

/// Puts the terminal into raw mode, unless it was given back.
fn make_raw() -> std::io::Result<()> {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = match &*state {
        State::Untouched => tcgetattr(stdin())?,
        State::Raw(before) => before.as_ref().clone(),
        State::GivenBack => return Ok(()),
    };
    let mut raw = before.clone();
    raw.make_raw();
    *state = State::Raw(Box::new(before));
    tcsetattr(stdin(), OptionalActions::Now, &raw).map_err(Error::from)
}

/// Gives the terminal back as it was.
fn give_back() {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    if let State::Raw(before) = std::mem::replace(&mut *state, State::GivenBack) {
        // A terminal that is gone needs nothing.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
    }
}
