//! A description by hand, and one broken field after the other. The random ones stand in tools/image.

use super::*;
use std::vec;
use std::vec::Vec;

const SERVERS: usize = HEADER_SIZE;
const CHANNELS: usize = SERVERS + 2 * Layout::SERVER;
const DEVICES: usize = CHANNELS + Layout::CHANNEL;
const ARGUMENTS: usize = DEVICES + 2 * Layout::DEVICE;
const TEXTS: usize = ARGUMENTS + Layout::ARGUMENT;
const TEXT: &[u8] = b"console bench log uart rtc --fast";

fn pair(low: usize, high: usize) -> u64 {
    low as u64 | (high as u64) << 32
}

fn text(word: &str) -> u64 {
    let at = TEXT.windows(word.len()).position(|window| window == word.as_bytes()).unwrap();
    pair(TEXTS + at, word.len())
}

fn small() -> Vec<u8> {
    let size = TEXTS + TEXT.len();
    let words = [
        // Header.
        DESCRIPTION_MAGIC,
        pair(2, size),
        256 << 20,
        text("bench"),
        pair(SERVERS, 2),
        pair(CHANNELS, 1),
        pair(DEVICES, 2),
        pair(ARGUMENTS, 1),
        // Servers.
        text("console"),
        text("console"),
        1000,
        2000,
        0,
        pair(0, 0),
        200 | 200 << 8,
        0,
        0,
        text("bench"),
        text("bench"),
        10_000,
        10_000,
        64 << 20,
        pair(0, 1),
        100 | 150 << 8 | 1 << 16 | 0b11 << 32,
        1000,
        64 << 20,
        // Channel, devices, argument.
        text("log"),
        pair(1, 0),
        pair(1, 64),
        text("uart"),
        0x1fe0_01e0,
        0x100,
        pair(2, 0),
        text("rtc"),
        0x100d_0100,
        0x100,
        u64::from(NO_INTERRUPT),
        text("--fast"),
    ];
    let mut bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    assert_eq!(bytes.len(), TEXTS);
    bytes.extend_from_slice(TEXT);
    bytes
}

#[test]
fn a_small_description_is_read() {
    let bytes = small();
    let description = Description::parse(&bytes).unwrap();
    assert_eq!((description.name(), description.memory_bytes()), ("bench", 256 << 20));
    let servers: Vec<_> = description.servers().collect();
    assert_eq!(servers.len(), 2);
    assert_eq!((servers[0].budget_us, servers[0].period_us), (1000, 2000));
    assert_eq!(servers[0].on_fault, FaultPolicy::Halt);
    assert_eq!((servers[1].priority, servers[1].max_controlled_priority), (100, 150));
    assert_eq!(servers[1].on_fault, FaultPolicy::Stop);
    assert!(servers[1].capabilities.has(Capability::SchedControl));
    assert!(!servers[1].capabilities.has(Capability::AsidControl));
    assert_eq!(servers[0].host, None);
    assert_eq!(servers[1].host, Some(HostPlan { spaces: 1000, heap_bytes: 64 << 20 }));
    assert_eq!(servers[1].arguments().collect::<Vec<_>>(), vec!["--fast"]);
    assert_eq!(servers[0].arguments().count(), 0);
    let channel = description.channels().next().unwrap();
    assert_eq!((channel.name, channel.from, channel.to, channel.entries), ("log", 1, 0, 64));
    let devices: Vec<_> = description.devices().collect();
    assert_eq!((devices[0].interrupt, devices[1].interrupt), (Some(2), None));
}

