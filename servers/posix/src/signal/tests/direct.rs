//! The short ways of a signal against the general one: the same frames, registers and masks.

use super::*;
use crate::dispatch::Strace;
use crate::host::Width;
use crate::mock::MockVectors;
use proptest::prelude::*;

const SIGALTSTACK: u64 = 132;
const ONSTACK: u64 = 0x0800_0000;
const NODEFER: u64 = 0x4000_0000;
const RESETHAND: u64 = 0x8000_0000;
/// Bytes that are compared below the stack pointer: more than the largest frame.
const BELOW: usize = 2048;

/// A program's state before it signals itself.
#[derive(Clone, Debug)]
struct Before {
    registers: [u64; 32],
    sp: u64,
    width: Width,
    lanes: u64,
    fcsr: u32,
    mask: u64,
    flags: u64,
    alternate: bool,
    signal: u64,
    /// Whether it goes through kill, which leaves the signal with the process.
    common: bool,
}

fn before() -> impl Strategy<Value = Before> {
    let flag = |flag: u64| prop_oneof![Just(0), Just(flag)];
    let flags = (flag(ONSTACK), flag(NODEFER), flag(RESETHAND), flag(RESTART));
    let width = prop_oneof![Just(Width::None), Just(Width::Fp), Just(Width::Lsx), Just(Width::Lasx)];
    let signal = prop_oneof![Just(10_u64), Just(11), Just(12), Just(34), Just(64)];
    // Of a page that is there, of one that is not yet, and across the border of the two.
    let sp = prop_oneof![0x5000..0xf000_u64, 0x8000..0x8800_u64];
    let state = (any::<[u64; 32]>(), sp, width, any::<u64>(), any::<u32>(), any::<u64>());
    (state, flags, any::<bool>(), signal, any::<bool>()).prop_map(
        |(state, flags, alternate, signal, common)| {
            let (registers, sp, width, lanes, fcsr, mask) = state;
            let flags = flags.0 | flags.1 | flags.2 | flags.3;
            Before { registers, sp, width, lanes, fcsr, mask, flags, alternate, signal, common }
        },
    )
}

/// Everything that can be seen of it at a moment.
#[derive(Debug, PartialEq)]
struct Seen {
    next: Next,
    registers: Registers,
    vectors: MockVectors,
    mask: u64,
    pending: u64,
    stack: std::vec::Vec<u8>,
    alternate: std::vec::Vec<u8>,
}

fn seen(driver: &mut Driver, sp: u64) -> Seen {
    let context = driver.context().unwrap();
    let thread = driver.thread();
    let server = driver.server();
    let record = server.threads.get(thread).unwrap();
    let (mask, own) = (record.mask, record.signals.pending.set());
    let common = server.process().unwrap().signals.pending.set();
    assert!(record.call.is_none() && record.signals.saved_mask.is_none());
    let vectors = server.host.context(context).vectors;
    Seen {
        next: driver.next,
        registers: *driver.registers(),
        vectors,
        mask,
        pending: own | common,
        stack: driver.peek(sp - BELOW as u64, BELOW),
        alternate: driver.peek(SCRATCH + 0x2000 - BELOW as u64, BELOW),
    }
}

/// What is seen after the signal was sent, when its mask opens, and after the handler's return.
fn run(state: &Before, strace: Strace) -> [Seen; 3] {
    let mut driver = running();
    let server = driver.server();
    // With it on nothing is short.
    server.strace = strace;
    server.host.capabilities = 0x3f;
    driver.handle(state.signal, state.flags, bit(17));
    if state.alternate {
        driver.poke(DATA, &SCRATCH.to_le_bytes());
        driver.poke(DATA + 8, &0_u64.to_le_bytes());
        driver.poke(DATA + 16, &0x2000_u64.to_le_bytes());
        assert_eq!(driver.result(SIGALTSTACK, [DATA, 0, 0, 0, 0, 0]), Ok(0));
    }
    driver.set_mask(state.mask);
    driver.poke(DATA, &0_u64.to_le_bytes());
    let sp = SCRATCH + state.sp;
    let registers = driver.registers();
    registers.general = state.registers;
    registers.general[3] = sp;
    let context = driver.context().unwrap();
    let mut vectors = MockVectors { width: state.width, ..MockVectors::default() };
    if state.width != Width::None {
        (vectors.fcc, vectors.fcsr) = (state.lanes, state.fcsr & !(0x1f << 24) & !(1 << 6));
        let lanes = vectors.registers.iter_mut().flat_map(|register| &mut register[..state.width.lanes()]);
        for (number, lane) in lanes.enumerate() {
            *lane = state.lanes.wrapping_mul(number as u64 + 1);
        }
    }
    driver.server().host.context(context).vectors = vectors;
    let (pid, signal) = (driver.pid(), state.signal);
    match state.common {
        true => driver.call(KILL, [pid, signal, 0, 0, 0, 0]),
        false => driver.call(TGKILL, [pid, pid, signal, 0, 0, 0]),
    };
    let sent = seen(&mut driver, sp);
    if driver.mask() & bit(signal) != 0 && driver.handled().is_none() {
        assert_eq!(sent.pending, bit(signal), "it waits");
        driver.call(SIGPROCMASK, [2, DATA, 0, 8, 0, 0]);
    }
    let opened = seen(&mut driver, sp);
    assert_eq!(driver.handled(), Some(signal));
    driver.sigreturn();
    [sent, opened, seen(&mut driver, sp)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn short_ways_leave_what_the_general_one_does(state in before()) {
        prop_assert_eq!(run(&state, Strace::Off), run(&state, Strace::On));
    }
}

/// A frame that begins on a page that nobody has touched, and ends on one that is there: what a routine left half done
/// is done again.
#[test]
fn a_frame_across_a_page_that_is_not_there_is_whole() {
    let mut frames = [SCRATCH + 0x8000 + 300, SCRATCH + 0xc000 + 300].map(|sp| {
        let mut driver = running();
        driver.handle(10, 0, 0);
        driver.poke(SCRATCH + 0x8000, &[1]);
        driver.registers().general[3] = sp;
        let pid = driver.pid();
        assert_eq!(driver.call(TGKILL, [pid, pid, 10, 0, 0, 0]), None);
        assert_eq!(driver.handled(), Some(10));
        let frame = driver.sp();
        assert!(frame < sp & !0x3fff, "it crosses the border");
        driver.peek(frame, 592)
    });
    for frame in &mut frames {
        // The stack pointer in it is its own.
        let at = usize::try_from(REGISTERS).unwrap() + 8 + 3 * 8;
        frame[at..at + 8].fill(0);
    }
    let [there, fresh] = frames;
    assert_eq!(there, fresh);
}

/// Planted: a signal that is sent to the thread while another waits with its process is no case for the short way.
#[test]
fn two_signals_at_once_go_the_general_way() {
    let mut driver = running();
    driver.handle(10, 0, 0);
    driver.handle(12, 0, 0);
    driver.set_mask(bit(10) | bit(12));
    let pid = driver.pid();
    assert_eq!(driver.call(KILL, [pid, 10, 0, 0, 0, 0]), Some(0));
    assert_eq!(driver.call(TGKILL, [pid, pid, 12, 0, 0, 0]), Some(0));
    let sp = driver.sp();
    driver.set_mask(0);
    assert!(driver.sp() < sp - 2 * 592 + 32, "both have their frames");
    assert_eq!(driver.mask(), bit(10) | bit(12));
    driver.sigreturn();
    driver.sigreturn();
    assert_eq!((driver.sp(), driver.mask()), (sp, 0));
}
