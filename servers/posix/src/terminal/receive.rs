//! Characters as they are typed: signals, flow control, editing, echo.

use super::character;
use super::discipline::{Discipline, Erasing, Next, Received, Signals};
use super::echo::Echo;
use super::output::Held;
use super::settings::{DISABLED, InputModes, LocalModes, Special};
use crate::process::Signal;

/// Whether a character was dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handled {
    Yes,
    No,
}

/// The byte that marks what PARMRK marks; a real one is doubled.
const MARK: u8 = 0xff;

impl Discipline {
    /// Bytes were typed, all of them together.
    pub fn receive(&mut self, bytes: &[u8]) -> Received {
        let mut received = Received::default();
        // What is shown of this block does not reach the other end before the block is over.
        self.output.give();
        while let Some(rest) = bytes.get(received.taken..).filter(|rest| !rest.is_empty()) {
            let room = self.room().min(rest.len());
            if room == 0 {
                break;
            }
            self.receive_block(rest.get(..room).unwrap_or(rest), &mut received.signals);
            received.taken += room;
        }
        received
    }

    fn receive_block(&mut self, bytes: &[u8], signals: &mut Signals) {
        let strips = self.settings.input.contains(InputModes::ISTRIP) || self.lowers();
        if !self.edits() || self.has(LocalModes::EXTPROC) && !strips {
            bytes.iter().for_each(|byte| self.input.push(*byte));
            return;
        }
        for byte in bytes {
            self.receive_one(*byte, signals);
        }
        if self.settings.local.intersects(LocalModes::ECHO | LocalModes::ECHONL) {
            self.echoes.flush(&mut self.output, &self.settings);
        }
    }

    /// Whether anything is done to what is typed.
    fn edits(&self) -> bool {
        let input = InputModes::ISTRIP
            | InputModes::IUCLC
            | InputModes::IGNCR
            | InputModes::ICRNL
            | InputModes::INLCR
            | InputModes::IXON
            | InputModes::PARMRK;
        let local = LocalModes::ICANON | LocalModes::ISIG | LocalModes::ECHO;
        self.settings.input.intersects(input) || self.settings.local.intersects(local)
    }

    fn lowers(&self) -> bool {
        self.settings.input.contains(InputModes::IUCLC) && self.has(LocalModes::IEXTEN)
    }

    fn receive_one(&mut self, byte: u8, signals: &mut Signals) {
        let mut byte = byte;
        if self.settings.input.contains(InputModes::ISTRIP) {
            byte &= 0x7f;
        }
        if self.lowers() {
            byte = character::to_lower(byte);
        }
        if self.next == Next::Literal {
            self.next = Next::Usual;
            self.receive_plain(byte);
        } else if self.has(LocalModes::EXTPROC) {
            self.input.push(byte);
        } else if self.is_special(byte) {
            self.receive_special(byte, signals);
        } else {
            self.receive_plain(byte);
        }
    }

    fn receive_plain(&mut self, byte: u8) {
        self.any_lets_go();
        if self.has(LocalModes::ECHO) {
            self.finish_erasing();
            self.note_line_start();
            self.echo_character(byte);
            self.commit_echoes();
        }
        self.keep(byte);
    }

    fn receive_special(&mut self, byte: u8, signals: &mut Signals) {
        if self.receive_flow_control(byte) == Handled::Yes
            || self.receive_signal(byte, signals) == Handled::Yes
        {
            return;
        }
        self.any_lets_go();
        let input = self.settings.input;
        let byte = match byte {
            b'\r' if input.contains(InputModes::IGNCR) => return,
            b'\r' if input.contains(InputModes::ICRNL) => b'\n',
            b'\n' if input.contains(InputModes::INLCR) => b'\r',
            byte => byte,
        };
        if self.has(LocalModes::ICANON) && self.receive_editing(byte) == Handled::Yes {
            return;
        }
        if self.has(LocalModes::ECHO) {
            self.finish_erasing();
            if byte == b'\n' {
                self.echo(Echo::Plain(byte));
            } else {
                self.note_line_start();
                self.echo_character(byte);
            }
            self.commit_echoes();
        }
        self.keep(byte);
    }

    fn receive_flow_control(&mut self, byte: u8) -> Handled {
        if !self.settings.input.contains(InputModes::IXON) {
            return Handled::No;
        }
        if self.settings.is(Special::Start, byte) {
            self.let_go();
            self.show_echoes();
            return Handled::Yes;
        }
        if !self.settings.is(Special::Stop, byte) {
            return Handled::No;
        }
        if self.output.held == Held::No {
            self.output.held = Held::Typed;
        }
        Handled::Yes
    }

    fn receive_signal(&mut self, byte: u8, signals: &mut Signals) -> Handled {
        if !self.has(LocalModes::ISIG) {
            return Handled::No;
        }
        let signal = if self.settings.is(Special::Interrupt, byte) {
            Signal::SIGINT
        } else if self.settings.is(Special::Quit, byte) {
            Signal::SIGQUIT
        } else if self.settings.is(Special::Suspend, byte) {
            Signal::SIGTSTP
        } else {
            return Handled::No;
        };
        signals.add(signal);
        if !self.has(LocalModes::NOFLSH) {
            self.echoes.clear();
            self.output.flush();
            self.input.clear();
            self.erasing = Erasing::No;
        }
        if self.settings.input.contains(InputModes::IXON) {
            self.let_go();
        }
        if self.has(LocalModes::ECHO) {
            self.echo_character(byte);
            self.commit_echoes();
        } else {
            self.show_echoes();
        }
        Handled::Yes
    }

