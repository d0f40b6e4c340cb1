//! Pages that several spaces or areas show.

use super::{PRIVATE, RW, SHARED, World, check};
use crate::address::PAGE_BYTES;
use crate::host::{ContextId, Host, SpaceId};
use crate::memory::area::Protection;
use crate::memory::fault::Access;
use crate::memory::mmap::MapRequest;
use crate::memory::space::Space;
use std::vec::Vec;

#[test]
fn a_copied_space_shares_pages_until_somebody_stores() {
    let mut world = World::new(64);
    let at = world.map(0, 4, RW, PRIVATE).unwrap();
    let shared = world.map(0, 4, RW, SHARED).unwrap();
    for page in 0..3 {
        assert!(world.poke(at + page * PAGE_BYTES, 1 + u8::try_from(page).unwrap()));
    }
    assert!(world.poke(shared, 50));
    let free = world.memory.frames.free_count();
    let mut child = Space::new(SpaceId(2));
    world.view().fork_into(&mut child).unwrap();
    assert_eq!(world.memory.frames.free_count(), free, "nothing was copied yet");
    check(&world);
    let mut other = Vec::new();
    core::mem::swap(&mut world.space, &mut child);
    world.host.set_space(ContextId(1), SpaceId(2));
    check(&world);
    for page in 0..4 {
        other.push(world.peek(at + page * PAGE_BYTES));
    }
    assert_eq!(other, [Some(1), Some(2), Some(3), Some(0)]);
    assert!(world.poke(at, 9) && world.poke(shared, 51) && world.poke(shared + PAGE_BYTES, 52));
    check(&world);
    core::mem::swap(&mut world.space, &mut child);
    world.host.set_space(ContextId(1), SpaceId(1));
    assert_eq!(world.peek(at), Some(1), "the parent keeps its own");
    assert_eq!((world.peek(shared), world.peek(shared + PAGE_BYTES)), (Some(51), Some(52)));
    core::mem::swap(&mut world.space, &mut child);
    world.view().clear();
    core::mem::swap(&mut world.space, &mut child);
    let before = world.memory.frames.free_count();
    assert!(world.poke(at + PAGE_BYTES, 7));
    assert_eq!(world.memory.frames.free_count(), before, "the last owner stores without a copy");
    world.view().clear();
    assert_eq!(world.memory.frames.free_count(), world.memory.frames.total() - 1);
}

#[test]
fn file_pages_that_are_there_are_mapped_in_one_list() {
    static BYTES: [u8; 8 * 16384] = [3; 8 * 16384];
    let mut world = World::new(64);
    let object = world.memory.objects.create(crate::memory::object::Source::Bytes(&BYTES), 8 * PAGE_BYTES, 1);
    let file = crate::memory::mmap::MappedFile {
        object,
        shared_most: Protection::READ,
        readable: crate::memory::mmap::Readable::Yes,
    };
    let request = MapRequest {
        address: 0,
        bytes: 8 * PAGE_BYTES,
        protection: 5,
        flags: 2,
        file: Some(file),
        offset: 0,
    };
    let first = world.view().mmap(&request).unwrap();
    for page in 0..8 {
        assert_eq!(world.peek(first + page * PAGE_BYTES), Some(3));
    }
    let second = world.view().mmap(&request).unwrap();
    let calls = world.host.map_calls;
    world.view().map_text_ahead();
    assert_eq!((world.host.map_calls, world.host.mapped.len()), (calls + 1, 16));
    let third = world.view().mmap(&request).unwrap();
    world.view().resolve(third + PAGE_BYTES, Access::Fetch).unwrap();
    assert_eq!(world.host.mapped.len(), 20, "the pages around it came along");
    check(&world);
    for at in [first, second, third] {
        world.view().munmap(at, 8 * PAGE_BYTES).unwrap();
    }
    assert!(world.host.mapped.is_empty());
}
