//! Owns version numbers as the tools that setup asks print them.

use std::fmt;

/// A version of three numbers; later ones compare greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// Returns the first version in a text: `rustc 1.95.0 (…)`, `1:10.0.2+ds-2`, `QEMU emulator version 10.0.2`.
    pub fn find(text: &str) -> Option<Self> {
        text.split(|c: char| !(c.is_ascii_digit() || c == '.')).find_map(|word| {
            let mut numbers = word.split('.').map(|number| number.parse().ok());
            Some(Self(numbers.next()??, numbers.next()??, numbers.next().flatten().unwrap_or(0)))
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_tools_print() {
        assert_eq!(Version::find("rustc 1.95.0 (59807616e 2026-04-14)"), Some(Version(1, 95, 0)));
        assert_eq!(Version::find("1:10.0.2+ds-2+deb13u1~bpo12+1"), Some(Version(10, 0, 2)));
        assert_eq!(Version::find("1:7.2+dfsg-7+deb12u18+b3"), Some(Version(7, 2, 0)));
        assert_eq!(Version::find("(none)"), None);
    }

    #[test]
    fn later_is_greater() {
        assert!(Version(10, 0, 2) > Version(7, 2, 19));
        assert!(Version(1, 95, 0) < Version(1, 100, 0));
    }
}