    /// Characters that edit or end a line.
    fn receive_editing(&mut self, byte: u8) -> Handled {
        let extended = self.has(LocalModes::IEXTEN);
        let is = |which| self.settings.is(which, byte);
        if is(Special::Erase) || is(Special::Kill) || is(Special::WordErase) && extended {
            self.erase(byte);
            self.commit_echoes();
        } else if is(Special::LiteralNext) && extended {
            self.receive_literal_next();
        } else if is(Special::Reprint) && extended && self.has(LocalModes::ECHO) {
            self.reprint(byte);
        } else if byte == b'\n' {
            if self.settings.local.intersects(LocalModes::ECHO | LocalModes::ECHONL) {
                self.echo(Echo::Plain(byte));
                self.commit_echoes();
            }
            self.input.end_line(byte);
        } else if is(Special::EndOfFile) {
            self.input.end_line(DISABLED);
        } else if is(Special::EndOfLine) || is(Special::EndOfLine2) && extended {
            self.end_line(byte);
        } else {
            return Handled::No;
        }
        Handled::Yes
    }

    fn receive_literal_next(&mut self) {
        self.next = Next::Literal;
        if self.has(LocalModes::ECHO) {
            self.finish_erasing();
            if self.has(LocalModes::ECHOCTL) {
                self.echo(Echo::Plain(b'^'));
                self.echo(Echo::Plain(8));
                self.commit_echoes();
            }
        }
    }

    fn reprint(&mut self, byte: u8) {
        self.finish_erasing();
        self.echo_character(byte);
        self.echo(Echo::Plain(b'\n'));
        let line: alloc::vec::Vec<u8> = self.input.unfinished_bytes().collect();
        for byte in line {
            self.echo_character(byte);
        }
        self.commit_echoes();
    }

    fn end_line(&mut self, byte: u8) {
        if self.has(LocalModes::ECHO) {
            self.note_line_start();
            self.echo_character(byte);
            self.commit_echoes();
        }
        if byte == MARK && self.settings.input.contains(InputModes::PARMRK) {
            self.input.push(byte);
        }
        self.input.end_line(byte);
    }

    fn keep(&mut self, byte: u8) {
        if byte == MARK && self.settings.input.contains(InputModes::PARMRK) {
            self.input.push(byte);
        }
        self.input.push(byte);
    }

    /// IXANY: any character lets output go that STOP holds.
    fn any_lets_go(&mut self) {
        if self.output.held == Held::Typed
            && self.settings.input.contains(InputModes::IXON | InputModes::IXANY)
        {
            self.let_go();
            self.show_echoes();
        }
    }

    fn note_line_start(&mut self) {
        if self.input.unfinished() == 0 {
            self.echo(Echo::LineStart);
        }
    }

    pub(super) fn finish_erasing(&mut self) {
        if self.erasing == Erasing::Shown {
            self.echo(Echo::Plain(b'/'));
            self.erasing = Erasing::No;
        }
    }

    pub(super) fn echo_character(&mut self, byte: u8) {
        let marked = self.has(LocalModes::ECHOCTL) && character::is_control(byte) && byte != b'\t';
        self.echo(if marked { Echo::Control(byte) } else { Echo::Plain(byte) });
    }

    fn is_special(&self, byte: u8) -> bool {
        let word = self.special.get(usize::from(byte / 64)).copied().unwrap_or(0);
        word >> (byte % 64) & 1 != 0
    }

    /// The characters that the settings make special.
    pub(super) fn special_characters(&self) -> [u64; 4] {
        let (input, local) = (self.settings.input, self.settings.local);
        let mut set = [0_u64; 4];
        let mut add = |character: u8| {
            if let Some(word) = set.get_mut(usize::from(character / 64)).filter(|_| character != DISABLED) {
                *word |= 1 << (character % 64);
            }
        };
        let character = |which| self.settings.character(which);
        if input.intersects(InputModes::IGNCR | InputModes::ICRNL) {
            add(b'\r');
        }
        if input.contains(InputModes::INLCR) {
            add(b'\n');
        }
        if local.contains(LocalModes::ICANON) {
            add(b'\n');
            for which in [Special::Erase, Special::Kill, Special::EndOfFile, Special::EndOfLine] {
                add(character(which));
            }
            if local.contains(LocalModes::IEXTEN) {
                for which in [Special::WordErase, Special::LiteralNext, Special::EndOfLine2] {
                    add(character(which));
                }
                if local.contains(LocalModes::ECHO) {
                    add(character(Special::Reprint));
                }
            }
        }
        if input.contains(InputModes::IXON) {
            add(character(Special::Start));
            add(character(Special::Stop));
        }
        if local.contains(LocalModes::ISIG) {
            for which in [Special::Interrupt, Special::Quit, Special::Suspend] {
                add(character(which));
            }
        }
        set
    }
}
