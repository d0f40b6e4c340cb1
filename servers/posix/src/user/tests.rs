//! Pointers that no program may name, and copies that end where the program's memory does.

use super::{Short, UserPtr, UserSlice};
use crate::Errno;
use crate::address::{LOWER_HALF_END, PAGE_BYTES};
use crate::memory::mmap::MapRequest;
use crate::memory::tests::World;
use std::vec;
use std::vec::Vec;

#[test]
fn a_range_ends_at_most_at_the_lower_halfs_end() {
    let end = LOWER_HALF_END;
    for (address, bytes, good) in [
        (0, 0, true),
        (end, 0, true),
        (end - 8, 8, true),
        (end - 7, 8, false),
        (end + 1, 0, false),
        (0xffff_8000_0000_0000, 1, false),
        (0x9000_0000_0000_0000, 8, false),
        (u64::MAX, 2, false),
        (8, u64::MAX, false),
    ] {
        assert_eq!(UserSlice::new(address, bytes).is_ok(), good, "{address:#x} + {bytes:#x}");
    }
    assert!(UserPtr::<u64>::new(end - 7).is_err());
    assert!(UserPtr::<u64>::optional(0).unwrap().is_none());
}

#[test]
fn a_copy_ends_at_the_first_byte_that_is_not_there() {
    let mut world = World::new(64);
    let map = |address, protection| MapRequest {
        address,
        bytes: PAGE_BYTES,
        protection,
        flags: 0x32,
        file: None,
        offset: 0,
    };
    let base = 1 << 30;
    let mut view = world.view();
    view.mmap(&map(base, 3)).unwrap();
    view.mmap(&map(base + PAGE_BYTES, 1)).unwrap();
    let over = UserSlice::new(base + PAGE_BYTES - 10, 100).unwrap();
    assert_eq!(view.write_bytes(&[1; 100], over), Err(Short { done: 10 }));
    let mut back = vec![9; 100];
    assert_eq!(view.read_bytes(over, &mut back), Ok(()));
    assert_eq!(back, [[1; 10].as_slice(), &[0; 90]].concat());
    let past = UserSlice::new(base + 2 * PAGE_BYTES - 3, 9).unwrap();
    assert_eq!(view.read_bytes(past, &mut back[..9]), Err(Short { done: 3 }));
    assert_eq!(view.write_zeros(past), Err(Short { done: 0 }));
    assert_eq!(view.write_other(&[5; 30], UserSlice::new(base, 30).unwrap()), Ok(()));
    assert_eq!(view.read(UserPtr::<u64>::new(base + 24).unwrap()), Ok(0x0505_0505_0505));
}

#[test]
fn a_string_ends_before_a_hole_or_is_refused() {
    let mut world = World::new(64);
    let base = 1 << 30;
    let request =
        MapRequest { address: base, bytes: PAGE_BYTES, protection: 3, flags: 0x32, file: None, offset: 0 };
    let mut view = world.view();
    view.mmap(&request).unwrap();
    let at = base + PAGE_BYTES - 5;
    view.write_bytes(b"abcd\0", UserSlice::new(at, 5).unwrap()).unwrap();
    let mut text = Vec::new();
    assert_eq!(view.read_string(at, 4096, &mut text), Ok(()));
    assert_eq!(text, b"abcd");
    assert_eq!(view.read_string(at, 4, &mut text), Err(Errno::ENAMETOOLONG));
    view.write_bytes(b"e", UserSlice::new(at + 4, 1).unwrap()).unwrap();
    assert_eq!(view.read_string(at, 4096, &mut text), Err(Errno::EFAULT));
    assert_eq!(view.read_string(u64::MAX - 3, 4096, &mut text), Err(Errno::EFAULT));
}

/// Planted: a copy from an address that nobody checked. The mock ends the test, as every test here relies on.
#[test]
#[should_panic(expected = "on a program's behalf")]
fn the_mock_finds_an_unchecked_pointer() {
    use crate::host::Host;
    let mut world = World::new(64);
    let _ = world.host.copy_in(0xffff_8000_0000_0000, &mut [0]);
}
