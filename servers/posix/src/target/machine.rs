//! The machine under the library: `posix::host::Host` for the kernel's Host object.

use abi::control::Record;
use abi::upper::HostInfo;
use posix::host::{
    ContextId, CopyStop, Exit, FrameEnds, FrameParts, HandlerEntry, Host, Identity, Input, MapEntry, MapStop,
    Registers, Reserve, SpaceId, Stream, Width, WindowPage,
};
use runtime::host::Next;
use runtime::host::copy::{self, Remaining, Text};
use runtime::log::SerialLine;
use runtime::server::Server;
use runtime::stubs::Notification;

use super::bug;
use super::clock::Clock;
use super::console::{InputRing, Output};
use super::contexts::Contexts;
use super::frames::{Frames, map_many};
use super::handlers;

/// Everything that the library reaches the machine by.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) contexts: Contexts,
    pub(super) output: Output,
    pub(super) input: Option<InputRing>,
    pub(super) clock: Clock,
    frames: Frames,
    own: Notification,
    seed: Option<[u8; 32]>,
    capabilities: u64,
}

impl Machine {
    /// The machine that root describes.
    pub(super) fn new(server: &Server, info: &HostInfo) -> Self {
        let own = Notification(abi::CPtr(abi::server::slot::NOTIFICATION));
        let Some(output) = Output::of_server(server, own) else {
            bug(format_args!("there is no channel to the console"))
        };
        let host = runtime::stubs::Host(abi::CPtr(info.host_slot));
        let contexts = usize::try_from(info.contexts).unwrap_or(0);
        Self {
            contexts: Contexts::new(host, info.spaces, contexts),
            output,
            input: InputRing::of_server(server),
            clock: Clock::new(server.timer_hz(), info),
            frames: Frames::new(info),
            own,
            seed: seed(info),
            capabilities: super::capabilities::of_machine(),
        }
    }

    /// What has happened since the last look, without waiting.
    pub(super) fn poll(&mut self) -> u64 {
        match self.own.poll() {
            Ok(badges) => badges | core::mem::take(&mut self.output.met),
            Err(refusal) => bug(format_args!("looking for news: {refusal}")),
        }
    }

    /// What has happened, once something has.
    pub(super) fn wait(&mut self) -> u64 {
        if self.output.met != 0 {
            return self.poll();
        }
        match self.own.wait() {
            Ok(badges) => badges,
            Err(refusal) => bug(format_args!("waiting for news: {refusal}")),
        }
    }

    /// How the current context is entered.
    #[inline(always)] // It is where everything leads to.
    pub(super) fn entering(&mut self, context: ContextId, exit: Exit) -> Next {
        if self.output.met != 0 {
            // News that came while the server waited for the console: before the program's first instruction.
            self.clock.ring_now();
        }
        self.contexts.entering(context, exit)
    }

    fn line(&mut self, line: SerialLine, text: core::fmt::Arguments<'_>) {
        self.output.line(line, text);
        if self.output.met != 0 {
            self.clock.ring_now();
        }
    }
}

/// 32 bytes out of those that the machine gave, if they are so many.
fn seed(info: &HostInfo) -> Option<[u8; 32]> {
    let given = usize::try_from(info.seed_bytes).ok().and_then(|bytes| info.seed.get(..bytes))?;
    let mut seed = [0; 32];
    if given.len() < seed.len() {
        return None;
    }
    for piece in given.chunks(seed.len()) {
        for (place, byte) in seed.iter_mut().zip(piece) {
            *place ^= byte;
        }
    }
    Some(seed)
}

/// A copy's end as the library counts it.
fn stopped(result: Result<(), Remaining>, bytes: usize) -> Result<(), CopyStop> {
    result.map_err(|Remaining(left)| CopyStop {
        done: bytes.saturating_sub(usize::try_from(left).unwrap_or(usize::MAX)),
    })
}

/// A word that was read, which has 32 bits.
fn word(result: Result<u64, Remaining>) -> Result<u32, CopyStop> {
    result.map(posix::number::low_u32).map_err(|_| CopyStop { done: 0 })
}

impl Host for Machine {
    fn copy_in(&mut self, from: u64, into: &mut [u8]) -> Result<(), CopyStop> {
        let to = into.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: the library checked that the program's range ends below 2^47 (C-29); the other one is `into`.
        stopped(unsafe { copy::copy(to, from, into.len() as u64) }, into.len())
    }

