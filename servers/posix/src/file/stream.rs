//! The console's streams, piece by piece: what is there now, and what there is room for now.

use super::pieces::{Pieces, Put, Source, so_far};
use crate::Errno;
use crate::host::{Host, Input, Stream};
use crate::memory::content::Bytes;
use crate::number::to_usize;
use crate::server::Server;

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
            // As from a pipe of Linux's: what does not reach the program whole stays, and counts for nothing.
            if server.view()?.write_bytes(part, piece).is_err() {
                return so_far(done).map(Some);
            }
            server.host.take_input(read);
            done += read as u64;
            piece = piece.after(read as u64);
        }
    }
    Ok(Some(done))
}

/// Writes as much to a stream as its ring has room for now.
pub(super) fn write_stream<H: Host>(
    server: &mut Server<H>,
    stream: Stream,
    source: &Source<'_>,
) -> Result<Put, Errno> {
    let mut done = 0;
    for mut rest in source.iter() {
        while !rest.is_empty() {
            let mut buffer = [0; PIECE];
            let wanted = to_usize(rest.len()).min(PIECE).min(server.host.stream_room(stream));
            if wanted == 0 {
                return Ok(Put::Full(done));
            }
            let Some(part) = buffer.get_mut(..wanted) else { break };
            let read = match rest.first(wanted as u64) {
                Bytes::User(slice) => server.view()?.read_bytes(slice, part),
                Bytes::Own(own) => {
                    part.copy_from_slice(own);
                    Ok(())
                }
            };
            let bytes = read.map_or_else(|short| short.done, |()| wanted);
            let taken = server.send(stream, part.get(..bytes).unwrap_or_default());
            done += taken as u64;
            rest = rest.after(taken as u64);
            if read.is_err() {
                return so_far(done).map(Put::Done);
            }
        }
    }
    Ok(Put::Done(done))
}
