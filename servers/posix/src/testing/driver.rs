//! Drives the server as the target's trampolines do: a program's call goes in, and who runs next comes out.

use super::archive::Archive;
use super::program;
use crate::dispatch::Arguments;
use crate::dispatch::entries::{self, Answer};
use crate::host::{ContextId, Exit};
use crate::mock::Mock;
use crate::process::schedule::{Next, Posix};
use crate::process::{Pid, ThreadId};
use crate::program::stack::Strings;
use crate::server::{Resources, Server};
use crate::user::UserSlice;
use std::boxed::Box;
use std::vec::Vec;

/// A server with the processor that runs its programs.
pub(crate) struct Driver {
    pub(crate) posix: Posix<Mock>,
    /// What the processor does.
    pub(crate) next: Next,
}

/// Where [`Driver::with_scratch`] maps its page.
pub(crate) const SCRATCH: u64 = 0x10_0000_0000;

impl Driver {
    /// A server with these files.
    pub(crate) fn with_files(archive: Archive) -> Self {
        Self::on(Mock::new(), archive)
    }

    pub(crate) fn on(mock: Mock, archive: Archive) -> Self {
        let archive = Box::leak(archive.finish().into_boxed_slice());
        let resources = Resources { window_pages: &[1000, 500], spaces: 8, contexts: 16, archive };
        Self { posix: Posix::new(Server::new(mock, &resources).unwrap()), next: Next::Idle }
    }

    /// A server on which one usual program runs, with four writable pages at [`SCRATCH`].
    pub(crate) fn with_scratch() -> Self {
        Self::scratch_on(Mock::new())
    }

    pub(crate) fn scratch_on(mock: Mock) -> Self {
        let files = Archive::default()
            .directory("bin")
            .file("bin/program", 0o755, &program::usual())
            .file("text", 0o644, b"some text\n")
            .link("link", "text");
        let mut driver = Self::on(mock, files);
        driver.start("/bin/program").unwrap();
        assert_eq!(driver.call(222, [SCRATCH, 0x1_0000, 3, 0x32, 0, 0]), Some(SCRATCH));
        driver
    }

    /// Starts a program; it runs if nothing else does.
    pub(crate) fn start(&mut self, path: &str) -> Result<Pid, crate::Errno> {
        let bytes = |text: &str| text.as_bytes().to_vec();
        let strings = Strings {
            path: bytes(path),
            arguments: [bytes(path), bytes("-x")].into_iter().collect(),
            environment: [bytes("HOME=/")].into_iter().collect(),
        };
        let pid = self.server().start(strings, crate::file::place::Place::ROOT)?;
        if !matches!(self.next, Next::Enter(..)) {
            self.next = self.posix.schedule();
        }
        Ok(pid)
    }

    pub(crate) fn server(&mut self) -> &mut Server<Mock> {
        self.posix.server().unwrap()
    }

    /// The context that the processor runs.
    pub(crate) fn context(&self) -> Option<ContextId> {
        match self.next {
            Next::Enter(context, _) => Some(context),
            _ => None,
        }
    }

    /// The running program makes a call; its result, or `None` when it does not go on at once.
    pub(crate) fn call(&mut self, number: u64, words: [u64; 6]) -> Option<u64> {
        assert!(self.context().is_some(), "a call while nothing runs");
        let answer = entries::call(&mut self.posix, number, Arguments::new(words));
        if answer.next == Answer::GOES_ON {
            let server = self.server();
            let waits = !server.ready.is_empty() && server.armed_ns.is_none();
            assert!(!waits, "call {number} left others ready and no alarm for them");
            return Some(answer.value);
        }
        self.next = match answer.next {
            Answer::SIGNALS => match self.posix.signalled(answer.value) {
                Ok(_) => Next::Enter(self.context().unwrap(), Exit::Full),
                Err(next) => next,
            },
            Answer::REPLACED => self.posix.replaced(),
            Answer::ENTER => Next::Enter(self.context().unwrap(), Exit::Full),
            _ => self.posix.schedule(),
        };
        None
    }

    /// As [`Driver::call`], with Linux's errors told apart.
    pub(crate) fn result(&mut self, number: u64, words: [u64; 6]) -> Result<u64, crate::Errno> {
        let value = self.call(number, words).expect("an answer at once");
        match crate::Errno::from_raw(value.wrapping_neg()) {
            Some(error) => Err(error),
            None => Ok(value),
        }
    }

    /// Nothing runs: what happened outside is told, and somebody is chosen.
    pub(crate) fn wake(&mut self) {
        self.server().alarm();
        self.next = self.posix.schedule();
    }

    /// `$a0` of the running context.
    pub(crate) fn a0(&mut self) -> u64 {
        let context = self.context().unwrap();
        self.server().host.context(context).registers.general[4]
    }

    pub(crate) fn poke(&mut self, address: u64, bytes: &[u8]) {
        let slice = UserSlice::new(address, bytes.len() as u64).unwrap();
        self.server().view().unwrap().write_bytes(bytes, slice).unwrap();
    }

    pub(crate) fn peek(&mut self, address: u64, bytes: usize) -> Vec<u8> {
        let mut read = std::vec![0; bytes];
        let slice = UserSlice::new(address, bytes as u64).unwrap();
        self.server().view().unwrap().read_bytes(slice, &mut read).unwrap();
        read
    }

    pub(crate) fn peek_word(&mut self, address: u64) -> u64 {
        u64::from_le_bytes(self.peek(address, 8).try_into().unwrap())
    }

    /// The running thread.
    pub(crate) fn thread(&mut self) -> ThreadId {
        self.server().acting.unwrap().thread
    }

    /// Makes a thread with the usual flags of pthread_create; its tid.
    pub(crate) fn clone_thread(&mut self, stack: u64, word: u64) -> u64 {
        self.call(220, [0x7d_0f00, stack, word, word, 0x7000, 0]).unwrap()
    }
}
