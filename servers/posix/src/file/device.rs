//! What is behind the character devices of /dev.

use super::node::Device as Numbers;
use super::pieces::{Pieces, Put, Source, so_far};
use super::stream::{read_input, write_stream};
use crate::Errno;
use crate::host::{Host, Stream};
use crate::memory::content::Bytes;
use crate::number::to_usize;
use crate::server::Server;
use alloc::string::String;

/// Bytes that are made on the server's stack at once.
const PIECE: usize = 256;

/// A device that can be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// Reads end at once, writes are forgotten.
    Null,
    /// Reads are zeros, writes are forgotten.
    Zero,
    /// Reads are zeros, writes find no room.
    Full,
    /// Random bytes.
    Random,
    /// The server's log.
    Log,
    /// The console: standard input and standard output.
    Console,
}

impl Device {
    /// The device of these numbers.
    ///
    /// # Errors
    /// ENXIO for one that is not there, and for /dev/tty of a process without a terminal.
    pub const fn of(numbers: Numbers) -> Result<Self, Errno> {
        match (numbers.major, numbers.minor) {
            (1, 3) => Ok(Self::Null),
            (1, 5) => Ok(Self::Zero),
            (1, 7) => Ok(Self::Full),
            (1, 8 | 9) => Ok(Self::Random),
            (1, 11) => Ok(Self::Log),
            (5, 1) => Ok(Self::Console),
            _ => Err(Errno::ENXIO),
        }
    }
}

impl<H: Host> Server<H> {
    /// Reads a device; `None` when nothing is there yet.
    pub(super) fn read_device(&mut self, device: Device, pieces: &Pieces) -> Result<Option<u64>, Errno> {
        match device {
            Device::Null => Ok(Some(0)),
            Device::Zero | Device::Full => self.read_zeros(pieces).map(Some),
            Device::Random => self.read_random(pieces).map(Some),
            // The log is for the developer.
            Device::Log => Err(Errno::EPERM),
            Device::Console => read_input(self, pieces),
        }
    }

    /// Writes to a device.
    pub(super) fn write_device(&mut self, device: Device, source: &Source<'_>) -> Result<Put, Errno> {
        match device {
            Device::Null | Device::Zero | Device::Random => Ok(Put::Done(source.bytes())),
            Device::Full if source.bytes() == 0 => Ok(Put::Done(0)),
            Device::Full => Err(Errno::ENOSPC),
            Device::Log => self.write_log(source).map(Put::Done),
            Device::Console => write_stream(self, Stream::StandardOutput, source),
        }
    }

    fn read_zeros(&mut self, pieces: &Pieces) -> Result<u64, Errno> {
        let mut view = self.view()?;
        let mut done = 0;
        for piece in pieces.iter() {
            if let Err(short) = view.write_zeros(piece) {
                return so_far(done + short.done as u64);
            }
            done += piece.bytes();
        }
        Ok(done)
    }

    fn read_random(&mut self, pieces: &Pieces) -> Result<u64, Errno> {
        let mut done = 0;
        for mut piece in pieces.iter() {
            while !piece.is_empty() {
                let mut buffer = [0; PIECE];
                let length = to_usize(piece.bytes()).min(PIECE);
                let Some(part) = buffer.get_mut(..length) else { break };
                self.random.fill(part);
                if let Err(short) = self.view()?.write_bytes(part, piece) {
                    return so_far(done + short.done as u64);
                }
                done += length as u64;
                piece = piece.after(length as u64);
            }
        }
        Ok(done)
    }

    fn write_log(&mut self, source: &Source<'_>) -> Result<u64, Errno> {
        let mut done = 0;
        for piece in source.iter() {
            let mut buffer = [0; PIECE];
            let length = to_usize(piece.len()).min(PIECE);
            let Some(part) = buffer.get_mut(..length) else { break };
            match piece.first(length as u64) {
                Bytes::User(slice) => self.view()?.read_bytes(slice, part)?,
                Bytes::Own(own) => part.copy_from_slice(own),
            }
            self.host.log(String::from_utf8_lossy(part).trim_end());
            done += piece.len();
        }
        Ok(done)
    }
}
