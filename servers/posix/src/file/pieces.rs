//! The places in a program's memory that one call moves bytes to or from.

use super::descriptor::most_moved;
use crate::Errno;
use crate::host::Host;
use crate::memory::content::Bytes;
use crate::server::Server;
use crate::user::{UserPtr, UserSlice};
use alloc::vec::Vec;
use arrayvec::ArrayVec;

/// Pieces of a readv or writev that need no allocation.
const FEW: usize = 2;
/// Linux's UIO_MAXIOV.
const MOST_PIECES: u64 = 1024;

/// The places that a call moves bytes to or from, in order.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    few: ArrayVec<UserSlice, FEW>,
    more: Vec<UserSlice>,
    /// Bytes of all pieces together.
    pub(crate) bytes: u64,
}

impl Pieces {
    #[inline]
    pub(super) fn one(address: u64, bytes: u64) -> Result<Self, Errno> {
        let mut pieces = Self::default();
        pieces.push(UserSlice::new(address, bytes)?);
        Ok(pieces)
    }

    /// Reads a vector of `struct iovec`.
    pub(super) fn vector<H: Host>(server: &mut Server<H>, address: u64, count: u64) -> Result<Self, Errno> {
        if count > MOST_PIECES {
            return Err(Errno::EINVAL);
        }
        let mut pieces = Self::default();
        let mut view = server.view()?;
        for number in 0..count {
            let place = address.wrapping_add(number * 16);
            let [base, bytes] = view.read(UserPtr::<[u64; 2]>::new(place)?)?;
            if bytes.cast_signed() < 0 {
                return Err(Errno::EINVAL);
            }
            pieces.push(UserSlice::new(base, bytes)?);
        }
        Ok(pieces)
    }

    /// Adds a piece, as far as one call may move it.
    fn push(&mut self, piece: UserSlice) {
        let room = most_moved(u64::MAX) as u64 - self.bytes;
        let piece = piece.first(room);
        self.bytes += piece.bytes();
        if !piece.is_empty() && self.few.try_push(piece).is_err() {
            self.more.push(piece);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = UserSlice> {
        self.few.iter().chain(&self.more).copied()
    }

    /// The pieces without their first `done` bytes.
    pub(crate) fn after(&self, done: u64) -> impl Iterator<Item = UserSlice> {
        let mut skip = done;
        self.iter().filter_map(move |piece| {
            let rest = piece.after(skip);
            skip -= piece.bytes().min(skip);
            (!rest.is_empty()).then_some(rest)
        })
    }
}

/// What a call writes: a program's bytes, or the server's own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    /// A program's, those before `done` left out.
    User {
        /// All of them.
        pieces: &'a Pieces,
        /// How many are written already.
        done: u64,
    },
    /// The server's.
    Own(&'a [u8]),
}

impl<'a> Source<'a> {
    pub(super) const fn user(pieces: &'a Pieces) -> Self {
        Self::User { pieces, done: 0 }
    }

    /// How many bytes are left.
    pub(crate) const fn bytes(&self) -> u64 {
        match self {
            Self::User { pieces, done } => pieces.bytes.saturating_sub(*done),
            Self::Own(bytes) => bytes.len() as u64,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Bytes<'a>> {
        let (user, own) = match *self {
            Self::User { pieces, done } => (Some(pieces.after(done).map(Bytes::User)), None),
            Self::Own(bytes) => (None, Some(Bytes::Own(bytes))),
        };
        user.into_iter().flatten().chain(own)
    }
}

/// How a write came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Put {
    /// So many bytes were taken, and that is the result.
    Done(u64),
    /// So many bytes were taken, and there is no room for more now.
    Full(u64),
}

/// What was moved before memory ended, or EFAULT when that is nothing.
pub(crate) fn so_far(bytes: u64) -> Result<u64, Errno> {
    if bytes == 0 { Err(Errno::EFAULT) } else { Ok(bytes) }
}
