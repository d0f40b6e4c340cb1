//! Little-endian records as the boot archive and the description have them, read without a panic.

/// Takes little-endian fields from the front of a record.
#[derive(Debug)]
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl Fields<'_> {
    pub(crate) fn u32(&mut self) -> Option<u32> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*field))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*field))
    }

    pub(crate) fn rest_is_zero(&self) -> bool {
        self.0.iter().all(|byte| *byte == 0)
    }
}
