//! What the mock's processor finds at an address.

use super::Mock;
use crate::address::{LOWER_HALF_END, PAGE_BITS, PAGE_BYTES, PAGE_SIZE};
use crate::host::{CopyStop, PageRights, SpaceId, WindowPage};
use crate::number::{to_u64, to_usize};
use std::vec::Vec;

impl Mock {
    /// The space of the current context.
    pub fn current_space(&self) -> Option<SpaceId> {
        self.contexts.get(&self.current?)?.space
    }

    /// A frame's bytes; a frame never written holds a pattern, so that nobody relies on zeros by luck.
    pub fn frame(&mut self, at: WindowPage) -> &mut Vec<u8> {
        assert!(at.slot < 8, "a frame that no window has");
        self.frames.entry((at.slot, at.page)).or_insert_with(|| std::vec![0xA5; PAGE_SIZE])
    }

    /// Reads through the page tables of a space.
    pub fn peek(&mut self, space: SpaceId, from: u64, into: &mut [u8]) -> Result<(), CopyStop> {
        let mut done = 0;
        while done < into.len() {
            let address = from + to_u64(done);
            let offset = to_usize(address % PAGE_BYTES);
            let bytes = (PAGE_SIZE - offset).min(into.len() - done);
            let (frame, _) = self.walk(space, address).ok_or(CopyStop { done })?;
            into[done..done + bytes].copy_from_slice(&self.frame(frame)[offset..offset + bytes]);
            done += bytes;
        }
        Ok(())
    }

    pub(super) fn read_current(&mut self, from: u64, into: &mut [u8]) -> Result<(), CopyStop> {
        let space = self.current_space().ok_or(CopyStop { done: 0 })?;
        self.peek(space, from, into)
    }

    pub(super) fn write_current(&mut self, to: u64, from: &[u8]) -> Result<(), CopyStop> {
        let space = self.current_space().ok_or(CopyStop { done: 0 })?;
        let mut done = 0;
        while done < from.len() {
            let address = to + to_u64(done);
            let offset = to_usize(address % PAGE_BYTES);
            let bytes = (PAGE_SIZE - offset).min(from.len() - done);
            let (frame, rights) = self.walk(space, address).ok_or(CopyStop { done })?;
            if !rights.contains(PageRights::WRITE) {
                return Err(CopyStop { done });
            }
            self.frame(frame)[offset..offset + bytes].copy_from_slice(&from[done..done + bytes]);
            done += bytes;
        }
        Ok(())
    }

    fn walk(&self, space: SpaceId, address: u64) -> Option<(WindowPage, PageRights)> {
        assert!(address < LOWER_HALF_END, "the server touched {address:#x} on a program's behalf");
        self.mapped.get(&(space, address >> PAGE_BITS)).copied()
    }
}
