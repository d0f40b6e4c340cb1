//! Frames: where everything lies, on which stack, with which records (CASES 25, 26).

use super::*;
use crate::Errno;
use crate::host::Width;
use crate::mock::MockVectors;
use crate::process::{Signal, Status};
use crate::server::Event;

const SIGALTSTACK: u64 = 132;
const ONSTACK: u64 = 0x0800_0000;

fn vectors(width: Width) -> MockVectors {
    let mut vectors = MockVectors { width, fcc: 0x0101_0001, fcsr: 0x300, ..MockVectors::default() };
    for (number, register) in vectors.registers.iter_mut().enumerate() {
        for (lane, word) in register.iter_mut().take(width.lanes()).enumerate() {
            *word = 0x1000 * number as u64 + lane as u64;
        }
    }
    vectors
}

/// The record's head, where its payload lies, and where END does.
fn record(driver: &mut Driver) -> (u32, u64, u64) {
    let head = driver.sp() + 576;
    let size = u64::from(driver.half(head + 4));
    (driver.half(head), head + 16, head + size)
}

#[test]
fn records_are_as_wide_as_what_is_in_use_and_come_back() {
    for (width, magic, payload) in
        [(Width::Fp, 0x4650_5501, 272), (Width::Lsx, 0x5358_0001, 528), (Width::Lasx, 0x4153_5801, 1040)]
    {
        for shift in [0, 8, 16, 24] {
            let mut driver = running();
            driver.handle(10, 0, 0);
            driver.registers().general[3] = STACK - shift;
            let context = driver.context().unwrap();
            let before = vectors(width);
            driver.server().host.context(context).vectors = before;
            driver.server().host.capabilities = 0x3f;
            driver.kill_self(10);
            let sp = driver.sp();
            let (found, at, end) = record(&mut driver);
            assert_eq!((found, driver.half(sp + 568)), (magic, 1));
            assert!(at.is_multiple_of(if width == Width::Lasx { 32 } else { 16 }) && sp.is_multiple_of(16));
            assert!(end >= at + payload && end + 16 <= STACK - shift && end + 16 > STACK - shift - 16);
            assert_eq!(driver.peek(end, 16), [0; 16]);
            let lanes = width.lanes() as u64;
            assert_eq!(driver.peek_word(at + 5 * 8 * lanes), 0x5000);
            assert_eq!(driver.peek_word(at + 32 * 8 * lanes), before.fcc);
            assert_eq!(driver.half(at + 32 * 8 * lanes + 8), before.fcsr);
            // The handler uses the unit, and changes what is to come back.
            driver.server().host.context(context).vectors = vectors(Width::Lasx);
            driver.poke(at + 5 * 8 * lanes, &7_u64.to_le_bytes());
            driver.poke(at + 32 * 8 * lanes + 8, &0x100_u32.to_le_bytes());
            driver.sigreturn();
            let after = driver.server().host.context(context).vectors;
            assert_eq!((after.width, after.registers[5][0], after.fcsr), (width, 7, 0x100));
            assert_eq!(after.registers[6..], before.registers[6..]);
        }
    }
}

/// The usual record is loaded at once; one whose END is on a page that is not there yet, that lies askew or that another one
/// follows is gone through, and comes to the same.
#[test]
fn a_record_comes_back_from_wherever_its_frame_lies() {
    for width in [Width::Fp, Width::Lsx, Width::Lasx] {
        for place in ["as it was", "END on a new page", "askew", "askew before END", "another record"] {
            let mut driver = running();
            driver.handle(10, 0, 0);
            driver.set_mask(bit(12));
            let context = driver.context().unwrap();
            let before = vectors(width);
            driver.server().host.context(context).vectors = before;
            driver.server().host.capabilities = 0x3f;
            driver.kill_self(10);
            assert_eq!(driver.handled(), Some(10));
            let (_, _, end) = record(&mut driver);
            let frame = driver.sp();
            let bytes = end - frame;
            let copy = driver.peek(frame, usize::try_from(bytes).unwrap());
            let to = match place {
                "as it was" => frame,
                // Nobody has touched that page: what is read there is END.
                "END on a new page" => SCRATCH + 0x8000 - bytes,
                "askew" | "askew before END" => SCRATCH + 0x1004,
                _ => SCRATCH + 0x1000,
            };
            driver.poke(to, &copy);
            if place == "askew before END" {
                let size = u32::try_from(bytes - 576).unwrap();
                driver.poke(to + 576 + 4, &(size + 4).to_le_bytes());
            }
            if place == "another record" {
                // LBT's, which is passed over.
                driver.poke(to + bytes, &0x4254_0001_u32.to_le_bytes());
                driver.poke(to + bytes + 4, &64_u32.to_le_bytes());
            }
            driver.registers().general[3] = to;
            driver.server().host.context(context).vectors = MockVectors::default();
            driver.sigreturn();
            let case = (width, place);
            assert_eq!(driver.server().host.context(context).vectors, before, "{case:?}");
            assert_eq!((driver.sp(), driver.mask(), driver.a0()), (STACK, bit(12), 0), "{case:?}");
        }
    }
}

