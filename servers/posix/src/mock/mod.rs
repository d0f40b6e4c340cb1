//! The machine that host tests run the server on.
//!
//! Frames are bytes, a space is a map from pages to frames with rights, and the copies go through that map
//! as the processor would: without the right in the map they stop. So a test sees what a program could do,
//! not what the server thinks that it could.
#![expect(
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "a test machine: what is out of range is a failed test"
)]

mod memory;

use crate::host::{
    ContextId, CopyStop, Host, Identity, Input, MapEntry, MapReason, MapStop, PageRights, Registers, SpaceId,
    Stream, Width, WindowPage,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::string::String;
use std::vec::Vec;

/// The mock machine.
#[derive(Debug, Default)]
pub struct Mock {
    /// Contents of frames that were ever written.
    frames: BTreeMap<(u8, u64), Vec<u8>>,
    /// What the page tables say.
    pub mapped: BTreeMap<(SpaceId, u64), (WindowPage, PageRights)>,
    /// Tables that the spaces' own stocks hold.
    tables_given: BTreeMap<SpaceId, u32>,
    /// Tables in use: the directory entries that have one.
    tables_used: BTreeSet<(SpaceId, u64)>,
    /// Tables in the server's stock.
    pub tables_left: u32,
    /// What is left of the server's own memory.
    pub reserve: crate::host::Reserve,
    /// How much the server can take on at once, if there is an end to it.
    pub spare: Option<usize>,
    /// Calls of MapMany, and entries in them.
    pub map_calls: u64,
    /// Entries of all calls of MapMany.
    pub map_entries: u64,
    /// Every context that was touched.
    pub contexts: BTreeMap<ContextId, MockContext>,
    /// The current context.
    pub current: Option<ContextId>,
    /// The monotonic clock.
    pub now_ns: u64,
    /// What the clock's start is in 1970's terms.
    pub realtime_offset_ns: u64,
    /// The alarm that was asked for.
    pub alarm: Option<u64>,
    /// How often the alarm was armed.
    pub alarms_armed: u64,
    /// HWCAP.
    pub capabilities: u64,
    /// The machine's seed.
    pub seed: Option<[u8; 32]>,
    /// What came out, per stream: output, error.
    pub output: [Vec<u8>; 2],
    /// Records that were written, `--strace` left out.
    pub recorded: Vec<String>,
    /// Bytes that each stream still takes.
    pub room: [usize; 2],
    /// Room that each write takes beside its bytes, as in a ring whose last entry is not full.
    pub wasted: usize,
    /// What is typed.
    pub input: VecDeque<u8>,
    /// Whether the input has an end.
    pub input_ended: bool,
    /// The window's new size.
    pub window: Option<(u16, u16)>,
    /// The lines of `--strace`.
    pub traced: Vec<String>,
    /// The server's log.
    pub logged: Vec<String>,
}

/// A context of the mock.
#[derive(Clone, Copy, Debug)]
pub struct MockContext {
    /// The space it runs in.
    pub space: Option<SpaceId>,
    /// Its registers.
    pub registers: Registers,
    /// What its leaf handlers answer.
    pub identity: Identity,
    /// Its vector state.
    pub vectors: MockVectors,
}

/// The vector state of the mock's contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MockVectors {
    /// How much of it is in use.
    pub width: Width,
    /// Registers of 256 bits.
    pub registers: [[u64; 4]; 32],
    /// Condition flags.
    pub fcc: u64,
    /// FCSR0.
    pub fcsr: u32,
}

impl Default for MockVectors {
    fn default() -> Self {
        Self { width: Width::None, registers: [[0; 4]; 32], fcc: 0, fcsr: 0 }
    }
}

impl Mock {
    /// A machine with plenty of everything.
    pub fn new() -> Self {
        Self {
            tables_left: 10_000,
            reserve: crate::host::Reserve::Plenty,
            spare: None,
            room: [usize::MAX; 2],
            seed: Some([7; 32]),
            capabilities: 0x1f,
            realtime_offset_ns: 1_700_000_000_000_000_000,
            now_ns: 1_000_000_000,
            ..Self::default()
        }
    }

    /// What came out on a stream.
    pub fn output(&self, stream: Stream) -> &[u8] {
        match stream {
            Stream::StandardOutput => &self.output[0],
            Stream::StandardError => &self.output[1],
        }
    }

    /// A context that tests and the server look at.
    pub fn context(&mut self, id: ContextId) -> &mut MockContext {
        self.contexts.entry(id).or_insert(MockContext {
            space: None,
            registers: Registers::ZERO,
            identity: Identity::default(),
            vectors: MockVectors::default(),
        })
    }