    fn copy_string(&mut self, from: u64, into: &mut [u8]) -> Result<usize, CopyStop> {
        let to = into.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: as in `copy_in`.
        let read = unsafe { copy::string(to, from, into.len() as u64) };
        // No string is longer than `into`.
        let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(0);
        match read {
            Text::Whole(length) => Ok(bytes(length)),
            Text::Broken(length) => Err(CopyStop { done: bytes(length) }),
        }
    }

    fn copy_out(&mut self, from: &[u8], to: u64) -> Result<(), CopyStop> {
        let address = from.as_ptr().expose_provenance() as u64;
        // SAFETY: as in `copy_in`.
        stopped(unsafe { copy::copy(to, address, from.len() as u64) }, from.len())
    }

    fn zero_out(&mut self, to: u64, bytes: usize) -> Result<(), CopyStop> {
        // SAFETY: as in `copy_in`.
        stopped(unsafe { copy::zero(to, bytes as u64) }, bytes)
    }

    fn compare_exchange(&mut self, at: u64, old: u32, new: u32) -> Result<u32, CopyStop> {
        // SAFETY: as in `copy_in`; the library checked the alignment.
        word(unsafe { copy::compare_exchange(at, u64::from(old), u64::from(new)) })
    }

    fn load_word(&mut self, at: u64) -> Result<u32, CopyStop> {
        // SAFETY: as in `compare_exchange`.
        word(unsafe { copy::load_word(at) })
    }

    #[inline]
    fn load_double(&mut self, at: u64) -> Result<u64, CopyStop> {
        // SAFETY: as in `compare_exchange`.
        unsafe { copy::load_double(at) }.map_err(|_| CopyStop { done: 0 })
    }

    #[inline]
    fn store_double(&mut self, at: u64, value: u64) -> Result<(), CopyStop> {
        // SAFETY: as in `compare_exchange`.
        unsafe { copy::store_double(at, value) }.map_err(|_| CopyStop { done: 0 })
    }

    fn zero_frame(&mut self, frame: WindowPage) {
        self.frames.zero(frame);
    }

    fn copy_frame(&mut self, from: WindowPage, to: WindowPage) {
        self.frames.copy(from, to);
    }

    fn read_frame(&mut self, frame: WindowPage, offset: usize, into: &mut [u8]) {
        self.frames.read(frame, offset, into);
    }

    fn write_frame(&mut self, frame: WindowPage, offset: usize, from: &[u8]) {
        self.frames.write(frame, offset, from);
    }

    fn zero_part(&mut self, frame: WindowPage, offset: usize, bytes: usize) {
        self.frames.zero_part(frame, offset, bytes);
    }

    fn copy_part(&mut self, from: (WindowPage, usize), to: (WindowPage, usize), bytes: usize) {
        self.frames.copy_part(from, to, bytes);
    }

    #[inline]
    fn copy_frame_out(
        &mut self,
        frame: WindowPage,
        offset: usize,
        bytes: usize,
        to: u64,
    ) -> Result<(), CopyStop> {
        let from = self.frames.part(frame, offset, bytes);
        // SAFETY: as in `copy_in`; the other range lies within a page of a window.
        stopped(unsafe { copy::copy(to, from, bytes as u64) }, bytes)
    }

    #[inline]
    fn copy_frame_in(
        &mut self,
        from: u64,
        frame: WindowPage,
        offset: usize,
        bytes: usize,
    ) -> Result<(), CopyStop> {
        let to = self.frames.part(frame, offset, bytes);
        // SAFETY: as in `copy_frame_out`.
        stopped(unsafe { copy::copy(to, from, bytes as u64) }, bytes)
    }

    fn map_many(&mut self, space: SpaceId, entries: &[MapEntry]) -> Result<(), MapStop> {
        map_many(self.contexts.space(space), entries)
    }

    fn give_tables(&mut self, space: SpaceId, tables: u32) -> u32 {
        self.frames.give(self.contexts.space(space), tables)
    }

    fn take_tables(&mut self, _space: SpaceId) {
        // A space keeps its stock until others need it: spaces are used again, the last one first.
    }

