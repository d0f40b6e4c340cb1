//! What a host looks at. The image that it is in (`images/ground.toml`) says what it was promised.

use abi::control::Command;
use abi::upper::{HostInfo, LEAF_BYTES, Mapped, TIMER_BIT};
use abi::{CPtr, PAGE_BYTES};
use runtime::server::{Events, Server};
use runtime::stubs::{Notification, Timer};
use runtime::trap::counter;

use crate::failure::{Failure, equal, holds};
use crate::spaces;
use crate::word::Word;

/// What root gave.
pub(crate) struct Given {
    pub(crate) server: Server,
    pub(crate) info: &'static HostInfo,
}

/// A check, whose waiting is for the server's events.
type Check = fn(&Given, &Events) -> Result<(), Failure>;

/// All of them, in an order in which none spoils the next.
pub(crate) const CHECKS: [(&str, Check); 9] = [
    ("a_host_has_as_much_as_its_description_says", |given, _| amounts(given)),
    ("a_hosts_memory_is_clear_and_its_own", |given, _| memory(given)),
    ("a_hosts_programs_keep_the_words_of_their_commands", |given, _| commands(given)),
    ("every_space_shows_every_window", |given, _| spaces::show_windows(given)),
    ("a_page_that_was_not_mapped_is_not_there", |given, _| spaces::hole(given)),
    ("the_last_context_and_the_last_space_are_there", |given, _| spaces::last(given)),
    ("a_hosts_timer_signals_it", timer),
    ("the_initrd_is_as_it_was_given", |given, _| initrd(given)),
    ("a_host_has_a_seed", |given, _| seed(given)),
];

const NS_PER_SECOND: u128 = 1_000_000_000;

impl Given {
    pub(crate) fn windows(&self) -> &'static [Mapped] {
        let count = usize::try_from(self.info.window_count).unwrap_or(0);
        self.info.windows.get(..count).unwrap_or_default()
    }

    fn now_ns(&self) -> u64 {
        let ns = u128::from(counter()) * NS_PER_SECOND / u128::from(self.server.timer_hz().max(1));
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    pub(crate) fn realtime_ns(&self) -> u64 {
        self.info.realtime_offset_ns.saturating_add(self.now_ns())
    }

    fn promised(&self, key: &str) -> Option<u64> {
        self.server.arguments().find_map(|argument| argument.strip_prefix(key)?.parse().ok())
    }
}

fn amounts(given: &Given) -> Result<(), Failure> {
    let info = given.info;
    let spaces = info.spaces.end - info.spaces.start;
    equal("spaces", Some(spaces), given.promised("spaces="))?;
    equal("contexts", info.contexts, (2 * spaces).next_power_of_two())?;
    let heap = given.promised("heap=").unwrap_or(0);
    holds("the heap is at least as large", info.heap.bytes >= heap)?;
    holds("and ends with a leaf", (info.heap.address + info.heap.bytes).is_multiple_of(LEAF_BYTES))?;
    holds("there is a window", info.window_count != 0)?;
    let windows: u64 = given.windows().iter().map(|window| window.bytes).sum();
    let tables = (info.tables.end - info.tables.start) * PAGE_BYTES;
    // What is too small for a window stays with root.
    holds("1/64 is page tables", tables * 62 <= windows && windows <= tables * 64)?;
    let sizes = given.windows().iter().map(|window| window.bytes);
    holds("the largest window is the first", sizes.is_sorted_by(|one, next| one >= next))
}

/// Looks at a word of each page, which must be clear, and writes to the last one.
fn memory(given: &Given) -> Result<(), Failure> {
    for range in given.windows().iter().chain([&given.info.heap]) {
        let end = range.address + range.bytes;
        for address in (range.address..end).step_by(usize::try_from(PAGE_BYTES).unwrap_or(usize::MAX)) {
            equal("a word of fresh memory", Word::at(address).get(), 0)?;
        }
        let last = Word::at(end - 8);
        last.set(end);
        equal("the last word", last.get(), end)?;
    }
    Ok(())
}

fn commands(given: &Given) -> Result<(), Failure> {
    let wanted: [&[&[u8]]; 2] = [&[b"/bin/echo", b"two words", b"", b"100%"], &[b"sh"]];
    let mut commands = given.server.arguments().filter_map(Command::words);
    for words in wanted {
        let Some(mut seen) = commands.next() else {
            return Err(Failure::new(format_args!("a command is missing")));
        };
        for word in words {
            let same = seen.next().flatten().is_some_and(|seen| seen.plain_bytes().eq(word.iter().copied()));
            holds("the words are those of the description", same)?;
        }
        holds("there are no more words", seen.next().is_none())?;
    }
    holds("there are no more commands", commands.next().is_none())
}

fn timer(given: &Given, events: &Events) -> Result<(), Failure> {
    const NAP_NS: u64 = 3_000_000;
    let deadline = given.now_ns() + NAP_NS;
    let signal = Notification(CPtr(given.info.timer_notification_slot));
    Timer(CPtr(given.info.timer_slot)).arm(signal, deadline)?;
    events.wait_for(1 << TIMER_BIT);
    holds("the deadline has passed", given.now_ns() >= deadline)
}

/// The pattern that the tool has made.
fn initrd(given: &Given) -> Result<(), Failure> {
    let initrd = given.info.initrd;
    if initrd.bytes == 0 {
        return Err(Failure::Skipped("no initrd"));
    }
    let word = |index: u64| index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for index in 0..initrd.bytes / 8 {
        let seen = Word::at(initrd.address + index * 8).get();
        if seen != word(index) {
            return Err(Failure::new(format_args!("word {index}: {seen:#x}, not {:#x}", word(index))));
        }
    }
    Ok(())
}

fn seed(given: &Given) -> Result<(), Failure> {
    let count = usize::try_from(given.info.seed_bytes).unwrap_or(0);
    let seed = given.info.seed.get(..count).unwrap_or_default();
    holds("it has some bytes", !seed.is_empty() && seed.iter().any(|byte| *byte != 0))
}
