//! Both ends in one thread, in two threads, against a hostile other side, and in every interleaving.

use super::*;
use std::vec::Vec;

const ENTRIES: u64 = 8;

#[repr(C, align(64))]
struct Memory([u8; 128 + 8 * ENTRY_BYTES]);

impl Memory {
    fn new() -> Self {
        Self([0; 128 + 8 * ENTRY_BYTES])
    }

    fn base(&mut self) -> NonNull<u8> {
        NonNull::from(&mut self.0).cast()
    }
}

fn both(memory: &mut Memory) -> (Producer<ConsoleEntry>, Consumer<ConsoleEntry>) {
    let base = memory.base();
    // SAFETY: the memory outlives both ends in each test.
    let producer = unsafe { Producer::attach(base, ENTRIES) };
    // SAFETY: as above.
    let consumer = unsafe { Consumer::attach(base, ENTRIES) };
    (producer.unwrap(), consumer.unwrap())
}

fn entry(number: u32) -> ConsoleEntry {
    ConsoleEntry { line: number, length: !number, text: [number.to_le_bytes()[0]; 56] }
}

fn set(base: NonNull<u8>, offset: usize, value: u32) {
    // SAFETY: an aligned word of the test's memory.
    unsafe { AtomicU32::from_ptr(base.as_ptr().wrapping_add(offset).cast()) }.store(value, Ordering::SeqCst);
}

#[test]
fn entries_come_out_in_order_over_the_wrap_of_ring_and_index() {
    let mut memory = Memory::new();
    let base = memory.base();
    set(base, offset_of!(RingHeader, head), u32::MAX - 3);
    set(base, offset_of!(RingHeader, tail), u32::MAX - 3);
    let (mut producer, mut consumer) = both(&mut memory);
    for round in 0..5_u32 {
        for number in 0..8 {
            producer.push(&entry(round * 8 + number)).unwrap();
        }
        assert_eq!(producer.push(&entry(0)), Err(RingError::Full));
        for number in 0..8 {
            let seen = consumer.peek().unwrap().unwrap();
            assert_eq!((seen.line, seen.length), (round * 8 + number, !(round * 8 + number)));
            let _ = consumer.complete().unwrap();
        }
        assert!(consumer.peek().unwrap().is_none());
        assert_eq!(consumer.complete(), Err(RingError::Corrupt));
    }
}

#[test]
fn an_index_of_the_other_side_that_cannot_be_is_refused() {
    for wrong in [9_u32, 1 << 31, u32::MAX - 20] {
        let mut memory = Memory::new();
        let base = memory.base();
        let (mut producer, consumer) = both(&mut memory);
        set(base, offset_of!(RingHeader, head), wrong);
        assert_eq!(consumer.peek().err(), Some(RingError::Corrupt));
        assert_eq!(consumer.sleeps(), Err(RingError::Corrupt));
        set(base, offset_of!(RingHeader, tail), wrong);
        assert_eq!(producer.push(&entry(1)), Err(RingError::Corrupt));
        set(base, offset_of!(RingHeader, head), wrong);
        set(base, offset_of!(RingHeader, tail), 0);
        // SAFETY: the memory lives.
        assert!(unsafe { Consumer::<ConsoleEntry>::attach(base, ENTRIES) }.is_err());
    }
}

#[test]
fn each_side_trusts_only_its_own_copy_of_its_index() {
    let mut memory = Memory::new();
    let base = memory.base();
    let (mut producer, mut consumer) = both(&mut memory);
    producer.push(&entry(1)).unwrap();
    set(base, offset_of!(RingHeader, tail), 1);
    assert_eq!(consumer.peek().unwrap().unwrap().line, 1, "the other side cannot take an entry away");
    let _ = consumer.complete().unwrap();
    set(base, offset_of!(RingHeader, head), 0);
    producer.push(&entry(2)).unwrap();
    assert_eq!(consumer.peek().unwrap().unwrap().line, 2);
}