#[test]
fn what_a_handler_used_is_not_the_programs() {
    let mut driver = running();
    driver.handle(10, 0, 0);
    driver.kill_self(10);
    let context = driver.context().unwrap();
    let frame = driver.sp();
    assert_eq!(frame, STACK - 16 - 576);
    assert_eq!(driver.peek(frame + 568, 24), [0; 24], "no flags, END");
    driver.server().host.context(context).vectors = vectors(Width::Lsx);
    driver.sigreturn();
    assert_eq!(driver.server().host.context(context).vectors, MockVectors::default());
}

#[test]
fn an_enabled_cause_in_fcsr_is_a_sigfpe() {
    let mut driver = running();
    driver.handle(10, 0, 0);
    driver.handle(8, 0, 0);
    let context = driver.context().unwrap();
    driver.server().host.context(context).vectors = vectors(Width::Fp);
    driver.server().host.capabilities = 0x3f;
    driver.kill_self(10);
    let (_, at, _) = record(&mut driver);
    let fcsr: u32 = 0x10 | 1 << 28 | 1 << 24;
    driver.poke(at + 264, &fcsr.to_le_bytes());
    driver.sigreturn();
    assert_eq!(driver.handled(), Some(8));
    assert_eq!(driver.server().host.context(context).vectors.fcsr, 0x10 | 1 << 24);
}

#[test]
fn alternate_stacks_are_set_told_and_used() {
    let mut driver = running();
    let set = |driver: &mut Driver, start: u64, flags: u32, bytes: u64| {
        driver.poke(DATA, &start.to_le_bytes());
        driver.poke(DATA + 8, &flags.to_le_bytes());
        driver.poke(DATA + 16, &bytes.to_le_bytes());
        driver.result(SIGALTSTACK, [DATA, 0, 0, 0, 0, 0])
    };
    let told = |driver: &mut Driver| {
        assert_eq!(driver.result(SIGALTSTACK, [0, DATA, 0, 0, 0, 0]), Ok(0));
        (driver.peek_word(DATA), driver.half(DATA + 8), driver.peek_word(DATA + 16))
    };
    assert_eq!(told(&mut driver), (0, 2, 0));
    assert_eq!(set(&mut driver, SCRATCH, 0, 4095), Err(Errno::ENOMEM));
    assert_eq!(set(&mut driver, SCRATCH, 4, 8192), Err(Errno::EINVAL));
    assert_eq!(set(&mut driver, u64::MAX - 8, 0, 1 << 20), Ok(0), "Linux takes one that wraps");
    assert_eq!(set(&mut driver, SCRATCH, 0, 0x2000), Ok(0));
    assert_eq!(told(&mut driver), (SCRATCH, 0, 0x2000));
    driver.handle(10, ONSTACK, 0);
    driver.handle(12, ONSTACK, 0);
    driver.handle(14, 0, 0);
    driver.kill_self(14);
    assert_eq!(driver.sp(), STACK - 592, "not asked for");
    driver.sigreturn();
    driver.kill_self(10);
    let first = driver.sp();
    assert_eq!(first, SCRATCH + 0x2000 - 592);
    assert_eq!(driver.peek_word(first + 144), SCRATCH, "uc_stack");
    assert_eq!(driver.peek_word(first + REGISTERS + 8 + 24), STACK);
    assert_eq!(told(&mut driver), (SCRATCH, 1, 0x2000), "SS_ONSTACK");
    assert_eq!(set(&mut driver, SCRATCH, 0, 0x3000), Err(Errno::EPERM));
    // A nested one goes on below, not from the top.
    driver.kill_self(12);
    assert_eq!(driver.sp(), first - 592);
    driver.sigreturn();
    driver.sigreturn();
    assert_eq!(driver.sp(), STACK);
    assert_eq!(told(&mut driver), (SCRATCH, 0, 0x2000));
    assert_eq!(set(&mut driver, 0, 2, 0), Ok(0));
    assert_eq!(told(&mut driver), (0, 2, 0));
}