    fn map_one(&mut self, space: SpaceId, entry: &MapEntry) -> Result<(), MapReason> {
        match *entry {
            MapEntry::Unmap { pages } => {
                for page in pages.iter() {
                    self.mapped.remove(&(space, page.0));
                }
            }
            MapEntry::Map { pages, first, rights } => {
                for page in pages.iter() {
                    self.need_table(space, page.0)?;
                    let target = WindowPage { page: first.page + (page.0 - pages.start.0), ..first };
                    self.mapped.insert((space, page.0), (target, rights));
                }
            }
        }
        Ok(())
    }

    /// Each 32 MiB that has a page needs a table; the level above is left out.
    fn need_table(&mut self, space: SpaceId, page: u64) -> Result<(), MapReason> {
        if self.tables_used.contains(&(space, page >> 11)) {
            return Ok(());
        }
        let given = self.tables_given.entry(space).or_default();
        *given = given.checked_sub(1).ok_or(MapReason::NeedTable)?;
        self.tables_used.insert((space, page >> 11));
        Ok(())
    }
}

impl Host for Mock {
    fn copy_in(&mut self, from: u64, into: &mut [u8]) -> Result<(), CopyStop> {
        self.read_current(from, into)
    }

    fn copy_out(&mut self, from: &[u8], to: u64) -> Result<(), CopyStop> {
        self.write_current(to, from)
    }

    fn load_double(&mut self, at: u64) -> Result<u64, CopyStop> {
        assert!(at.is_multiple_of(8), "{at:#x} is given as aligned");
        let mut word = [0; 8];
        self.read_current(at, &mut word)?;
        Ok(u64::from_le_bytes(word))
    }

    fn store_double(&mut self, at: u64, value: u64) -> Result<(), CopyStop> {
        assert!(at.is_multiple_of(8), "{at:#x} is given as aligned");
        self.write_current(at, &value.to_le_bytes())
    }

    fn zero_out(&mut self, to: u64, bytes: usize) -> Result<(), CopyStop> {
        self.write_current(to, &std::vec![0; bytes])
    }

    fn compare_exchange(&mut self, at: u64, old: u32, new: u32) -> Result<u32, CopyStop> {
        let mut word = [0; 4];
        self.read_current(at, &mut word)?;
        let before = u32::from_le_bytes(word);
        // The store right is needed whether or not the word changes, as sc.w does.
        let after = if before == old { new } else { before };
        self.write_current(at, &after.to_le_bytes())?;
        Ok(before)
    }

    fn load_word(&mut self, at: u64) -> Result<u32, CopyStop> {
        let mut word = [0; 4];
        self.read_current(at, &mut word)?;
        Ok(u32::from_le_bytes(word))
    }

    fn zero_frame(&mut self, frame: WindowPage) {
        self.frame(frame).fill(0);
    }

    fn copy_frame(&mut self, from: WindowPage, to: WindowPage) {
        let bytes = self.frame(from).to_vec();
        self.frame(to).copy_from_slice(&bytes);
    }

    fn read_frame(&mut self, frame: WindowPage, offset: usize, into: &mut [u8]) {
        into.copy_from_slice(&self.frame(frame)[offset..offset + into.len()]);
    }

    fn write_frame(&mut self, frame: WindowPage, offset: usize, from: &[u8]) {
        self.frame(frame)[offset..offset + from.len()].copy_from_slice(from);
    }

    fn map_many(&mut self, space: SpaceId, entries: &[MapEntry]) -> Result<(), MapStop> {
        assert!(entries.len() <= crate::host::BATCH_ENTRIES, "a batch too long for the kernel");
        self.map_calls += 1;
        for (done, entry) in entries.iter().enumerate() {
            self.map_one(space, entry).map_err(|reason| MapStop { done, reason })?;
            self.map_entries += 1;
        }
        Ok(())
    }

    fn give_tables(&mut self, space: SpaceId, tables: u32) -> u32 {
        let given = tables.min(self.tables_left);
        self.tables_left -= given;
        *self.tables_given.entry(space).or_default() += given;
        given
    }

    fn take_tables(&mut self, space: SpaceId) {
        let used = self.tables_used.len();
        self.tables_used.retain(|(owner, _)| *owner != space);
        let back = u32::try_from(used - self.tables_used.len()).expect("few tables");
        self.tables_left += back + self.tables_given.remove(&space).unwrap_or(0);
        assert!(!self.mapped.keys().any(|(owner, _)| *owner == space), "tables taken from a space in use");
    }

    fn set_space(&mut self, context: ContextId, space: SpaceId) {
        self.context(context).space = Some(space);
    }

    fn set_identity(&mut self, context: ContextId, identity: &Identity) {
        self.context(context).identity = *identity;
    }

