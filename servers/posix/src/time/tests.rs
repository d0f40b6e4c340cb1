//! Clocks and sleeping.

use crate::Errno;
use crate::process::schedule::Next;
use crate::testing::driver::{Driver, SCRATCH};

#[test]
fn clocks_say_what_the_machine_says() {
    let mut driver = Driver::with_scratch();
    driver.server().host.now_ns = 12_345_678_901;
    assert_eq!(driver.call(113, [1, SCRATCH, 0, 0, 0, 0]), Some(0));
    assert_eq!((driver.peek_word(SCRATCH), driver.peek_word(SCRATCH + 8)), (12, 345_678_901));
    assert_eq!(driver.call(113, [0, SCRATCH, 0, 0, 0, 0]), Some(0));
    assert_eq!(driver.peek_word(SCRATCH), 1_700_000_012);
    for bad in [10, 12, 16, u64::MAX] {
        assert_eq!(driver.result(113, [bad, SCRATCH, 0, 0, 0, 0]), Err(Errno::EINVAL), "{bad}");
    }
    assert_eq!(driver.call(114, [6, SCRATCH, 0, 0, 0, 0]), Some(0));
    assert_eq!(driver.peek_word(SCRATCH + 8), 4_000_000);
    assert_eq!(driver.call(114, [1, 0, 0, 0, 0, 0]), Some(0));
}

#[test]
fn a_sleeper_sleeps_its_time() {
    let mut driver = Driver::with_scratch();
    driver.poke(SCRATCH, &2_u64.to_le_bytes());
    driver.poke(SCRATCH + 8, &5_u64.to_le_bytes());
    let start = driver.server().host.now_ns;
    assert_eq!(driver.call(101, [SCRATCH, 0, 0, 0, 0, 0]), None);
    assert_eq!(driver.next, Next::Idle);
    assert_eq!(driver.server().host.alarm, Some(start + 2_000_000_005));
    driver.server().host.now_ns = start + 2_000_000_005;
    driver.wake();
    assert_eq!(driver.a0(), 0);
    driver.poke(SCRATCH + 8, &1_000_000_000_u64.to_le_bytes());
    assert_eq!(driver.result(101, [SCRATCH, 0, 0, 0, 0, 0]), Err(Errno::EINVAL));
    driver.poke(SCRATCH, &u64::MAX.to_le_bytes());
    driver.poke(SCRATCH + 8, &0_u64.to_le_bytes());
    assert_eq!(driver.result(115, [1, 0, SCRATCH, 0, 0, 0]), Err(Errno::EINVAL));
    assert_eq!(driver.result(115, [3, 0, SCRATCH, 0, 0, 0]), Err(Errno::EINVAL));
    assert_eq!(driver.result(115, [4, 0, SCRATCH, 0, 0, 0]), Err(Errno::EOPNOTSUPP));
}

#[test]
fn an_absolute_sleep_that_is_over_does_not_last() {
    let mut driver = Driver::with_scratch();
    driver.poke(SCRATCH, &[0; 16]);
    assert_eq!(driver.call(115, [1, 1, SCRATCH, 0, 0, 0]), None);
    driver.wake();
    assert_eq!(driver.a0(), 0);
}