#[test]
fn an_autodisarmed_stack_is_gone_in_the_handler_and_back_after_it() {
    let mut driver = running();
    driver.poke(DATA, &SCRATCH.to_le_bytes());
    driver.poke(DATA + 8, &0x8000_0000_u64.to_le_bytes());
    driver.poke(DATA + 16, &0x2000_u64.to_le_bytes());
    assert_eq!(driver.result(SIGALTSTACK, [DATA, 0, 0, 0, 0, 0]), Ok(0));
    driver.handle(10, ONSTACK, 0);
    driver.kill_self(10);
    assert_eq!(driver.sp(), SCRATCH + 0x2000 - 592);
    driver.result(SIGALTSTACK, [0, DATA, 0, 0, 0, 0]).unwrap();
    assert_eq!(driver.half(DATA + 8), 2);
    driver.sigreturn();
    driver.result(SIGALTSTACK, [0, DATA, 0, 0, 0, 0]).unwrap();
    assert_eq!((driver.peek_word(DATA), driver.half(DATA + 8)), (SCRATCH, 0x8000_0000));
}

#[test]
fn a_stack_that_is_none_or_full_is_a_sigsegv() {
    let ended = |driver: &mut Driver| match driver.server().events.pop_front() {
        Some(Event::Ended(_, status)) => status,
        None => panic!("it goes on"),
    };
    for sp in [0, 0x8000, 1 << 47, u64::MAX, 0x9000_0000_0000_0000, SCRATCH + 100] {
        let mut driver = running();
        driver.handle(10, 0, 0);
        driver.registers().general[3] = sp;
        assert_eq!(driver.kill_self(10), None);
        assert_eq!(driver.next, Next::Finished, "{sp:#x}");
        assert_eq!(ended(&mut driver), Status::Killed(Signal(11)));
    }
    // With an alternate stack the program hears of it there.
    let mut driver = running();
    driver.poke(DATA, &SCRATCH.to_le_bytes());
    driver.poke(DATA + 8, &0_u64.to_le_bytes());
    driver.poke(DATA + 16, &0x2000_u64.to_le_bytes());
    driver.result(SIGALTSTACK, [DATA, 0, 0, 0, 0, 0]).unwrap();
    driver.handle(10, 0, 0);
    driver.handle(11, ONSTACK, 0);
    driver.registers().general[3] = 0x8000;
    driver.kill_self(10);
    assert_eq!(driver.handled(), Some(11));
    assert_eq!(driver.sp(), SCRATCH + 0x2000 - 592);
    // An overflow of the alternate stack itself ends it.
    driver.registers().general[3] = SCRATCH + 100;
    driver.handle(12, 0, 0);
    assert_eq!(driver.kill_self(12), None);
    assert_eq!(ended(&mut driver), Status::Killed(Signal(11)));
}

/// CASES 22: whatever a handler puts into the saved registers is what goes on.
#[test]
fn every_saved_register_and_the_pc_come_back_as_the_handler_left_them() {
    let mut driver = running();
    driver.handle(10, 0, 0);
    driver.kill_self(10);
    let frame = driver.sp();
    let pc = driver.peek_word(frame + REGISTERS);
    driver.poke(frame + REGISTERS, &(pc + 4).to_le_bytes());
    for number in 0..32_u64 {
        driver.poke(frame + REGISTERS + 8 + number * 8, &(0xabc0_0000 + number).to_le_bytes());
    }
    driver.sigreturn();
    let registers = *driver.registers();
    assert_eq!(registers.pc, pc + 4);
    for number in 1..32 {
        assert_eq!(registers.general[number], 0xabc0_0000 + number as u64);
    }
}
