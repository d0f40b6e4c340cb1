//! Copies between the server and a program, with the page faults that they meet.
//!
//! The methods without `other` in their name act on the current space through the host's copy routines;
//! those with it reach any space through its frames (C-29: what is not current goes through the windows).

use super::pointer::{UserPtr, UserSlice};
use crate::Errno;
use crate::address::{Frame, LOWER_HALF_END, PAGE_BYTES, PAGE_SIZE, Page};
use crate::host::{CopyStop, Host, WindowPage};
use crate::memory::fault::Access;
use crate::memory::space::View;
use crate::number::{to_u64, to_usize};
use alloc::vec::Vec;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A copy that ended early: so many bytes came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short {
    /// Bytes copied.
    pub done: usize,
}

impl From<Short> for Errno {
    fn from(_: Short) -> Self {
        Self::EFAULT
    }
}

impl<H: Host> View<'_, H> {
    /// Reads a program's bytes; `into` is not longer than the slice.
    ///
    /// # Errors
    /// [`Short`] at the first byte that the program could not read itself.
    pub fn read_bytes(&mut self, from: UserSlice, into: &mut [u8]) -> Result<(), Short> {
        let bytes = into.len().min(to_usize(from.bytes()));
        let mut progress = Progress::default();
        while let Some(rest) = into.get_mut(progress.done..bytes).filter(|rest| !rest.is_empty()) {
            match self.host.copy_in(from.address() + to_u64(progress.done), rest) {
                Ok(()) => break,
                Err(stop) => self.go_on(from, &mut progress, stop, Access::Load)?,
            }
        }
        Ok(())
    }

    /// Writes to a program's bytes; `from` is not longer than the slice.
    ///
    /// # Errors
    /// [`Short`] at the first byte that the program could not write itself.
    pub fn write_bytes(&mut self, from: &[u8], to: UserSlice) -> Result<(), Short> {
        let bytes = from.len().min(to_usize(to.bytes()));
        let mut progress = Progress::default();
        while let Some(rest) = from.get(progress.done..bytes).filter(|rest| !rest.is_empty()) {
            match self.host.copy_out(rest, to.address() + to_u64(progress.done)) {
                Ok(()) => break,
                Err(stop) => self.go_on(to, &mut progress, stop, Access::Store)?,
            }
        }
        Ok(())
    }

    /// Writes zeros to a program's bytes.
    ///
    /// # Errors
    /// [`Short`] at the first byte that the program could not write itself.
    pub fn write_zeros(&mut self, to: UserSlice) -> Result<(), Short> {
        let bytes = to_usize(to.bytes());
        let mut progress = Progress::default();
        while progress.done < bytes {
            match self.host.zero_out(to.address() + to_u64(progress.done), bytes - progress.done) {
                Ok(()) => break,
                Err(stop) => self.go_on(to, &mut progress, stop, Access::Store)?,
            }
        }
        Ok(())
    }

    /// Writes a part of a frame to a program.
    ///
    /// # Errors
    /// [`Short`] at the first byte that the program could not write itself.
    #[inline]
    pub fn frame_to_user(&mut self, frame: Frame, offset: usize, to: UserSlice) -> Result<(), Short> {
        let at = self.memory.frames.locate(frame);
        match self.host.copy_frame_out(at, offset, to_usize(to.bytes()), to.address()) {
            Ok(()) => Ok(()),
            Err(stop) => self.frame_to_user_from(at, offset, to, stop),
        }
    }

    /// What is left of that after a fault.
    #[cold]
    fn frame_to_user_from(
        &mut self,
        at: WindowPage,
        offset: usize,
        to: UserSlice,
        stop: CopyStop,
    ) -> Result<(), Short> {
        let bytes = to_usize(to.bytes());
        let mut progress = Progress::default();
        self.go_on(to, &mut progress, stop, Access::Store)?;
        while progress.done < bytes {
            let (from, rest) = (offset + progress.done, bytes - progress.done);
            match self.host.copy_frame_out(at, from, rest, to.address() + to_u64(progress.done)) {
                Ok(()) => break,
                Err(stop) => self.go_on(to, &mut progress, stop, Access::Store)?,
            }
        }
        Ok(())
    }

    /// Reads a program's bytes into a part of a frame.
    ///
    /// # Errors
    /// [`Short`] at the first byte that the program could not read itself; those before are in the frame.
    #[inline]
    pub fn user_to_frame(&mut self, from: UserSlice, frame: Frame, offset: usize) -> Result<(), Short> {
        let at = self.memory.frames.locate(frame);
        match self.host.copy_frame_in(from.address(), at, offset, to_usize(from.bytes())) {
            Ok(()) => Ok(()),
            Err(stop) => self.user_to_frame_from(from, at, offset, stop),
        }
    }

    /// What is left of that after a fault.
    #[cold]
    fn user_to_frame_from(
        &mut self,
        from: UserSlice,
        at: WindowPage,
        offset: usize,
        stop: CopyStop,
    ) -> Result<(), Short> {
        let bytes = to_usize(from.bytes());
        let mut progress = Progress::default();
        self.go_on(from, &mut progress, stop, Access::Load)?;
        while progress.done < bytes {
            let (to, rest) = (offset + progress.done, bytes - progress.done);
            match self.host.copy_frame_in(from.address() + to_u64(progress.done), at, to, rest) {
                Ok(()) => break,
                Err(stop) => self.go_on(from, &mut progress, stop, Access::Load)?,
            }
        }
        Ok(())
    }

    /// Reads one value.
    ///
    /// # Errors
    /// EFAULT when the program could not read all of it itself.
    pub fn read<T: FromBytes + IntoBytes>(&mut self, from: UserPtr<T>) -> Result<T, Errno> {
        let mut value = T::new_zeroed();
        self.read_bytes(from.slice(), value.as_mut_bytes())?;
        Ok(value)
    }

    /// Writes one value.
    ///
    /// # Errors
    /// EFAULT when the program could not write all of it itself.
    pub fn write<T: IntoBytes + Immutable>(&mut self, to: UserPtr<T>, value: &T) -> Result<(), Errno> {
        Ok(self.write_bytes(value.as_bytes(), to.slice())?)
    }

    /// Reads a string that ends with a zero byte within a buffer's length; returns its length without the zero.
    ///
    /// # Errors
    /// EFAULT as [`View::read`]; ENAMETOOLONG when the buffer has no room for the zero.
    #[inline]
    pub fn read_text(&mut self, address: u64, into: &mut [u8]) -> Result<usize, Errno> {
        // What would lie above 2^47 is never looked at: nothing is mapped at the last page below.
        let room = LOWER_HALF_END.checked_sub(address).ok_or(Errno::EFAULT)?;
        let slice = UserSlice::new(address, to_u64(into.len()).min(room))?;
        let most = to_usize(slice.bytes());
        let mut progress = Progress::default();
        loop {
            let rest = into.get_mut(progress.done..most).unwrap_or_default();
            if rest.is_empty() {
                return Err(if most < into.len() { Errno::EFAULT } else { Errno::ENAMETOOLONG });
            }
            let room = rest.len();
            match self.host.copy_string(address + to_u64(progress.done), rest) {
                Ok(length) if length < room => return Ok(progress.done + length),
                Ok(length) => progress.done += length,
                Err(stop) => self.go_on(slice, &mut progress, stop, Access::Load)?,
            }
        }
    }

    /// Reads a string that ends with a zero byte within `most` bytes, without the zero, into `text`.
    ///
    /// # Errors
    /// EFAULT as [`View::read`]; ENAMETOOLONG when `most` bytes have no zero among them.
    pub fn read_string(&mut self, address: u64, most: usize, text: &mut Vec<u8>) -> Result<(), Errno> {
        text.clear();
        self.append_string(address, most, text)
    }

    /// Reads a string of at most `most` bytes, its zero among them, and puts it behind what is there.
    ///
    /// # Errors
    /// As for [`View::read_string`].
    pub fn append_string(&mut self, address: u64, most: usize, text: &mut Vec<u8>) -> Result<(), Errno> {
        let start = text.len();
        // A piece never crosses a page, so that a string that ends before a hole is read in whole.
        while text.len() - start < most {
            let done = text.len() - start;
            let from = address.checked_add(to_u64(done)).ok_or(Errno::EFAULT)?;
            let in_page = PAGE_BYTES - from % PAGE_BYTES;
            let mut piece = [0_u8; 64];
            let bytes = to_usize(in_page).min(piece.len()).min(most - done);
            let Some(piece) = piece.get_mut(..bytes) else { break };
            self.read_bytes(UserSlice::new(from, to_u64(bytes))?, piece)?;
            if let Some(end) = piece.iter().position(|byte| *byte == 0) {
                text.extend_from_slice(piece.get(..end).unwrap_or_default());
                return Ok(());
            }
            text.extend_from_slice(piece);
        }
        Err(Errno::ENAMETOOLONG)
    }

    /// Reads an aligned word as one access.
    ///
    /// # Errors
    /// EFAULT as [`View::read`].
    pub fn load_word(&mut self, at: UserPtr<u32>) -> Result<u32, Errno> {
        loop {
            match self.host.load_word(at.address()) {
                Ok(word) => return Ok(word),
                Err(_) => self.resolve(at.address(), Access::Load).map_err(|_| Errno::EFAULT)?,
            }
        }
    }

    /// Replaces an aligned word if it holds `old`, as one access; returns what it held.
    ///
    /// # Errors
    /// EFAULT as [`View::write`].
    pub fn compare_exchange(&mut self, at: UserPtr<u32>, old: u32, new: u32) -> Result<u32, Errno> {
        loop {
            match self.host.compare_exchange(at.address(), old, new) {
                Ok(word) => return Ok(word),
                Err(_) => self.resolve(at.address(), Access::Store).map_err(|_| Errno::EFAULT)?,
            }
        }
    }

    /// Writes to a space that need not be current.
    ///
    /// # Errors
    /// [`Short`] at the first byte that a program there could not write itself.
    pub fn write_other(&mut self, from: &[u8], to: UserSlice) -> Result<(), Short> {
        let mut done = 0;
        while let Some(rest) = from.get(done..).filter(|rest| !rest.is_empty()) {
            let address = to.address() + to_u64(done);
            let offset = to_usize(address % PAGE_BYTES);
            let piece = rest.get(..PAGE_SIZE - offset).unwrap_or(rest);
            self.resolve(address, Access::Store).map_err(|_| Short { done })?;
            let frame = self.space.pages.get(Page::of(address)).ok_or(Short { done })?;
            self.host.write_frame(self.memory.frames.locate(frame), offset, piece);
            done += piece.len();
        }
        Ok(())
    }

    /// Reads from a space that need not be current.
    ///
    /// # Errors
    /// [`Short`] at the first byte that a program there could not read itself.
    pub fn read_other(&mut self, from: UserSlice, into: &mut [u8]) -> Result<(), Short> {
        let mut done = 0;
        while done < into.len() {
            let address = from.address() + to_u64(done);
            let offset = to_usize(address % PAGE_BYTES);
            let length = (into.len() - done).min(PAGE_SIZE - offset);
            let Some(piece) = into.get_mut(done..done + length) else { break };
            self.resolve(address, Access::Load).map_err(|_| Short { done })?;
            let frame = self.space.pages.get(Page::of(address)).ok_or(Short { done })?;
            self.host.read_frame(self.memory.frames.locate(frame), offset, piece);
            done += length;
        }
        Ok(())
    }

    /// Resolves the fault that a copy stopped at, so that it can go on from there.
    fn go_on(
        &mut self,
        slice: UserSlice,
        progress: &mut Progress,
        stop: CopyStop,
        access: Access,
    ) -> Result<(), Short> {
        let done = progress.done + stop.done;
        let again = progress.resolved.replace(done) == Some(done);
        progress.done = done;
        let address = slice.address() + to_u64(done);
        // A page that was resolved and is still not there must not be asked for for ever.
        if again || self.resolve(address, access).is_err() {
            return Err(Short { done });
        }
        Ok(())
    }
}

/// How far a copy has come, and the byte at which a fault was resolved last.
#[derive(Debug, Default)]
struct Progress {
    done: usize,
    resolved: Option<usize>,
}
