//! Owns the keys that stop the machine: Ctrl-] twice, one after the other. Any other key behind the first Ctrl-] sends
//! both on, so that no key is taken from the guest's programs.

/// Ctrl-].
const KEY: u8 = 0x1d;

/// What to do with what was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// It goes to the guest.
    ForGuest,
    /// The machine is to be stopped.
    Stop,
}

/// The filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Escape {
    /// The last key was the first of the two.
    begun: bool,
}

impl Escape {
    /// Passes keys on, but for a first Ctrl-] whose next key is not known yet.
    pub(super) fn pass(&mut self, keys: &[u8], on: &mut Vec<u8>) -> Typed {
        for &key in keys {
            match (self.begun, key) {
                (true, KEY) => return Typed::Stop,
                (false, KEY) => self.begun = true,
                (true, key) => {
                    on.extend([KEY, key]);
                    self.begun = false;
                }
                (false, key) => on.push(key),
            }
        }
        Typed::ForGuest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_in_a_row_stop_and_no_key_is_lost() {
        for (pieces, on, last) in [
            (&[&b"ls\r"[..]][..], &b"ls\r"[..], Typed::ForGuest),
            (&[b"a\x1db"], b"a\x1db", Typed::ForGuest),
            (&[b"a\x1d", b"b"], b"a\x1db", Typed::ForGuest),
            (&[b"a\x1d", b"\x1db"], b"a", Typed::Stop),
            (&[b"\x1d\x1d"], b"", Typed::Stop),
            (&[b"\x1dx\x1dy"], b"\x1dx\x1dy", Typed::ForGuest),
        ] {
            let (mut escape, mut passed) = (Escape::default(), Vec::new());
            let answers: Vec<_> = pieces.iter().map(|keys| escape.pass(keys, &mut passed)).collect();
            assert_eq!((passed.as_slice(), answers.last()), (on, Some(&last)), "{pieces:?}");
        }
    }
}
