//! The newc archive that programs and files of `run` travel in (Linux's initramfs format), checked.
//!
//! Layout: a header of 110 bytes, all hexadecimal; the name with its zero; the data; each padded to 4 bytes.

use core::fmt;

const HEADER: usize = 110;
const NAME_MOST: usize = 4096;
/// The name of the entry behind the last.
const TRAILER: &[u8] = b"TRAILER!!!";

/// An entry of the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its path, without a leading `/` or `./`; empty for the root.
    pub path: &'a [u8],
    /// Kind and permissions, as st_mode.
    pub mode: u32,
    /// Owner.
    pub user: u32,
    /// Group.
    pub group: u32,
    /// Seconds since 1970.
    pub modified: u32,
    /// The number that names of one file have in common.
    pub inode: u32,
    /// Names of the file.
    pub links: u32,
    /// The device's numbers, for a device.
    pub device: (u32, u32),
    /// Contents, or the target of a symbolic link.
    pub data: &'a [u8],
}

/// Where an archive is damaged, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// Byte of the archive at which the damaged entry begins.
    pub at: usize,
    /// What is wrong there.
    pub what: &'static str,
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the archive of files is damaged at byte {}: {}", self.at, self.what)
    }
}

/// The entries of an archive, up to its trailer; the first damage ends it.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    archive: &'a [u8],
    at: usize,
    ended: bool,
}

/// Reads an archive; an empty one has no entries.
pub const fn entries(archive: &[u8]) -> Entries<'_> {
    Entries { archive, at: 0, ended: archive.is_empty() }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, Damaged>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let at = self.at;
        let entry = self.read().map_err(|what| Damaged { at, what });
        self.ended = !matches!(entry, Ok(Some(_)));
        entry.transpose()
    }
}

impl<'a> Entries<'a> {
    /// What lies behind the entries that were taken so far, an archive itself.
    pub fn rest(&self) -> &'a [u8] {
        self.archive.get(self.at..).unwrap_or_default()
    }

    fn read(&mut self) -> Result<Option<Entry<'a>>, &'static str> {
        let header = self.take(HEADER).ok_or("it ends in a header")?;
        if !matches!(header.get(..6), Some(b"070701" | b"070702")) {
            return Err("no newc header is there");
        }
        let [inode, mode, user, group, links, modified, size, _, _, major, minor, name, _] = fields(header)?;
        let name = self.take(crate::number::index(name)).ok_or("it ends in a name")?;
        let path = name.strip_suffix(&[0]).ok_or("a name does not end with a zero")?;
        if path.contains(&0) || path.len() > NAME_MOST {
            return Err("a name has a zero in it or is too long");
        }
        self.align();
        let data = self.take(crate::number::index(size)).ok_or("it ends in a file")?;
        self.align();
        if path == TRAILER {
            return Ok(None);
        }
        let path = path.strip_prefix(b"./").unwrap_or(path);
        let path = if path == b"." { b"" } else { path.strip_prefix(b"/").unwrap_or(path) };
        let device = (major, minor);
        Ok(Some(Entry { path, mode, user, group, modified, inode, links, device, data }))
    }

    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(bytes)?;
        let taken = self.archive.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn align(&mut self) {
        self.at = self.at.next_multiple_of(4);
    }
}

/// The thirteen numbers behind the magic.
fn fields(header: &[u8]) -> Result<[u32; 13], &'static str> {
    let mut fields = [0; 13];
    let digits = header.get(6..).unwrap_or_default().chunks_exact(8);
    for (field, digits) in fields.iter_mut().zip(digits) {
        for digit in digits {
            let value = char::from(*digit).to_digit(16).ok_or("a header has something that is no digit")?;
            *field = *field << 4 | value;
        }
    }
    Ok(fields)
}
