//! Owns the plugin's output: one line a pair of marks, written by the plugin and read by the tools.
//!
//! `pair label=rt0 ops=1 kernel=152 phys=0 host=0 user=33 loads=40/31 stores=38/30 csr=11/11`: instructions by
//! class, then loads, stores and CSR accesses as all/kernel's share.

use std::fmt;

use crate::class::{CLASSES, Class};

/// How often something was done by all, and by the kernel among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// By everybody.
    pub total: u64,
    /// By the kernel, its TLB refill handler included.
    pub kernel: u64,
}

/// What was counted between one pair of marks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The label of the start mark; never empty, without white space.
    pub label: String,
    /// How many operations the guest says lie between the marks.
    pub ops: u64,
    /// Instructions of the kernel in its windows.
    pub kernel: u64,
    /// Instructions of the kernel at physical addresses.
    pub phys: u64,
    /// Instructions of hosts.
    pub host: u64,
    /// Instructions of servers and programs.
    pub user: u64,
    /// Instructions that read memory.
    pub loads: Share,
    /// Instructions that write memory.
    pub stores: Share,
    /// CSR accesses.
    pub csr: Share,
}

impl Sample {
    /// Returns how many instructions of a class were executed.
    #[must_use]
    pub fn of_class(&self, class: Class) -> u64 {
        match class {
            Class::Kernel => self.kernel,
            Class::Physical => self.phys,
            Class::Host => self.host,
            Class::User => self.user,
        }
    }

    /// Reads one line, or returns nothing if it is none of the plugin's.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let words = line.trim_end().strip_prefix("pair ")?;
        let value = |key: &str| words.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        let number = |key: &str| value(key)?.parse().ok();
        let share = |key: &str| {
            let (total, kernel) = value(key)?.split_once('/')?;
            Some(Share { total: total.parse().ok()?, kernel: kernel.parse().ok()? })
        };
        Some(Self {
            label: value("label")?.to_owned(),
            ops: number("ops")?,
            kernel: number(Class::Kernel.name())?,
            phys: number(Class::Physical.name())?,
            host: number(Class::Host.name())?,
            user: number(Class::User.name())?,
            loads: share("loads")?,
            stores: share("stores")?,
            csr: share("csr")?,
        })
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pair label={} ops={}", self.label, self.ops)?;
        for class in CLASSES {
            write!(f, " {}={}", class.name(), self.of_class(class))?;
        }
        for (name, share) in [("loads", self.loads), ("stores", self.stores), ("csr", self.csr)] {
            write!(f, " {name}={}/{}", share.total, share.kernel)?;
        }
        Ok(())
    }
}

/// Makes a label of the register that holds it: eight characters, the first in the lowest byte, zeros at the end.
#[must_use]
pub fn label(register: u64) -> String {
    let printable = |byte: u8| if byte.is_ascii_graphic() { char::from(byte) } else { '?' };
    let text: String =
        register.to_le_bytes().into_iter().take_while(|&byte| byte != 0).map(printable).collect();
    if text.is_empty() { "-".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_back() {
        let sample = Sample {
            label: "call0m".into(),
            ops: 1,
            kernel: 70,
            phys: 14,
            host: 3,
            user: 16,
            loads: Share { total: 40, kernel: 31 },
            stores: Share { total: 38, kernel: 30 },
            csr: Share { total: 12, kernel: 11 },
        };
        let line = sample.to_string();
        assert_eq!(
            line,
            "pair label=call0m ops=1 kernel=70 phys=14 host=3 user=16 loads=40/31 stores=38/30 csr=12/11"
        );
        assert_eq!(Sample::parse(&line), Some(sample));
    }

    #[test]
    fn other_lines_are_none() {
        assert_eq!(Sample::parse(""), None);
        assert_eq!(Sample::parse("pair label=x ops=1"), None);
        assert_eq!(
            Sample::parse("pair label=x ops=1 kernel=a phys=0 host=0 user=0 loads=0/0 stores=0/0 csr=0/0"),
            None
        );
    }

    #[test]
    fn labels_are_one_printable_word() {
        assert_eq!(label(u64::from_le_bytes(*b"rt0\0\0\0\0\0")), "rt0");
        assert_eq!(label(u64::from_le_bytes(*b"reply8mx")), "reply8mx");
        assert_eq!(label(u64::from_le_bytes(*b"a b\nc\xff\0\0")), "a?b?c?");
        assert_eq!(label(0), "-");
    }
}
