//! The calls on memory against the kernel that this test runs on, if that is Linux on a 64-bit machine.
//!
//! Sequences of calls on a region of 64 pages, page sizes aside: results and errors must be the same, and at
//! the end what /proc/self/maps says of each page.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![expect(
    unsafe_code,
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    reason = "an oracle: raw calls in a test"
)]
#![expect(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "a test may end by a panic")]

use posix::address::{PAGE_BYTES, Page};
use posix::host::{ContextId, Host, SpaceId};
use posix::memory::area::Sharing;
use posix::memory::mmap::MapRequest;
use posix::memory::space::{Memory, Space, View};
use posix::mock::Mock;
use proptest::prelude::*;

const PAGES: u64 = 64;
/// The page size of the machine that the test runs on.
const NATIVE: u64 = 4096;
/// Where the region lies on Linux.
const FAR: u64 = 1 << 45;
/// Where the region lies here.
const BASE: u64 = 1 << 40;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Map { page: u64, pages: u64, protection: u32, flags: u32 },
    Unmap { page: u64, pages: u64, odd: u64 },
    Protect { page: u64, pages: u64, protection: u32, odd: u64 },
    Remap { page: u64, old: u64, new: u64, flags: u32, to: u64 },
    Advise { page: u64, pages: u64, advice: u32 },
    Sync { page: u64, pages: u64, flags: u32 },
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let page = || 0..PAGES - 8;
    let odd = || prop_oneof![9 => Just(0_u64), 1 => 1..4_u64];
    // FIXED, or FIXED_NOREPLACE; PRIVATE, and now and then a type that is none. Shared mappings have their
    // own rule for addresses on LoongArch.
    let flags = prop_oneof![5 => Just(0x32_u32), 2 => Just(0x10_0022), 1 => Just(0x30), 1 => Just(0x33)];
    let protection =
        || prop_oneof![12 => 0..8_u32, 1 => Just(0x10_u32), 1 => Just(0x100_0001), 1 => Just(0x300_0000)];
    // RANDOM and SEQUENTIAL divide areas on Linux, which mremap then sees; here they do nothing.
    let advice = prop_oneof![Just(0_u32), 3..5_u32, Just(8), Just(77)];
    let call =
        prop_oneof![
            (page(), 0..8_u64, 0..8_u32, flags).prop_map(|(page, pages, protection, flags)| Call::Map {
                page,
                pages,
                protection,
                flags
            }),
            (page(), 0..8_u64, odd()).prop_map(|(page, pages, odd)| Call::Unmap { page, pages, odd }),
            (page(), 0..8_u64, protection(), odd())
                .prop_map(|(page, pages, protection, odd)| Call::Protect { page, pages, protection, odd }),
            (page(), 0..4_u64, 0..4_u64, prop_oneof![Just(0_u32), Just(3), Just(2), Just(8)], page())
                .prop_map(|(page, old, new, flags, to)| Call::Remap { page, old, new, flags, to }),
            (page(), 0..8_u64, advice).prop_map(|(page, pages, advice)| Call::Advise { page, pages, advice }),
            (page(), 0..8_u64, 0..9_u32).prop_map(|(page, pages, flags)| Call::Sync { page, pages, flags }),
        ];
    prop::collection::vec(call, 1..60)
}

/// Results in pages of the region, or errors by number.
type Outcome = Result<u64, u64>;

fn native(base: u64, call: Call) -> Outcome {
    let at = |page: u64| (base + page * NATIVE) as *mut libc::c_void;
    let bytes = |pages: u64| (pages * NATIVE) as usize;
    let result = unsafe {
        match call {
            Call::Map { page, pages, protection, flags } => {
                libc::mmap(at(page), bytes(pages), protection.cast_signed(), flags.cast_signed(), -1, 0)
                    as i64
            }
            Call::Unmap { page, pages, odd } => {
                i64::from(libc::munmap(at(page).byte_add(odd as usize), bytes(pages)))
            }
            Call::Protect { page, pages, protection, odd } => i64::from(libc::mprotect(
                at(page).byte_add(odd as usize),
                bytes(pages),
                protection.cast_signed(),
            )),
            Call::Remap { page, old, new, flags, to } => {
                libc::mremap(at(page), bytes(old), bytes(new), flags.cast_signed(), at(to)) as i64
            }
            Call::Advise { page, pages, advice } => {
                i64::from(libc::madvise(at(page), bytes(pages), advice.cast_signed()))
            }
            Call::Sync { page, pages, flags } => {
                i64::from(libc::msync(at(page), bytes(pages), flags.cast_signed()))
            }
        }
    };
    match result {
        -1 => Err(u64::try_from(std::io::Error::last_os_error().raw_os_error().unwrap()).unwrap()),
        0 => Ok(0),
        address => Ok((address.cast_unsigned() - base) / NATIVE),
    }
}

