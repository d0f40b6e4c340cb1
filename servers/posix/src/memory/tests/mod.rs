//! Memory: a world of one space, and what must hold in it; the tests are in the files beside.

mod calls;
mod model;
mod sharing;

use super::area::{Protection, Sharing};
use super::mmap::MapRequest;
use super::space::{Memory, Space, View};
use crate::Errno;
use crate::address::{PAGE_BYTES, Page};
use crate::host::{ContextId, Host, PageRights, SpaceId};
use crate::mock::Mock;
use crate::user::UserSlice;

pub(crate) struct World {
    pub(crate) host: Mock,
    pub(crate) memory: Memory,
    pub(crate) space: Space,
}

impl World {
    pub(crate) fn new(frames: u32) -> Self {
        let mut host = Mock::new();
        let memory = Memory::new(&mut host, &[frames / 2, frames - frames / 2]);
        host.set_space(ContextId(1), SpaceId(1));
        host.switch(ContextId(1));
        Self { host, memory, space: Space::new(SpaceId(1)) }
    }

    pub(crate) fn view(&mut self) -> View<'_, Mock> {
        View { host: &mut self.host, memory: &mut self.memory, space: &mut self.space }
    }

    pub(super) fn map(
        &mut self,
        address: u64,
        pages: u64,
        protection: u32,
        flags: u32,
    ) -> Result<u64, Errno> {
        let request =
            MapRequest { address, bytes: pages * PAGE_BYTES, protection, flags, file: None, offset: 0 };
        self.view().mmap(&request)
    }

    pub(super) fn poke(&mut self, address: u64, byte: u8) -> bool {
        self.view().write_bytes(&[byte], UserSlice::new(address, 1).unwrap()).is_ok()
    }

    pub(super) fn peek(&mut self, address: u64) -> Option<u8> {
        let mut byte = [0];
        self.view().read_bytes(UserSlice::new(address, 1).unwrap(), &mut byte).ok().map(|()| byte[0])
    }
}

pub(super) const PRIVATE: u32 = 0x22;
pub(super) const SHARED: u32 = 0x21;
pub(super) const FIXED: u32 = 0x10;
pub(super) const RW: u32 = 3;

/// The tables map only what the areas allow, to the frames that the server knows.
pub(super) fn check(world: &World) {
    let mapped = world.host.mapped.iter().filter(|((space, _), _)| *space == world.space.id);
    for ((_, page), (at, rights)) in mapped {
        let area = world.space.areas.find(Page(*page)).expect("mapped outside of any area");
        let frame = world.space.pages.get(Page(*page)).expect("mapped a page without frame");
        assert_eq!(world.memory.frames.locate(frame), *at);
        let write = rights.contains(PageRights::WRITE);
        assert!(!write || area.protection.contains(Protection::WRITE));
        let shared = area.sharing == Sharing::Shared;
        assert!(!write || shared || world.memory.frames.is_exclusive(frame), "not is_exclusive");
        assert!(!area.protection.is_empty());
    }
    let pages: u64 = world.space.areas.iter().map(|area| area.range.pages()).sum();
    assert_eq!(pages, world.space.area_pages);
}
