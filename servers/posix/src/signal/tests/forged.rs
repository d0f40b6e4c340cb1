//! Frames that programs made up: what Linux refuses is a SIGSEGV, nothing harms the server.

use super::*;
use crate::host::Width;
use crate::mock::MockVectors;
use crate::process::{Pid, Signal, Status};
use crate::server::Event;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Bytes of a frame with an LASX record.
const FRAME: usize = 576 + 16 + 1056;

/// A program in a handler, with a record of that width; where its frame lies.
fn in_handler(width: Width) -> (Driver, u64) {
    let mut driver = running();
    driver.server().host.capabilities = 0x3f;
    let context = driver.context().unwrap();
    driver.server().host.context(context).vectors.width = width;
    driver.handle(10, 0, 0);
    driver.handle(11, 0, 0);
    driver.kill_self(10);
    let frame = driver.sp();
    (driver, frame)
}

/// Whether returning from a frame, as the test left it, was refused.
fn refused(driver: &mut Driver) -> bool {
    driver.sigreturn();
    if driver.next == Next::Finished {
        let killed = Event::Ended(Pid(2), Status::Killed(Signal(11)));
        assert_eq!(driver.server().events.pop_front(), Some(killed));
        return true;
    }
    driver.handled() == Some(11)
}

#[test]
fn every_form_of_a_wrong_record_is_refused() {
    let head = 576;
    let cases: [(&str, u64, u32, bool); 9] = [
        ("an unknown magic number", head, 0x1234_5678, true),
        ("one of another width, too short for it", head, 0x4153_5801, true),
        ("a narrower one", head, 0x4650_5501, false),
        ("a size below the least", head + 4, 16 + 271, true),
        ("a size of zero", head + 4, 0, true),
        ("a size beyond the stack", head + 4, 0x7fff_fff0, true),
        ("no end where it should be", head + 16 + 528, 0xdead_beef, true),
        ("a mask of everything", MASK, u32::MAX, false),
        ("an end at once", head, 0, false),
    ];
    for (what, at, word, wrong) in cases {
        let (mut driver, frame) = in_handler(Width::Lsx);
        driver.poke(frame + at, &word.to_le_bytes());
        assert_eq!(refused(&mut driver), wrong, "{what}");
    }
    // A width that the machine has not.
    let (mut driver, _) = in_handler(Width::Lasx);
    driver.server().host.capabilities = 0x1f;
    assert!(refused(&mut driver));
    // Frames that lie nowhere, or end there.
    for sp in [0, 8, (1 << 47) - 576, 1 << 47, u64::MAX - 7, SCRATCH + 0x1_0000 - 300] {
        let (mut driver, _) = in_handler(Width::None);
        driver.registers().general[3] = sp;
        assert!(refused(&mut driver), "{sp:#x}");
    }
}

/// A frame on the last page that a program may have, whose record says that it ends behind it.
#[test]
fn a_record_that_leaves_the_programs_half_is_refused() {
    const LAST: u64 = (1 << 47) - 0x4000;
    for beyond in [0, 8, 0x4000] {
        let (mut driver, frame) = in_handler(Width::Lsx);
        let copy = driver.peek(frame, 592);
        assert_eq!(driver.call(222, [LAST, 0x4000, 3, 0x32, 0, 0]), Some(LAST));
        driver.poke(LAST, &copy);
        let bytes = u32::try_from((1 << 47) + beyond - (LAST + 576)).unwrap();
        driver.poke(LAST + 576 + 4, &bytes.to_le_bytes());
        driver.registers().general[3] = LAST;
        assert!(refused(&mut driver), "{beyond}");
    }
}

#[test]
fn a_refused_frame_of_a_program_without_a_handler_kills() {
    let (mut driver, frame) = in_handler(Width::Fp);
    driver.act(11, 0, 0, 0);
    driver.poke(frame + 576, &1_u32.to_le_bytes());
    assert!(refused(&mut driver));
    assert_eq!(driver.next, Next::Finished);
}

#[test]
fn a_mask_from_a_frame_never_holds_off_sigkill_or_sigstop() {
    let (mut driver, frame) = in_handler(Width::None);
    driver.poke(frame + MASK, &u64::MAX.to_le_bytes());
    driver.sigreturn();
    assert_eq!(driver.mask(), !(bit(9) | bit(19)));
}

