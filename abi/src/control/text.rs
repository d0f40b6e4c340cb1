//! Owns a string as a record carries it: percent-encoded on the line, plain to everybody else.

use core::fmt::{self, Write};

/// A string that is going into a record or came out of one; shown plain, compared by what it says.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    bytes: &'a [u8],
    form: Form,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Plain,
    Encoded,
}

impl<'a> Text<'a> {
    /// Takes a plain string.
    #[must_use]
    pub const fn new(plain: &'a str) -> Self {
        Self::of_bytes(plain.as_bytes())
    }

    /// Takes plain bytes, which need not be UTF-8: a program's argument, or what a program wrote.
    #[must_use]
    pub const fn of_bytes(plain: &'a [u8]) -> Self {
        Self { bytes: plain, form: Form::Plain }
    }

    /// Takes the value of a record's word, or nothing if it is not well encoded.
    pub(crate) fn of_encoded(encoded: &'a str) -> Option<Self> {
        let mut rest = encoded.bytes();
        while let Some(byte) = rest.next() {
            if byte == b'%' {
                hexadecimal(rest.next()?)?;
                hexadecimal(rest.next()?)?;
            }
        }
        Some(Self { bytes: encoded.as_bytes(), form: Form::Encoded })
    }

    /// Returns whether the string is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns this string as a record writes it.
    pub(crate) fn encoded(self) -> Encoded<'a> {
        Encoded(self)
    }

    /// Returns the string's bytes, plain.
    pub fn plain_bytes(&self) -> impl Iterator<Item = u8> + use<'a> {
        let form = self.form;
        let mut rest = self.bytes.iter().copied();
        core::iter::from_fn(move || match (rest.next()?, form) {
            (b'%', Form::Encoded) => Some(hexadecimal(rest.next()?)? << 4 | hexadecimal(rest.next()?)?),
            (byte, _) => Some(byte),
        })
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.plain_bytes().eq(other.plain_bytes())
    }
}

impl Eq for Text<'_> {}

impl fmt::Display for Text<'_> {
    /// Writes the string plain; bytes that are no UTF-8 become U+FFFD.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A character has at most four bytes; what does not become one within four is not UTF-8.
        let mut pending = [0_u8; 4];
        let mut length = 0_usize;
        for byte in self.plain_bytes() {
            if let Some(place) = pending.get_mut(length) {
                *place = byte;
            }
            length += 1;
            let so_far = pending.get(..length).unwrap_or_default();
            match core::str::from_utf8(so_far) {
                Ok(character) => f.write_str(character)?,
                Err(error) if error.error_len().is_none() => continue,
                Err(_) => f.write_char(char::REPLACEMENT_CHARACTER)?,
            }
            length = 0;
        }
        if length == 0 { Ok(()) } else { f.write_char(char::REPLACEMENT_CHARACTER) }
    }
}

/// A string in a record's form: printable ASCII but `%`, everything else as `%` and two hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Encoded<'a>(Text<'a>);

impl fmt::Display for Encoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.plain_bytes().try_for_each(|byte| match byte {
            b'%' => f.write_str("%25"),
            b'!'..=b'~' => f.write_char(char::from(byte)),
            other => write!(f, "%{other:02x}"),
        })
    }
}

fn hexadecimal(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}
