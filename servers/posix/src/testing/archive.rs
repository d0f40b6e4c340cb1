//! Makes newc archives.

use std::format;
use std::vec::Vec;

/// An archive under construction.
#[derive(Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    inode: u32,
}

impl Archive {
    pub(crate) fn file(self, path: &str, mode: u32, data: &[u8]) -> Self {
        self.entry(path, 0o100_000 | mode, data)
    }

    pub(crate) fn directory(self, path: &str) -> Self {
        self.entry(path, 0o040_755, &[])
    }

    pub(crate) fn link(self, path: &str, target: &str) -> Self {
        self.entry(path, 0o120_777, target.as_bytes())
    }

    pub(crate) fn entry(mut self, path: &str, mode: u32, data: &[u8]) -> Self {
        self.inode += 1;
        let fields = [
            self.inode,
            mode,
            0,
            0,
            1,
            1_600_000_000,
            u32::try_from(data.len()).unwrap(),
            0,
            0,
            0,
            0,
            u32::try_from(path.len() + 1).unwrap(),
            0,
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(data);
        self.align();
        self
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]).bytes
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}