#[test]
fn a_bad_layout_is_refused() {
    let mut memory = Memory::new();
    let base = memory.base();
    for entries in [0, 3, 1 << 40, u64::MAX] {
        // SAFETY: refused before the memory is looked at.
        assert_eq!(unsafe { Producer::<ConsoleEntry>::attach(base, entries) }.err(), Some(RingError::Layout));
    }
    // SAFETY: stays inside the memory.
    let odd = unsafe { base.add(4) };
    // SAFETY: refused before the memory is looked at.
    assert_eq!(unsafe { Producer::<ConsoleEntry>::attach(odd, 8) }.err(), Some(RingError::Layout));
}

#[test]
fn two_threads_lose_nothing_and_no_wake_up() {
    const COUNT: u32 = 20_000;
    let mut memory = Memory::new();
    let (mut producer, mut consumer) = both(&mut memory);
    let (to_consumer, consumer_wakes) = std::sync::mpsc::channel();
    let (to_producer, producer_wakes) = std::sync::mpsc::channel();
    struct Send<T>(T);
    // SAFETY: each end is used by one thread alone, and the memory outlives the scope.
    unsafe impl<T> core::marker::Send for Send<T> {}
    impl<T> Send<T> {
        fn into(self) -> T {
            self.0
        }
    }
    let ends = (Send(&mut producer), Send(&mut consumer));
    std::thread::scope(|scope| {
        let (producer, consumer) = ends;
        scope.spawn(move || {
            let producer = producer.into();
            for number in 0..COUNT {
                while producer.push(&entry(number)) == Err(RingError::Full) {
                    if producer.sleeps_until_used_below(8).unwrap() {
                        producer_wakes.recv().unwrap();
                    }
                }
                if producer.wake() == Wake::Needed {
                    to_consumer.send(()).unwrap();
                }
            }
        });
        scope.spawn(move || {
            let consumer = consumer.into();
            for number in 0..COUNT {
                let seen = loop {
                    match consumer.peek().unwrap() {
                        Some(seen) => break seen,
                        None if consumer.sleeps().unwrap() => consumer_wakes.recv().unwrap(),
                        None => {}
                    }
                };
                assert_eq!((seen.line, seen.length), (number, !number));
                if consumer.complete().unwrap() == Wake::Needed {
                    // The producer may have ended.
                    let _ = to_producer.send(());
                }
            }
        });
    });
}

/// A step of either side on the three words of the sleep protocol, sequentially consistent (the fences).
#[derive(Clone, Copy)]
enum Step {
    Publish,
    TakeSleeper,
    SayAsleep,
    Look,
    Wait,
}

/// True if some interleaving of one push and one attempt to sleep ends with an entry and a sleeper.
fn can_sleep_forever(producer: &[Step], consumer: &[Step]) -> bool {
    #[derive(Clone, Default)]
    struct State {
        published: bool,
        asleep_flag: bool,
        signals: u32,
        saw_entry: bool,
        waiting: bool,
    }
    fn run(state: &State, step: Step) -> State {
        let mut next = state.clone();
        match step {
            Step::Publish => next.published = true,
            Step::TakeSleeper => {
                if std::mem::take(&mut next.asleep_flag) {
                    next.signals += 1;
                }
            }
            Step::SayAsleep => next.asleep_flag = true,
            Step::Look => next.saw_entry = next.published,
            Step::Wait => next.waiting = !next.saw_entry,
        }
        next
    }
    let mut states = Vec::from([(State::default(), producer, consumer)]);
    while let Some((state, producer, consumer)) = states.pop() {
        if producer.is_empty()
            && consumer.is_empty()
            && state.waiting
            && state.published
            && state.signals == 0
        {
            return true;
        }
        if let Some((step, rest)) = producer.split_first() {
            states.push((run(&state, *step), rest, consumer));
        }
        if let Some((step, rest)) = consumer.split_first() {
            states.push((run(&state, *step), producer, rest));
        }
    }
    false
}

#[test]
fn no_interleaving_sleeps_over_an_entry_and_the_planted_mistakes_do() {
    use Step::*;
    assert!(!can_sleep_forever(&[Publish, TakeSleeper], &[SayAsleep, Look, Wait]));
    assert!(can_sleep_forever(&[Publish, TakeSleeper], &[Look, SayAsleep, Wait]), "look before saying so");
    assert!(can_sleep_forever(&[TakeSleeper, Publish], &[SayAsleep, Look, Wait]), "look before publishing");
}
