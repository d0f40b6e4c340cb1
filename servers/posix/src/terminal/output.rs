//! What was printed and nobody took yet, and what becomes of characters on their way there (OPOST).

use super::character;
use super::settings::{InputModes, OutputModes, Settings};
use alloc::collections::VecDeque;

/// Most bytes that wait to be taken.
pub const MOST: usize = 16 * 1024;
/// Bytes that a pty's other end holds itself, where no flush reaches them.
const GIVEN: usize = 4095;
/// A tab goes to the next column that this divides.
const TAB: u32 = 8;
const SPACES: [u8; 8] = [b' '; 8];

/// Who holds the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Held {
    /// Nobody.
    #[default]
    No,
    /// STOP was typed.
    Typed,
    /// A program asked for it (TCOOFF): only TCOON lets it go.
    Asked,
}

/// The queue, and where on the screen the next character will be.
#[derive(Debug, Default)]
pub struct Output {
    bytes: VecDeque<u8>,
    /// How many of them have reached the other end and are not flushed any more.
    given: usize,
    /// Whether it is held.
    pub held: Held,
    /// The column of the next character.
    pub column: u32,
    /// The column where the line that is typed begins.
    pub line_column: u32,
}

/// There is no room for all that a character becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

impl Output {
    /// How many bytes it takes now.
    pub fn room(&self) -> usize {
        if self.held == Held::No { MOST - self.bytes.len().min(MOST) } else { 0 }
    }

    /// Bytes that wait to be taken.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Throws away all that waits.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.given = 0;
    }

    /// Notes that what waits now has reached the other end, as far as that holds it.
    pub fn give(&mut self) {
        self.given = self.bytes.len().min(GIVEN);
    }

    /// Throws away what waits, but for what has reached the other end.
    pub fn flush(&mut self) {
        self.bytes.truncate(self.given);
    }

    /// Looks at the first bytes that wait, as many as lie together.
    pub fn first(&self) -> &[u8] {
        self.bytes.as_slices().0
    }

    /// Takes bytes.
    pub fn take(&mut self, into: &mut [u8]) -> usize {
        let mut taken = 0;
        for (place, byte) in into.iter_mut().zip(self.bytes.iter()) {
            *place = *byte;
            taken += 1;
        }
        self.drop_first(taken);
        taken
    }

    /// Takes bytes away that were looked at.
    pub fn drop_first(&mut self, bytes: usize) {
        self.bytes.drain(..bytes.min(self.bytes.len()));
        self.given = self.given.saturating_sub(bytes);
    }

    /// Whether it is held.
    pub fn is_held(&self) -> bool {
        self.held != Held::No
    }

    /// Adds a byte whoever holds the output.
    pub fn put_anyway(&mut self, byte: u8) {
        if self.bytes.len() < MOST {
            self.bytes.push_back(byte);
        }
    }

    /// Adds bytes as they are; returns how many there was room for.
    pub fn put(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(self.room());
        self.bytes.extend(bytes.get(..taken).unwrap_or_default());
        taken
    }

    /// Adds a character as the settings want it.
    ///
    /// # Errors
    /// [`NoRoom`], and nothing has changed that counts.
    pub fn put_processed(&mut self, character: u8, settings: &Settings) -> Result<(), NoRoom> {
        let modes = settings.output;
        match character {
            _ if self.room() == 0 => Err(NoRoom),
            b'\n' => {
                if modes.contains(OutputModes::ONLRET) {
                    self.column = 0;
                }
                if modes.contains(OutputModes::ONLCR) {
                    self.put_all(b"\r\n")?;
                    self.column = 0;
                    self.line_column = 0;
                    return Ok(());
                }
                self.line_column = self.column;
                self.put_all(b"\n")
            }
            b'\r' => self.put_return(modes),
            b'\t' => {
                let spaces = TAB - self.column % TAB;
                if modes.contains(OutputModes::XTABS) {
                    self.put_all(SPACES.get(..crate::number::index(spaces)).unwrap_or(&SPACES))?;
                } else {
                    self.put_all(b"\t")?;
                }
                self.column += spaces;
                Ok(())
            }
            8 => {
                self.column = self.column.saturating_sub(1);
                self.put_all(&[8])
            }
            _ => self.put_plain(character, settings),
        }
    }

    /// Moves a column back, without printing.
    pub fn back(&mut self) {
        self.column = self.column.saturating_sub(1);
    }

    fn put_return(&mut self, modes: OutputModes) -> Result<(), NoRoom> {
        if modes.contains(OutputModes::ONOCR) && self.column == 0 {
            return Ok(());
        }
        if !modes.contains(OutputModes::OCRNL) {
            self.column = 0;
            self.line_column = 0;
            return self.put_all(b"\r");
        }
        if modes.contains(OutputModes::ONLRET) {
            self.column = 0;
            self.line_column = 0;
        }
        self.put_all(b"\n")
    }

    fn put_plain(&mut self, character: u8, settings: &Settings) -> Result<(), NoRoom> {
        let mut character = character;
        if !character::is_control(character) {
            if settings.output.contains(OutputModes::OLCUC) {
                character = character::to_upper(character);
            }
            if !(settings.input.contains(InputModes::IUTF8) && character::continues(character)) {
                self.column = self.column.wrapping_add(1);
            }
        }
        self.put_all(&[character])
    }

    /// Adds all of it or nothing.
    fn put_all(&mut self, bytes: &[u8]) -> Result<(), NoRoom> {
        if self.room() < bytes.len() {
            return Err(NoRoom);
        }
        self.bytes.extend(bytes);
        Ok(())
    }
}
