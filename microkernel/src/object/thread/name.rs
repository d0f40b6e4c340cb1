//! A thread's name, for the log.

use core::fmt;

use crate::object::thread::Tcb;

/// Up to 16 bytes, ended by a zero if shorter; what is no ASCII character shows as `?`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name([u64; 2]);

/// The name of a thread.
pub fn of(thread: &Tcb) -> Name {
    Name(thread.name.each_ref().map(|word| word.get()))
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == [0, 0] {
            return f.write_str("(unnamed)");
        }
        let bytes = self.0.iter().flat_map(|word| word.to_le_bytes()).take_while(|byte| *byte != 0);
        for byte in bytes {
            let character = char::from(byte);
            fmt::Write::write_char(f, if character.is_ascii_graphic() { character } else { '?' })?;
        }
        Ok(())
    }
}
