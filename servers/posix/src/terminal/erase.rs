//! ERASE, WERASE and KILL: taking characters of the line back, and showing that.

use super::character;
use super::discipline::{Discipline, Erasing};
use super::echo::{Echo, TabStart};
use super::settings::{InputModes, LocalModes, Special};

/// How much is erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Character,
    Word,
    Line,
}

impl Discipline {
    /// One of the erasing characters was typed.
    pub(super) fn erase(&mut self, typed: u8) {
        if self.input.unfinished() == 0 {
            return;
        }
        let extent = if self.settings.is(Special::Erase, typed) {
            Extent::Character
        } else if self.settings.is(Special::WordErase, typed) {
            Extent::Word
        } else {
            Extent::Line
        };
        let shown = LocalModes::ECHOK | LocalModes::ECHOKE | LocalModes::ECHOE;
        if extent == Extent::Line && !(self.has(LocalModes::ECHO) && self.has(shown)) {
            self.kill_line();
            return;
        }
        self.erase_characters(extent);
        if self.input.unfinished() == 0 && self.has(LocalModes::ECHO) {
            self.finish_erasing();
        }
    }

    /// Erases the line without showing each character's end.
    fn kill_line(&mut self) {
        self.input.kill_line();
        if self.has(LocalModes::ECHO) {
            self.finish_erasing();
            self.echo_character(self.settings.character(Special::Kill));
            if self.has(LocalModes::ECHOK) {
                self.echo(Echo::Plain(b'\n'));
            }
        }
    }

    fn erase_characters(&mut self, extent: Extent) {
        let mut in_word = false;
        while let Some(bytes) = self.last_character() {
            let first = self.input.unfinished_bytes().nth_back(bytes - 1).unwrap_or(0);
            if extent == Extent::Word {
                if character::is_word(first) {
                    in_word = true;
                } else if in_word {
                    break;
                }
            }
            let erased = self.input.take_back(bytes);
            if self.has(LocalModes::ECHO) {
                self.show_erased(extent, first, erased.get(1..).unwrap_or_default());
            }
            if extent == Extent::Character {
                break;
            }
        }
    }

    /// How many bytes the line's last character has; `None` without one, or when its first byte is not there.
    fn last_character(&self) -> Option<usize> {
        let utf8 = self.settings.input.contains(InputModes::IUTF8);
        let from_end = self.input.unfinished_bytes().rev();
        from_end.zip(1..).find(|(byte, _)| !(utf8 && character::continues(*byte))).map(|(_, bytes)| bytes)
    }

    fn show_erased(&mut self, extent: Extent, first: u8, rest: &[u8]) {
        if self.has(LocalModes::ECHOPRT) {
            if self.erasing == Erasing::No {
                self.echo(Echo::Plain(b'\\'));
                self.erasing = Erasing::Shown;
            }
            self.echo_character(first);
            for byte in rest {
                self.echo(Echo::Plain(*byte));
                self.echo(Echo::Back);
            }
        } else if extent == Extent::Character && !self.has(LocalModes::ECHOE) {
            self.echo_character(self.settings.character(Special::Erase));
        } else if first == b'\t' {
            self.show_erased_tab();
        } else {
            let control = character::is_control(first);
            let marked = control && self.has(LocalModes::ECHOCTL);
            // A control character that is shown takes two columns, one that is not shown none.
            let columns = if marked { 2 } else { u32::from(!control) };
            for _ in 0..columns {
                for byte in [8, b' ', 8] {
                    self.echo(Echo::Plain(byte));
                }
            }
        }
    }

    /// Goes back over a tab: how far depends on what is left of the line before it.
    fn show_erased_tab(&mut self) {
        let utf8 = self.settings.input.contains(InputModes::IUTF8);
        let shows_control = self.has(LocalModes::ECHOCTL);
        let mut columns = 0_u8;
        let mut from = TabStart::Line;
        for byte in self.input.unfinished_bytes().rev() {
            if byte == b'\t' {
                from = TabStart::Tab;
                break;
            }
            let wide = if character::is_control(byte) {
                u8::from(shows_control) * 2
            } else {
                u8::from(!(utf8 && character::continues(byte)))
            };
            columns = (columns + wide) & 7;
        }
        self.echo(Echo::EraseTab { columns, from });
    }
}