fn ours(view: &mut View<'_, Mock>, call: Call) -> Outcome {
    let at = |page: u64| BASE + page * PAGE_BYTES;
    let bytes = |pages: u64| pages * PAGE_BYTES;
    let result = match call {
        Call::Map { page, pages, protection, flags } => {
            let request = MapRequest {
                address: at(page),
                bytes: bytes(pages),
                protection,
                flags,
                file: None,
                offset: 0,
            };
            view.mmap(&request)
        }
        Call::Unmap { page, pages, odd } => view.munmap(at(page) + odd, bytes(pages)),
        Call::Protect { page, pages, protection, odd } => {
            view.mprotect(at(page) + odd, bytes(pages), protection)
        }
        Call::Remap { page, old, new, flags, to } => {
            view.mremap(at(page), bytes(old), bytes(new), flags, at(to))
        }
        Call::Advise { page, pages, advice } => view.madvise(at(page), bytes(pages), advice),
        Call::Sync { page, pages, flags } => view.msync(at(page), bytes(pages), flags),
    };
    match result {
        Err(error) => Err(error.raw()),
        Ok(0) => Ok(0),
        Ok(address) => Ok((address - BASE) / PAGE_BYTES),
    }
}

/// What each page of the region may be used for, as /proc/self/maps prints it.
fn native_pages(base: u64) -> Vec<Option<String>> {
    let mut pages = vec![None; PAGES as usize];
    for line in std::fs::read_to_string("/proc/self/maps").unwrap().lines() {
        let mut words = line.split(' ');
        let (start, end) = words.next().unwrap().split_once('-').unwrap();
        let (start, end) = (u64::from_str_radix(start, 16).unwrap(), u64::from_str_radix(end, 16).unwrap());
        let rights = words.next().unwrap().to_owned();
        for page in 0..PAGES {
            if (start..end).contains(&(base + page * NATIVE)) {
                pages[page as usize] = Some(rights.clone());
            }
        }
    }
    pages
}

fn our_pages(space: &Space) -> Vec<Option<String>> {
    let page = |page| {
        let area = space.areas.find(Page(BASE / PAGE_BYTES + page))?;
        let bits = area.protection.bits();
        let letter = |bit, letter| if bits & bit != 0 { letter } else { '-' };
        let sharing = if area.sharing == Sharing::Shared { 's' } else { 'p' };
        Some([letter(1, 'r'), letter(2, 'w'), letter(4, 'x'), sharing].iter().collect())
    };
    (0..PAGES).map(page).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300,
        failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn memory_calls_do_as_linux_does(calls in calls()) {
        // The region is reserved with room around it, far from where the C library maps, and emptied.
        let reserved = unsafe {
            libc::mmap(FAR as *mut libc::c_void, (3 * PAGES * NATIVE) as usize, 0, 0x10_4022, -1, 0) as u64
        };
        let base = reserved + PAGES * NATIVE;
        unsafe { libc::munmap(base as *mut libc::c_void, (PAGES * NATIVE) as usize) };
        let mut host = Mock::new();
        let mut memory = Memory::new(&mut host, &[4096]);
        host.set_space(ContextId(1), SpaceId(1));
        host.switch(ContextId(1));
        let mut space = Space::new(SpaceId(1));
        let mut differs = None;
        for call in calls {
            let mut view = View { host: &mut host, memory: &mut memory, space: &mut space };
            let (here, there) = (ours(&mut view, call), native(base, call));
            if here != there {
                differs = Some((call, here, there));
                break;
            }
        }
        let pages = native_pages(base);
        unsafe { libc::munmap(reserved as *mut libc::c_void, (3 * PAGES * NATIVE) as usize) };
        prop_assert_eq!(differs, None, "call, here, on Linux");
        prop_assert_eq!(our_pages(&space), pages);
    }
}