#[test]
fn each_broken_field_has_its_error() {
    use DescriptionError::{BadMagic, BadVersion, Record, SystemName, Table, TooMany, Truncated, Twice};
    let second = SERVERS + Layout::SERVER;
    let rtc = DEVICES + Layout::DEVICE;
    let size = TEXTS + TEXT.len();
    let table = [
        (0, 0, BadMagic),
        (8, pair(1, size), BadVersion(1)),
        (8, pair(2, size + 1), Truncated),
        (24, pair(TEXTS, 0), SystemName),
        (24, pair(TEXTS, 32), SystemName),
        (24, pair(TEXTS, 9), SystemName),
        (32, pair(size, 1), Table(Part::Server)),
        (32, pair(SERVERS, 0xffff_ffff), Table(Part::Server)),
        (56, pair(0xffff_ffff, 1), Table(Part::Argument)),
        (56, pair(0, 257), Table(Part::Argument)),
        (40, pair(0, 1 << 20), Table(Part::Channel)),
        (SERVERS, pair(size, 1), Record(Part::Server, 0, "name")),
        (SERVERS + 8, pair(0, 0), Record(Part::Server, 0, "program")),
        (SERVERS + 16, 0, Record(Part::Server, 0, "budget")),
        (SERVERS + 16, 2001, Record(Part::Server, 0, "period")),
        (SERVERS + 40, pair(1, 1), Record(Part::Server, 0, "arguments")),
        (SERVERS + 40, pair(0xffff_ffff, 0xffff_ffff), Record(Part::Server, 0, "arguments")),
        (SERVERS + 48, 3 << 16, Record(Part::Server, 0, "on_fault")),
        (SERVERS + 48, 1 << 24, Record(Part::Server, 0, "on_fault")),
        (SERVERS + 48, 1 << 63, Record(Part::Server, 0, "capabilities")),
        (SERVERS + 56, 1, Record(Part::Server, 0, "host")),
        (SERVERS + 56, 1 << 32, Record(Part::Server, 0, "host")),
        (SERVERS + 64, 1, Record(Part::Server, 0, "host")),
        (second + 56, 1 + u64::from(MAX_SPACES), Record(Part::Server, 1, "host")),
        (second + 56, 1000 | 1 << 32, Record(Part::Server, 1, "host")),
        (second + 64, 0, Record(Part::Server, 1, "host")),
        (second + 64, MAX_HEAP_BYTES + 1, Record(Part::Server, 1, "host")),
        (second + 48, 2 << 16, Record(Part::Server, 1, "on_fault")),
        (second, text("console"), Twice(Part::Server, 1)),
        (CHANNELS + 8, pair(2, 0), Record(Part::Channel, 0, "ends")),
        (CHANNELS + 8, pair(1, 1), Record(Part::Channel, 0, "ends")),
        (CHANNELS + 16, pair(0, 64), Record(Part::Channel, 0, "kind")),
        (CHANNELS + 16, pair(1, 63), Record(Part::Channel, 0, "entries")),
        (CHANNELS + 16, pair(1, 0), Record(Part::Channel, 0, "entries")),
        (DEVICES + 16, 0, Record(Part::Device, 0, "size")),
        (DEVICES + 16, u64::MAX, Record(Part::Device, 0, "size")),
        (DEVICES + 24, pair(2, 2), Record(Part::Device, 0, "server")),
        (DEVICES + 24, pair(2, 1), Record(Part::Device, 0, "server")),
        (rtc, text("uart"), Twice(Part::Device, 1)),
        (rtc + 8, 0x1fe0_0200, Twice(Part::Device, 1)),
        (rtc + 24, pair(2, 0), Twice(Part::Device, 1)),
        (ARGUMENTS, pair(size, 1), Record(Part::Argument, 0, "text")),
    ];
    for (at, word, error) in table {
        let mut bytes = small();
        bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        assert_eq!(Description::parse(&bytes).unwrap_err(), error, "word {word:#x} at {at}");
    }
    let mut two_hosts = small();
    let host = two_hosts[second + 56..second + 72].to_vec();
    two_hosts[SERVERS + 56..SERVERS + 72].copy_from_slice(&host);
    assert_eq!(Description::parse(&two_hosts).unwrap_err(), DescriptionError::TwoHosts(1));
    let mut long = small();
    long.resize(8192, 0);
    long[12..16].copy_from_slice(&8192_u32.to_le_bytes());
    long[32..40].copy_from_slice(&pair(0, 65).to_le_bytes());
    assert_eq!(Description::parse(&long).unwrap_err(), TooMany(Part::Server));
}

#[test]
fn every_shorter_description_is_refused() {
    let bytes = small();
    for length in 0..bytes.len() {
        assert_eq!(Description::parse(&bytes[..length]).unwrap_err(), DescriptionError::Truncated);
    }
}

#[test]
fn a_host_has_two_contexts_for_each_space_and_a_whole_frame_of_them() {
    let contexts = |spaces| HostPlan { spaces, heap_bytes: 1 }.contexts();
    assert_eq!([1, 4, 5, 1000, 1024, 1025].map(contexts), [8, 8, 16, 2048, 2048, 4096]);
}