    fn set_space(&mut self, context: ContextId, space: SpaceId) {
        self.contexts.set_space(context, space);
    }

    fn set_identity(&mut self, context: ContextId, identity: &Identity) {
        self.contexts.set_identity(context, identity);
    }

    fn switch(&mut self, context: ContextId) {
        self.contexts.switch(context);
    }

    fn registers(&mut self, context: ContextId) -> Registers {
        Contexts::registers(context)
    }

    fn set_registers(&mut self, context: ContextId, registers: &Registers) {
        Contexts::set_registers(context, registers);
    }

    #[inline]
    fn set_result(&mut self, context: ContextId, result: u64) {
        Contexts::set_result(context, result);
    }

    #[inline]
    fn stack_pointer(&mut self, context: ContextId) -> u64 {
        handlers::stack_pointer(context)
    }

    #[inline(always)] // Twelve stores.
    fn finish_call(&mut self, context: ContextId, result: u64) {
        handlers::finish_call(context, result);
    }

    fn restart_call(&mut self, context: ContextId, first_argument: u64) {
        handlers::restart_call(context, first_argument);
    }

    #[inline]
    fn enter_handler(&mut self, context: ContextId, entry: &HandlerEntry) {
        handlers::enter_handler(context, entry);
    }

    #[inline]
    fn enter_flags(&mut self, context: ContextId) -> Option<u64> {
        (self.output.met == 0).then(|| self.contexts.enter_flags(context))
    }

    #[inline]
    fn save_frame(&mut self, context: ContextId, to: u64, parts: &FrameParts<'_>) -> Result<(), CopyStop> {
        handlers::save_frame(context, to, parts)
    }

    #[inline]
    fn peek_frame(&mut self, from: u64) -> Result<FrameEnds, CopyStop> {
        handlers::peek_frame(from)
    }

    #[inline]
    fn load_frame(&mut self, context: ContextId, from: u64) -> Result<(), CopyStop> {
        handlers::load_frame(context, from)
    }

    #[inline]
    fn vector_width(&mut self, context: ContextId) -> Width {
        handlers::vector_width(context)
    }

    #[inline]
    fn store_vectors(&mut self, _context: ContextId, width: Width, to: u64) -> Result<(), CopyStop> {
        handlers::store_vectors(width, to)
    }

    #[inline]
    fn load_vectors(&mut self, _context: ContextId, width: Width, from: u64) -> Result<(), CopyStop> {
        handlers::load_vectors(width, from)
    }

    fn take_causes(&mut self, _context: ContextId) -> u32 {
        handlers::take_causes()
    }

    fn clear_vectors(&mut self, context: ContextId) {
        self.contexts.clear_vectors(context);
    }

    fn copy_vectors(&mut self, from: ContextId, to: ContextId) {
        self.contexts.copy_vectors(from, to);
    }

    fn monotonic_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn realtime_offset_ns(&self) -> u64 {
        self.clock.realtime_offset_ns()
    }

    fn arm_alarm(&mut self, at_ns: u64) {
        self.clock.arm(at_ns);
    }

    fn random_seed(&mut self) -> Option<[u8; 32]> {
        self.seed.take()
    }

    fn hardware_capabilities(&self) -> u64 {
        self.capabilities
    }

    fn stream_room(&self, _stream: Stream) -> usize {
        self.output.room()
    }

    fn write_stream(&mut self, stream: Stream, bytes: &[u8]) -> usize {
        self.output.write(stream, bytes)
    }

    fn peek_input(&mut self, into: &mut [u8]) -> Input {
        self.input.as_mut().map_or(Input::End, |input| input.peek(into))
    }

    fn take_window(&mut self) -> Option<(u16, u16)> {
        self.input.as_mut()?.take_window()
    }

    fn take_input(&mut self, bytes: usize) {
        if let Some(input) = &mut self.input {
            input.take(bytes);
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        self.line(SerialLine::Control, format_args!("{record}"));
    }

    fn reserve(&self) -> Reserve {
        super::heap::reserve()
    }

    fn has_room(&self, bytes: usize) -> bool {
        super::heap::has_room(bytes)
    }

    fn log(&mut self, line: &str) {
        self.line(SerialLine::Log, format_args!("{line}"));
    }
}
