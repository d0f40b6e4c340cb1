//! truncate, ftruncate, fallocate, lseek, fsync and its kin.

use super::descriptor::OpenKind;
use super::node::{Content, FileData, Touched};
use super::permission::WRITE;
use super::place::Place;
use super::tree::NodeId;
use super::walk::Last;
use crate::Errno;
use crate::address::{PAGE_BYTES, Page, PageRange};
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::low_u32;
use crate::server::Server;

const KEEP_SIZE: u32 = 1;
const SEEK_DATA: u32 = 3;
const SEEK_HOLE: u32 = 4;
const AT_CWD: u64 = super::open::AT_FDCWD.cast_unsigned() as u64;

/// truncate(2).
pub fn truncate<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let bytes = length(arguments.word(1))?;
    server.with_path(arguments.word(0), |server, path| {
        let place = server.place_at(AT_CWD, path, Last::Follow)?;
        if server.is_directory(place) {
            return Err(Errno::EISDIR);
        }
        let id = server.node_of(place, Errno::EINVAL)?;
        let node = server.files.tree.get(id).ok_or(Errno::ENOENT)?;
        if !matches!(node.content, Content::File(_)) {
            return Err(Errno::EINVAL);
        }
        if !server.who().may(node, WRITE) {
            return Err(Errno::EACCES);
        }
        if node.writers < 0 {
            return Err(Errno::ETXTBSY);
        }
        server.cut_file(id, bytes)?;
        Ok(0)
    })
}

/// ftruncate(2).
pub fn ftruncate<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let bytes = length(arguments.word(1))?;
    let file = server.real_file(arguments.word(0))?;
    let OpenKind::Node(id) = file.kind else { return Err(Errno::EINVAL) };
    if !file.is_writable() {
        return Err(Errno::EINVAL);
    }
    server.cut_file(id, bytes)?;
    Ok(0)
}

fn length(bytes: u64) -> Result<u64, Errno> {
    if bytes.cast_signed() < 0 { Err(Errno::EINVAL) } else { Ok(bytes) }
}

/// fallocate(2): the pages are there from then on, or ENOSPC is told now.
pub fn fallocate<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [fd, mode, offset, bytes, ..] = arguments.words();
    let file = *server.real_file(fd)?;
    if offset.cast_signed() < 0 || bytes.cast_signed() <= 0 {
        return Err(Errno::EINVAL);
    }
    if low_u32(mode) & !KEEP_SIZE != 0 {
        return Err(Errno::EOPNOTSUPP);
    }
    if !file.is_writable() {
        return Err(Errno::EBADF);
    }
    let id = match file.kind {
        OpenKind::Pipe(..) | OpenKind::Input | OpenKind::Output(_) => return Err(Errno::ESPIPE),
        OpenKind::Node(id) => id,
        _ => return Err(Errno::ENODEV),
    };
    let end = offset.checked_add(bytes).filter(|end| *end <= super::data::MOST_BYTES).ok_or(Errno::EFBIG)?;
    if low_u32(mode) & KEEP_SIZE == 0 && end > server.place_size(Place::Node(id)) {
        server.may_end_at(end)?;
    }
    server.fill_file(id, offset, end)?;
    if low_u32(mode) & KEEP_SIZE == 0 {
        let object = server.file_object(id)?;
        server.memory.objects.extend(object, end);
    }
    let now = server.now();
    if let Some(node) = server.files.tree.get_mut(id) {
        node.touch(now, Touched::Content);
    }
    Ok(0)
}

