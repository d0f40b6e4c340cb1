//! Memory ends: who is killed, and what is refused.

use crate::Errno;
use crate::file::descriptor::Descriptors;
use crate::host::Reserve;
use crate::memory::fault::{Access, Refused};
use crate::process::Signal;
use crate::process::fault::Fault;
use crate::testing::driver::{Driver, SCRATCH};
use std::vec::Vec;

/// Store: a page that is written for the first time.
const fn store(address: u64) -> Fault {
    Fault { cause: 2 << 16, address, instruction: 0 }
}

/// The child has touched most, and its parent lives on with the page that it wanted.
#[test]
fn who_has_most_is_killed_when_frames_end() {
    let mut driver = Driver::with_scratch();
    let child = driver.fork();
    driver.give_way();
    assert_eq!(driver.pid(), child);
    let pages = 100;
    let area = driver.call(222, [0, pages * 0x4000, 3, 0x22, u64::MAX, 0]).unwrap();
    for page in 0..pages {
        driver.poke(area + page * 0x4000, &[1]);
    }
    driver.give_way();
    assert_eq!(driver.pid(), 2);
    let all: Vec<_> = core::iter::from_fn(|| driver.server().memory.frames.take()).collect();
    assert!(!all.is_empty());
    let fault = store(SCRATCH + 0x8000);
    driver.next = driver.posix.faulted(fault);
    assert_eq!(driver.pid(), 2);
    assert_eq!(driver.peek(SCRATCH + 0x8000, 1), [0]);
    assert!(driver.server().host.logged.iter().any(|line| line.contains("killed process 3 (program)")));
    assert_eq!(driver.call(260, [child, SCRATCH, 0, 0, 0, 0]), Some(child));
    assert_eq!(driver.peek_word(SCRATCH) & 0x7f, u64::from(Signal::SIGKILL.0));
}

/// With the last of the server's memory nobody touches a new page, the last program neither.
#[test]
fn the_last_of_the_servers_memory_is_nobodys() {
    let mut driver = Driver::with_scratch();
    driver.server().host.reserve = Reserve::Last;
    let refused = driver.server().view().unwrap().resolve(SCRATCH + 0x4000, Access::Store);
    assert_eq!(refused, Err(Refused::OutOfMemory));
    let fault = store(SCRATCH + 0x4000);
    driver.next = driver.posix.faulted(fault);
    assert_eq!(driver.context(), None);
    assert!(driver.server().host.logged.iter().any(|line| line.contains("out of memory: killed process 2")));
}

/// What a child would have of its parent's is looked at by its size.
#[test]
fn a_copy_that_the_server_has_no_room_for_is_refused() {
    let mut driver = Driver::with_scratch();
    driver.server().host.spare = Some((1 << 16) - 1);
    let child = driver.fork();
    assert!(child > 2);
    driver.poke(SCRATCH, &[0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0]);
    assert_eq!(driver.call(261, [0, 7, SCRATCH, 0, 0, 0]), Some(0));
    assert_eq!(driver.call(24, [0, 0x1fff, 0, 0, 0, 0]), Some(0x1fff));
    let id = driver.server().process().unwrap().files.descriptors;
    assert!(driver.server().files.descriptors.get(id).map_or(0, Descriptors::bytes) >= 1 << 16);
    assert_eq!(driver.result(220, [17, 0, 0, 0, 0, 0]), Err(Errno::ENOMEM));
}