/// Mutations of frames, round by round: the server answers each, and says the same as a plain reading of it.
#[test]
fn mutated_frames_do_no_harm() {
    let long = std::env::var_os("BIXI_LONG").is_some();
    let rounds: u64 = if long { 1_000_000 } else { 100_000 };
    let seed = if long { u64::from(std::process::id()) } else { 1 };
    std::println!("seed {seed}, {rounds} mutations");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut accepted, mut declined) = (0_u64, 0_u64);
    let widths = [Width::None, Width::Fp, Width::Lsx, Width::Lasx];
    let (mut driver, mut frame) = in_handler(Width::Fp);
    let mut good = driver.peek(frame, FRAME);
    for round in 0..rounds {
        if round % 1000 == 0 {
            let width = widths[usize::try_from(random.next_u32() % 4).unwrap()];
            (driver, frame) = in_handler(width);
            good = driver.peek(frame, FRAME.min(usize::try_from(STACK + 0x1000 - frame).unwrap()));
        }
        let mut bytes = good.clone();
        for _ in 0..=random.next_u32() % 4 {
            mutate(&mut random, &mut bytes);
        }
        driver.poke(frame, &bytes);
        let expected = reads_well(&bytes);
        let context = driver.context().unwrap();
        *driver.registers() = Registers::ZERO;
        driver.registers().general[3] = frame;
        let thread = driver.thread();
        driver.call(SIGRETURN, [0; 6]);
        let Some(entered) = driver.context() else {
            // SIGFPE has no handler here; SIGSEGV has one, but kills if the frame's own mask holds it off.
            let held = u64::from_le_bytes(bytes[168..176].try_into().unwrap()) & bit(11) != 0;
            assert!(expected.is_none() || (expected == Some(false) && held), "round {round}: {expected:?}");
            (driver, frame) = in_handler(Width::Fp);
            good = driver.peek(frame, FRAME.min(usize::try_from(STACK + 0x1000 - frame).unwrap()));
            continue;
        };
        assert_eq!(entered, context);
        let refused = driver.handled() == Some(11);
        let held = driver.server().threads.get(thread).unwrap().mask;
        assert_eq!(held & (bit(9) | bit(19)), 0);
        if let Some(well) = expected {
            // A frame may fault where it is not mapped; what reads well from these bytes must be taken.
            assert_eq!(!refused, well, "round {round}");
        }
        if refused {
            declined += 1
        } else {
            accepted += 1
        }
        // Back to where it was: the next frame is read with an open mask and the usual registers.
        let record = driver.server().threads.get_mut(thread).unwrap();
        record.mask = 0;
        record.signals.stack = super::super::stack::AlternateStack::default();
        record.signals.pending.forget(u64::MAX);
        driver.server().host.context(context).vectors = MockVectors::default();
    }
    assert!(accepted > rounds / 20 && declined > rounds / 20, "{accepted} taken, {declined} refused");
}

fn mutate(random: &mut ChaCha8Rng, bytes: &mut [u8]) {
    // Half of them hit flags, heads of records, and where END is.
    let heads = [568, 576, 580, 592 + 272, 592 + 528, 592 + 1040];
    let anywhere = usize::try_from(random.next_u32()).unwrap() % (bytes.len() - 8);
    let head = heads[usize::try_from(random.next_u32() % 6).unwrap()].min(bytes.len() - 8);
    let at = if random.next_u32().is_multiple_of(2) { head } else { anywhere };
    let word = match random.next_u32() % 8 {
        0 => 0,
        1 => u64::MAX,
        2 => 0x4650_5501 | u64::from(random.next_u32() % 2048) << 32,
        3 => 0x5358_0001 | u64::from(random.next_u32() % 2048) << 32,
        4 => 0x4153_5801 | u64::from(random.next_u32() % 2048) << 32,
        5 => 1 << (random.next_u32() % 64),
        6 => u64::from(bytes[at]) ^ 1 << (random.next_u32() % 8),
        _ => random.next_u64(),
    };
    let at = if random.next_u32().is_multiple_of(2) { at & !7 } else { at };
    let count = [1, 4, 8][usize::try_from(random.next_u32() % 3).unwrap()];
    bytes[at..at + count].copy_from_slice(&word.to_le_bytes()[..count]);
}

/// Whether the records of a frame can be used, by another reading of Linux's rules; `None` when they leave the
/// bytes, or when fcsr makes a signal of its own.
fn reads_well(bytes: &[u8]) -> Option<bool> {
    let half = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().unwrap()));
    let (mut at, mut widest) = (576, None);
    loop {
        let (magic, size) = (half(at)?, half(at + 4)?);
        let (least, lanes) = match magic {
            0 => break,
            0x4650_5501 => (288, 1),
            0x5358_0001 => (544, 2),
            0x4153_5801 => (1056, 4),
            0x4254_0001 => (56, 0),
            _ => return Some(false),
        };
        if size < least {
            return Some(false);
        }
        if lanes >= widest.map_or(1, |(lanes, _)| lanes) {
            widest = Some((lanes, at + 16));
        }
        at += usize::try_from(size).unwrap();
    }
    // Whether or not sc_flags says that it counts.
    if let Some((lanes, payload)) = widest {
        let fcsr = half(payload + 256 * lanes + 8)?;
        if fcsr & (fcsr & 0x1f) << 24 != 0 {
            return None;
        }
    }
    // The stack pointer of uc_stack is read whatever it says.
    Some(true)
}
