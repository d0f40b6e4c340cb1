//! Owns archives of files for a guest, in the form that Linux reads at boot ("newc" cpio).

/// What kind of file an entry is, with Linux's number for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File = 0o100_000,
    Folder = 0o040_000,
    Link = 0o120_000,
    CharacterDevice = 0o020_000,
}

/// An archive that is being written; names are paths without a `/` in front.
#[derive(Clone, Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    /// Returns an archive without files.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file with the permissions given; its folder must have been added.
    pub fn file(&mut self, name: impl AsRef<[u8]>, permissions: u16, content: &[u8]) -> &mut Self {
        self.entry(name.as_ref(), Kind::File, permissions, content, (0, 0))
    }

    /// Adds a folder.
    pub fn folder(&mut self, name: impl AsRef<[u8]>, permissions: u16) -> &mut Self {
        self.entry(name.as_ref(), Kind::Folder, permissions, &[], (0, 0))
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, name: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> &mut Self {
        self.entry(name.as_ref(), Kind::Link, 0o777, target.as_ref(), (0, 0))
    }

    /// Adds a character device with its major and minor number.
    pub fn character_device(
        &mut self,
        name: impl AsRef<[u8]>,
        permissions: u16,
        device: (u32, u32),
    ) -> &mut Self {
        self.entry(name.as_ref(), Kind::CharacterDevice, permissions, &[], device)
    }

    /// Ends the archive and returns its bytes.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.header(b"TRAILER!!!", 0, 0, (0, 0));
        self.bytes
    }

    fn entry(
        &mut self,
        name: &[u8],
        kind: Kind,
        permissions: u16,
        content: &[u8],
        device: (u32, u32),
    ) -> &mut Self {
        self.header(name, kind as u32 | u32::from(permissions), content.len(), device);
        self.bytes.extend_from_slice(content);
        self.pad();
        self
    }

    fn header(&mut self, name: &[u8], mode: u32, size: usize, device: (u32, u32)) {
        self.entries += 1;
        let (inode, owner, group, links, time, checksum) = (self.entries, 0, 0, 1, 0, 0);
        let (on_major, on_minor, name_size) = (0, 0, name.len() + 1);
        let (major, minor) = device;
        let text = format!(
            "070701{inode:08x}{mode:08x}{owner:08x}{group:08x}{links:08x}{time:08x}{size:08x}\
             {on_major:08x}{on_minor:08x}{major:08x}{minor:08x}{name_size:08x}{checksum:08x}"
        );
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.extend_from_slice(name);
        self.bytes.push(0);
        self.pad();
    }

    /// Names and contents begin at multiples of four.
    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_as_linux_reads_them() {
        let mut archive = Archive::new();
        archive.folder("d", 0o755).file("d/f", 0o644, b"hello").character_device("c", 0o600, (5, 1));
        let bytes = archive.finish();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let file = text.find("d/f\0").unwrap();
        let header = &text[file - 110..file];
        assert!(header.starts_with("07070100000002000081a4"), "{header}");
        assert_eq!(&header[54..62], "00000005", "the size");
        assert_eq!(&header[94..102], "00000004", "the name's size, with its zero");
        assert_eq!((file - 110) % 4, 0);
        assert_eq!(text.find("hello").unwrap() % 4, 0);
        let device = text.find("c\0").unwrap();
        assert_eq!(&text[device - 32..device - 16], "0000000500000001");
        assert!(text.contains("TRAILER!!!") && bytes.len().is_multiple_of(4));
    }
}
