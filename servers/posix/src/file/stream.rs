//! The console's streams, piece by piece: what is there now, and what there is room for now.

use super::pieces::{Pieces, so_far};
use crate::Errno;
use crate::host::{Host, Input, Stream};
use crate::number::to_usize;
use crate::server::Server;
use crate::user::UserSlice;

/// Bytes that pass through the server's stack at once on their way to or from a ring.
const PIECE: usize = 512;
/// Reads standard input; `None` when nothing is there yet.
pub(super) fn read_input<H: Host>(server: &mut Server<H>, pieces: &Pieces) -> Result<Option<u64>, Errno> {
    let mut done = 0;
    for mut piece in pieces.iter() {
        while !piece.is_empty() {
            let mut buffer = [0; PIECE];
            let wanted = to_usize(piece.bytes()).min(PIECE);
            let Some(part) = buffer.get_mut(..wanted) else { break };
            let read = match server.host.peek_input(part) {
                Input::Bytes(read) => read.min(wanted),
                Input::Empty if done == 0 => return Ok(None),
                Input::Empty | Input::End => return Ok(Some(done)),
            };
            let part = part.get(..read).unwrap_or_default();
            // What did not reach the program stays in the ring.
            let written = server.view()?.write_bytes(part, piece);
            server.host.take_input(written.map_or_else(|short| short.done, |()| read));
            if let Err(short) = written {
                return so_far(done + short.done as u64).map(Some);
            }
            done += read as u64;
            piece = piece.after(read as u64);
        }
    }
    Ok(Some(done))
}
/// What became of a piece.
#[derive(Clone, Copy, Debug)]
pub(super) enum Written {
    /// All of it went into the ring.
    All,
    /// The ring is full after so many bytes.
    Full(u64),
    /// The program's memory ended after so many bytes.
    Fault(u64),
}

pub(super) fn write_piece<H: Host>(
    server: &mut Server<H>,
    stream: Stream,
    piece: UserSlice,
) -> Result<Written, Errno> {
    let mut rest = piece;
    while !rest.is_empty() {
        let mut buffer = [0; PIECE];
        let room = server.host.stream_room(stream);
        let wanted = to_usize(rest.bytes()).min(PIECE).min(room);
        if wanted == 0 {
            return Ok(Written::Full(piece.bytes() - rest.bytes()));
        }
        let Some(part) = buffer.get_mut(..wanted) else { break };
        let read = server.view()?.read_bytes(rest, part);
        let bytes = read.map_or_else(|short| short.done, |()| wanted);
        let taken = server.send(stream, part.get(..bytes).unwrap_or_default());
        rest = rest.after(taken as u64);
        if read.is_err() {
            return Ok(Written::Fault(piece.bytes() - rest.bytes()));
        }
    }
    Ok(Written::All)
}