/// lseek(2).
pub fn lseek<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [fd, offset, whence, ..] = arguments.words();
    let file = *server.real_file(fd)?;
    if low_u32(whence) > SEEK_HOLE {
        return Err(Errno::EINVAL);
    }
    let offset = offset.cast_signed();
    let size = match file.kind {
        OpenKind::Node(id) => server.place_size(Place::Node(id)),
        OpenKind::Device(..) => return Ok(0),
        OpenKind::Proc(_) => 0,
        _ => return Err(Errno::ESPIPE),
    };
    let folder = server.is_directory(server.place_of(fd)?);
    let size = size.cast_signed();
    let inside = (0..size).contains(&offset);
    let target = match low_u32(whence) {
        0 => offset,
        1 => file.offset.cast_signed().checked_add(offset).ok_or(Errno::EINVAL)?,
        2 | SEEK_DATA | SEEK_HOLE if matches!(file.kind, OpenKind::Proc(_)) || folder => {
            return Err(Errno::EINVAL);
        }
        2 => size.checked_add(offset).ok_or(Errno::EINVAL)?,
        SEEK_DATA | SEEK_HOLE if !inside => return Err(Errno::ENXIO),
        SEEK_DATA => server.next_data(file.kind, offset.cast_unsigned(), size.cast_unsigned())?,
        SEEK_HOLE => server.next_hole(file.kind, offset.cast_unsigned()).cast_signed().min(size),
        _ => return Err(Errno::EINVAL),
    };
    let target = u64::try_from(target).map_err(|_| Errno::EINVAL)?;
    server.open_file_mut(fd)?.offset = target;
    Ok(target)
}

/// fsync(2), fdatasync(2): memory is all there is to write to.
pub fn fsync<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    match server.real_file(arguments.word(0))?.kind {
        OpenKind::Node(_) | OpenKind::Proc(_) => Ok(0),
        _ => Err(Errno::EINVAL),
    }
}

/// syncfs(2).
pub fn syncfs<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    server.real_file(arguments.word(0)).map(|_| 0)
}

/// sync(2).
pub fn sync<H: Host>(_: &mut Server<H>, _: Arguments) -> Result<u64, Errno> {
    Ok(0)
}

/// fadvise64(2): everything is in memory anyway.
pub fn fadvise64<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [fd, _, bytes, advice, ..] = arguments.words();
    match server.real_file(fd)?.kind {
        OpenKind::Pipe(..) | OpenKind::Input | OpenKind::Output(_) => Err(Errno::ESPIPE),
        _ if low_u32(advice) > 5 || bytes.cast_signed() < 0 => Err(Errno::EINVAL),
        _ => Ok(0),
    }
}

/// readahead(2): likewise.
pub fn readahead<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let file = server.real_file(arguments.word(0))?;
    if !file.is_readable() {
        return Err(Errno::EBADF);
    }
    match file.kind {
        OpenKind::Node(_) if !server.is_directory(server.place_of(arguments.word(0))?) => Ok(0),
        _ => Err(Errno::EINVAL),
    }
}

impl<H: Host> Server<H> {
    /// Where data begins at or behind an offset.
    fn next_data(&self, kind: OpenKind, offset: u64, size: u64) -> Result<i64, Errno> {
        let OpenKind::Node(id) = kind else { return Err(Errno::ENXIO) };
        let found = match self.file_data(id)? {
            FileData::Archive(_) => offset,
            FileData::Pages(object) => {
                let page = self.memory.objects.next_data(object, Page::of(offset)).ok_or(Errno::ENXIO)?;
                page.address().max(offset)
            }
        };
        if found < size { Ok(found.cast_signed()) } else { Err(Errno::ENXIO) }
    }

    /// Where a hole begins at or behind an offset; a file's end is one.
    fn next_hole(&self, kind: OpenKind, offset: u64) -> u64 {
        match kind {
            OpenKind::Node(id) => match self.file_data(id) {
                Ok(FileData::Pages(object)) => {
                    self.memory.objects.next_hole(object, Page::of(offset)).address().max(offset)
                }
                _ => u64::MAX >> 1,
            },
            _ => u64::MAX >> 1,
        }
    }

    /// Gives a file every page of a range.
    fn fill_file(&mut self, id: NodeId, offset: u64, end: u64) -> Result<(), Errno> {
        let object = self.file_object(id)?;
        let pages = PageRange { start: Page::of(offset), end: Page(end.div_ceil(PAGE_BYTES)) };
        if pages.pages() > self.memory.frames.free_count() + self.memory.objects.own_pages(object) {
            return Err(Errno::ENOSPC);
        }
        for page in pages.iter() {
            if self.memory.objects.filled(object, page).is_none()
                && !self.memory.has_room_for_files(&self.host)
            {
                return Err(Errno::ENOSPC);
            }
            let memory = &mut self.memory;
            let filled = memory.objects.page_beyond(object, page, &mut memory.frames, &mut self.host);
            filled.ok_or(Errno::ENOSPC)?;
        }
        Ok(())
    }
}