    fn switch(&mut self, context: ContextId) {
        self.current = Some(context);
    }

    fn registers(&mut self, context: ContextId) -> Registers {
        self.context(context).registers
    }

    fn set_registers(&mut self, context: ContextId, registers: &Registers) {
        self.context(context).registers = *registers;
    }

    fn set_result(&mut self, context: ContextId, result: u64) {
        let registers = &mut self.context(context).registers;
        registers.general[4] = result;
        registers.pc += 4;
    }

    fn take_causes(&mut self, context: ContextId) -> u32 {
        let fcsr = &mut self.context(context).vectors.fcsr;
        core::mem::replace(fcsr, *fcsr & !(0x1f << 24))
    }

    fn clear_vectors(&mut self, context: ContextId) {
        self.context(context).vectors = MockVectors::default();
    }

    fn copy_vectors(&mut self, from: ContextId, to: ContextId) {
        self.context(to).vectors = self.context(from).vectors;
    }

    fn vector_width(&mut self, context: ContextId) -> Width {
        assert_eq!(self.current, Some(context), "the unit is the current context's");
        self.context(context).vectors.width
    }

    fn store_vectors(&mut self, context: ContextId, width: Width, to: u64) -> Result<(), CopyStop> {
        let vectors = self.context(context).vectors;
        assert!(width == vectors.width && to.is_multiple_of(16), "a record of another width");
        let lanes = vectors.registers.iter().flat_map(|register| &register[..width.lanes()]);
        let mut bytes: Vec<u8> = lanes.flat_map(|lane| lane.to_le_bytes()).collect();
        bytes.extend(vectors.fcc.to_le_bytes());
        bytes.extend(vectors.fcsr.to_le_bytes());
        self.write_current(to, &bytes)
    }

    fn load_vectors(&mut self, context: ContextId, width: Width, from: u64) -> Result<(), CopyStop> {
        let mut bytes = std::vec![0; 256 * width.lanes() + 12];
        self.read_current(from, &mut bytes)?;
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let mut vectors = MockVectors { width, ..MockVectors::default() };
        let lanes = vectors.registers.iter_mut().flat_map(|register| &mut register[..width.lanes()]);
        for (number, lane) in lanes.enumerate() {
            *lane = word(8 * number);
        }
        let end = 256 * width.lanes();
        vectors.fcc = word(end);
        vectors.fcsr = u32::from_le_bytes(bytes[end + 8..].try_into().expect("four bytes")) & !(1 << 6);
        self.context(context).vectors = vectors;
        Ok(())
    }

    fn monotonic_ns(&self) -> u64 {
        self.now_ns
    }

    fn realtime_offset_ns(&self) -> u64 {
        self.realtime_offset_ns
    }

    fn arm_alarm(&mut self, at_ns: u64) {
        self.alarm = Some(at_ns);
        self.alarms_armed += 1;
    }

    fn random_seed(&mut self) -> Option<[u8; 32]> {
        self.seed.take()
    }

    fn hardware_capabilities(&self) -> u64 {
        self.capabilities
    }

    fn stream_room(&self, stream: Stream) -> usize {
        self.room[match stream {
            Stream::StandardOutput => 0,
            Stream::StandardError => 1,
        }]
    }

    fn write_stream(&mut self, stream: Stream, bytes: &[u8]) -> usize {
        let number = match stream {
            Stream::StandardOutput => 0,
            Stream::StandardError => 1,
        };
        let taken = bytes.len().min(self.room[number]);
        self.room[number] = self.room[number].saturating_sub(taken.saturating_add(self.wasted));
        self.output[number].extend_from_slice(&bytes[..taken]);
        taken
    }

    fn peek_input(&mut self, into: &mut [u8]) -> Input {
        let bytes = into.len().min(self.input.len());
        for (place, byte) in into.iter_mut().zip(&self.input) {
            *place = *byte;
        }
        match bytes {
            0 if self.input_ended => Input::End,
            0 => Input::Empty,
            bytes => Input::Bytes(bytes),
        }
    }

    fn take_input(&mut self, bytes: usize) {
        self.input.drain(..bytes);
    }

    fn take_window(&mut self) -> Option<(u16, u16)> {
        self.window.take()
    }

    fn record(&mut self, record: &abi::control::Record<'_>) {
        self.recorded.push(std::string::ToString::to_string(record));
    }

    fn trace(&mut self, line: &str) {
        self.traced.push(line.into());
    }

    fn reserve(&self) -> crate::host::Reserve {
        self.reserve
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.spare.is_none_or(|spare| bytes <= spare) && self.reserve > crate::host::Reserve::Last
    }

    fn log(&mut self, line: &str) {
        self.logged.push(line.into());
    }
}
