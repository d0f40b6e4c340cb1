//! Everything that the server asks of the machine it runs on.
//!
//! On the target: the kernel's Host object and MapMany, the copy routines with their fix-up table (C-29),
//! the linear map of the windows (C-44), rings to the console. On the developer's machine: [`crate::mock`].
//! Nothing here interprets what a program gave: addresses come checked, by [`crate::user`].

mod registers;

use crate::Errno;
use crate::address::{PAGE_BYTES, PageRange};
use registers::register;
use zerocopy::{FromZeros, IntoBytes};

/// A lower VSpace, by its number at the host (C-45: made once, recycled).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpaceId(pub u16);

/// A register context in the contexts frame, by number (C-20).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextId(pub u16);

bitflags::bitflags! {
    /// What a program may do with a mapped page; reading is always among it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PageRights: u8 {
        /// Stores go through.
        const WRITE = 1;
        /// Instructions are fetched.
        const EXECUTE = 2;
    }
}

/// One entry of MapMany (C-41): a run of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapEntry {
    /// Page by page to frames that follow each other in one window; what was mapped there is replaced.
    Map {
        /// Where in the space; at most 65,535 pages.
        pages: PageRange,
        /// The first page's frame.
        first: WindowPage,
        /// What the program may do.
        rights: PageRights,
    },
    /// Takes away what is mapped.
    Unmap {
        /// Where in the space; at most 65,535 pages.
        pages: PageRange,
    },
}

/// Most pages of one entry (C-41: 16 bits of count).
pub const ENTRY_PAGES: u64 = 0xffff;
/// Most entries of one call (C-41).
pub const BATCH_ENTRIES: usize = 64;

/// A page of a window: the slot that the window has in the VSpace, and the page in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowPage {
    /// The window.
    pub slot: u8,
    /// The page in it.
    pub page: u64,
}

/// Where MapMany stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapStop {
    /// Entries done in whole.
    pub done: usize,
    /// Why not the next.
    pub reason: MapReason,
}

/// Why MapMany stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapReason {
    /// The space's stock of page tables is empty.
    NeedTable,
    /// An interrupt was pending: the rest is to be asked for again.
    Interrupted,
}

/// A copy between the server and a program ended early: the byte at which a page was missing or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyStop {
    /// Bytes copied before it.
    pub done: usize,
}

pub use abi::context::Width;
pub use registers::{HandlerEntry, Registers};
pub use runtime::host::signal::{FrameEnds, FrameParts};

/// What leaf handlers (C-23) answer without entering compiled code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Identity {
    /// getpid.
    pub pid: u32,
    /// gettid.
    pub tid: u32,
    /// getppid.
    pub parent: u32,
    /// getuid.
    pub user: u32,
    /// geteuid.
    pub effective_user: u32,
    /// getgid.
    pub group: u32,
    /// getegid.
    pub effective_group: u32,
}

/// How a context is to be entered next (C-24, C-25).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// From a system call: result, the registers that Linux keeps, zeros in the temporaries.
    Minimal,
    /// Every register from the context.
    Full,
}

/// A serial stream of the default console (design §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Line 1.
    StandardOutput,
    /// Line 2.
    StandardError,
}

/// What reading standard input found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// So many bytes are there, at least one.
    Bytes(usize),
    /// Nothing yet: [`crate::server::Server::input_ready`] is called when there is.
    Empty,
    /// Nothing, and never again.
    End,
}

/// Bytes that the provided copies between frames and programs move at once.
const PIECE: usize = 512;

/// Goes through a length in pieces.
fn for_each_stop(
    bytes: usize,
    mut each: impl FnMut(usize, &mut [u8]) -> Result<(), CopyStop>,
) -> Result<(), CopyStop> {
    let mut buffer = [0; PIECE];
    let mut done = 0;
    while done < bytes {
        let length = (bytes - done).min(PIECE);
        let Some(piece) = buffer.get_mut(..length) else { break };
        each(done, piece).map_err(|stop| CopyStop { done: done + stop.done })?;
        done += length;
    }
    Ok(())
}

/// How much of its own memory the server has left: no program may use up all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reserve {
    /// Only what is going on may go on: for a page that is touched and not there a program is killed.
    Last,
    /// Calls that the server would have to remember more for are refused.
    Low,
    /// Only files are not made any more: they stay when their makers end, and whoever removes them has to be
    /// started and to open their directory first.
    Scarce,
    /// Enough.
    #[default]
    Plenty,
}

/// The machine under the server.
///
/// The copies of the first group act on the *current* space, which [`Host::switch`] chose, and only on
/// addresses below 2^47; each stops at the first byte whose page is missing or refuses the access.
pub trait Host: 'static {
    /// Reads a program's memory.
    ///
    /// # Errors
    /// [`CopyStop`] at the first byte that cannot be read.
    fn copy_in(&mut self, from: u64, into: &mut [u8]) -> Result<(), CopyStop>;
    /// Reads a program's string up to its zero, and with it if there is room; returns how many bytes come before
    /// the zero, which is the whole room when no zero is among them.
    ///
    /// # Errors
    /// [`CopyStop`] at the first byte that cannot be read.
    fn copy_string(&mut self, from: u64, into: &mut [u8]) -> Result<usize, CopyStop> {
        const SHORT: usize = 64;
        let mut done = 0;
        while done < into.len() {
            let at = from + done as u64;
            // A piece never crosses a page, so that a string that ends before a hole is read in whole.
            let in_page = PAGE_BYTES - at % PAGE_BYTES;
            let length = (into.len() - done).min(SHORT).min(crate::number::to_usize(in_page));
            let Some(piece) = into.get_mut(done..done + length) else { break };
            self.copy_in(at, piece).map_err(|stop| CopyStop { done: done + stop.done })?;
            if let Some(end) = piece.iter().position(|byte| *byte == 0) {
                return Ok(done + end);
            }
            done += length;
        }
        Ok(done)
    }
    /// Writes a program's memory.
    ///
    /// # Errors
    /// [`CopyStop`] at the first byte that cannot be written.
    fn copy_out(&mut self, from: &[u8], to: u64) -> Result<(), CopyStop>;
    /// Writes zeros to a program's memory.
    ///
    /// # Errors
    /// [`CopyStop`] at the first byte that cannot be written.
    fn zero_out(&mut self, to: u64, bytes: usize) -> Result<(), CopyStop>;
    /// Replaces an aligned word of a program's memory if it holds `old`; returns what it held. Atomic.
    ///
    /// # Errors
    /// [`CopyStop`] when the word cannot be written.
    fn compare_exchange(&mut self, at: u64, old: u32, new: u32) -> Result<u32, CopyStop>;
    /// Reads an aligned word of a program's memory. Atomic.
    ///
    /// # Errors
    /// [`CopyStop`] when the word cannot be read.
    fn load_word(&mut self, at: u64) -> Result<u32, CopyStop>;
    /// Reads an aligned word of 64 bits of a program's memory.
    ///
    /// # Errors
    /// [`CopyStop`] when the word cannot be read.
    #[inline]
    fn load_double(&mut self, at: u64) -> Result<u64, CopyStop> {
        let mut word = [0; 8];
        self.copy_in(at, &mut word)?;
        Ok(u64::from_le_bytes(word))
    }
    /// Writes an aligned word of 64 bits of a program's memory.
    ///
    /// # Errors
    /// [`CopyStop`] when the word cannot be written.
    #[inline]
    fn store_double(&mut self, at: u64, value: u64) -> Result<(), CopyStop> {
        self.copy_out(&value.to_le_bytes(), at)
    }

    /// Fills a frame with zeros.
    fn zero_frame(&mut self, frame: WindowPage);
    /// Copies a frame.
    fn copy_frame(&mut self, from: WindowPage, to: WindowPage);
    /// Reads from a frame; `offset` and the length stay within the page.
    fn read_frame(&mut self, frame: WindowPage, offset: usize, into: &mut [u8]);
    /// Writes to a frame; `offset` and the length stay within the page.
    fn write_frame(&mut self, frame: WindowPage, offset: usize, from: &[u8]);
    /// Fills a part of a frame with zeros; offset and length stay within the page.
    fn zero_part(&mut self, frame: WindowPage, offset: usize, bytes: usize) {
        // Writing to a frame never stops.
        let _ = for_each_stop(bytes, |done, piece| {
            self.write_frame(frame, offset + done, piece);
            Ok(())
        });
    }
    /// Copies from one frame to another; offsets and length stay within the pages.
    fn copy_part(&mut self, from: (WindowPage, usize), to: (WindowPage, usize), bytes: usize) {
        let _ = for_each_stop(bytes, |done, piece| {
            self.read_frame(from.0, from.1 + done, piece);
            self.write_frame(to.0, to.1 + done, piece);
            Ok(())
        });
    }
    /// Writes a part of a frame to a program's memory; offset and length stay within the page.
    ///
    /// # Errors
    /// [`CopyStop`] at the first byte that cannot be written.
    fn copy_frame_out(
        &mut self,
        frame: WindowPage,
        offset: usize,
        bytes: usize,
        to: u64,
    ) -> Result<(), CopyStop> {
        for_each_stop(bytes, |done, piece| {
            self.read_frame(frame, offset + done, piece);
            self.copy_out(piece, to + done as u64)
        })
    }
    /// Reads a program's memory into a part of a frame; offset and length stay within the page.
    ///
    /// # Errors
    /// [`CopyStop`] at the first byte that cannot be read; those before it are in the frame.
    fn copy_frame_in(
        &mut self,
        from: u64,
        frame: WindowPage,
        offset: usize,
        bytes: usize,
    ) -> Result<(), CopyStop> {
        for_each_stop(bytes, |done, piece| {
            let copied = self.copy_in(from + done as u64, piece);
            let length = copied.map_or_else(|stop| stop.done, |()| piece.len());
            self.write_frame(frame, offset + done, piece.get(..length).unwrap_or_default());
            copied
        })
    }

    /// Changes mappings of a space, entry by entry; at most [`BATCH_ENTRIES`].
    ///
    /// # Errors
    /// [`MapStop`] says how many entries were done and why not the rest.
    fn map_many(&mut self, space: SpaceId, entries: &[MapEntry]) -> Result<(), MapStop>;
    /// Gives page tables from the server's stock to a space's; returns how many there still were to give.
    fn give_tables(&mut self, space: SpaceId, tables: u32) -> u32;
    /// Takes a space's unused page tables back into the server's stock.
    fn take_tables(&mut self, space: SpaceId);

    /// Says which space a context runs in.
    fn set_space(&mut self, context: ContextId, space: SpaceId);
    /// What the leaf handlers answer for a context: copied beside it, and found from it when it is current.
    fn set_identity(&mut self, context: ContextId, identity: &Identity);
    /// Makes a context current (C-26); it and its space stay so until the next call of this.
    fn switch(&mut self, context: ContextId);
    /// A context's registers. For the current one: those of its last entry into the server.
    fn registers(&mut self, context: ContextId) -> Registers;
    /// Replaces a context's registers; it is entered in full next.
    fn set_registers(&mut self, context: ContextId, registers: &Registers);
    /// Sets the result (`$a0`) of the call that a context waits in, and that it goes on behind it.
    fn set_result(&mut self, context: ContextId, result: u64);
    /// A context's `$sp`; of the current one also within its call.
    fn stack_pointer(&mut self, context: ContextId) -> u64 {
        self.registers(context).general.get(register::SP).copied().unwrap_or(0)
    }
    /// As [`Host::set_result`], but every register of the context is right after it: the pc lies behind the call,
    /// and the temporaries are zero (C-25). It is entered in full next.
    fn finish_call(&mut self, context: ContextId, result: u64) {
        let mut registers = self.registers(context);
        registers.clear_temporaries();
        registers.set(register::A0, result);
        registers.pc = registers.pc.wrapping_add(4);
        self.set_registers(context, &registers);
    }
    /// As [`Host::finish_call`], but the call is made once more: the pc is its own, `$a0` what it was.
    fn restart_call(&mut self, context: ContextId, first_argument: u64) {
        let mut registers = self.registers(context);
        registers.clear_temporaries();
        registers.set(register::A0, first_argument);
        self.set_registers(context, &registers);
    }
    /// Makes a context begin a signal handler: these registers, and the others as they are. It is entered in
    /// full next.
    fn enter_handler(&mut self, context: ContextId, entry: &HandlerEntry) {
        let mut registers = self.registers(context);
        registers.pc = entry.pc;
        registers.set(register::RA, entry.returns);
        registers.set(register::SP, entry.stack);
        for (number, argument) in (register::A0..).zip(entry.arguments) {
            registers.set(number, argument);
        }
        self.set_registers(context, &registers);
    }
    /// The flags with which the current context can be entered in full at once, as a call's answer; `None` when the
    /// machine wants to be asked first, by a [`crate::process::schedule::Next`].
    #[inline]
    fn enter_flags(&mut self, _context: ContextId) -> Option<u64> {
        Some(0)
    }
    /// Writes a signal frame to the current context's program, up to the head of its first record, and END: these
    /// parts, and the context's registers. 16 bytes aligned, as END is.
    ///
    /// # Errors
    /// [`CopyStop`] at a byte that cannot be written, perhaps told too low; a part may be written then.
    fn save_frame(&mut self, context: ContextId, to: u64, parts: &FrameParts<'_>) -> Result<(), CopyStop> {
        let frame = crate::signal::frame::Frame::new(&self.registers(context), parts);
        self.copy_out(frame.as_bytes(), to)?;
        self.copy_out([0_u64; 2].as_bytes(), parts.end)
    }
    /// Reads what counts before the rest of a frame of the current context's program.
    ///
    /// # Errors
    /// [`CopyStop`] at a byte that cannot be read, perhaps told too low.
    fn peek_frame(&mut self, from: u64) -> Result<FrameEnds, CopyStop> {
        let mut frame = crate::signal::frame::Frame::new_zeroed();
        // Nobody looks at what lies before and behind.
        let read = crate::signal::frame::READ;
        let part = frame.as_mut_bytes().get_mut(read.clone()).unwrap_or_default();
        self.copy_in(from + read.start as u64, part)?;
        Ok(frame.ends())
    }
    /// Gives the current context the registers of a frame of its program. It is entered in full next.
    ///
    /// # Errors
    /// [`CopyStop`] at a byte that cannot be read, perhaps told too low; some registers may be the frame's then.
    fn load_frame(&mut self, context: ContextId, from: u64) -> Result<(), CopyStop> {
        let mut frame = crate::signal::frame::Frame::new_zeroed();
        let read = crate::signal::frame::READ;
        let part = frame.as_mut_bytes().get_mut(read.clone()).unwrap_or_default();
        self.copy_in(from + read.start as u64, part)?;
        self.set_registers(context, &frame.program_registers());
        Ok(())
    }

    /// How much of the vector unit the current context's program has used, so that a signal frame has a record
    /// of that width (C-30); the larger of what its context says and what the unit holds.
    fn vector_width(&mut self, context: ContextId) -> Width;
    /// Writes the payload of a record of Linux's sc_extcontext to the current context's program: 32 registers of
    /// the width's lanes, fcc (a flag a byte), fcsr (32 bits). Straight from the unit if that holds the state
    /// (`vector_live`), else from the context's memory. The width is [`Host::vector_width`]'s; the target is
    /// aligned to 16 bytes, and to 32 for LASX.
    ///
    /// # Errors
    /// [`CopyStop`] at the first byte that cannot be written, perhaps too low by less than a register.
    fn store_vectors(&mut self, context: ContextId, width: Width, to: u64) -> Result<(), CopyStop>;
    /// The other way: reads such a payload, aligned or not, into the current context's vector state, which has
    /// that width from then on; lanes beyond it become zero. Into the unit, or into the context's memory, which
    /// then counts (Enter's *vector changed*). fcsr comes without causes that are enabled; bit 6 is cleared
    /// (C-30). When it stops, the state is as it was or as far as it came.
    ///
    /// # Errors
    /// [`CopyStop`] at the first byte that cannot be read.
    fn load_vectors(&mut self, context: ContextId, width: Width, from: u64) -> Result<(), CopyStop>;
    /// The current context's fcsr, as it was: its causes (bits 28:24) are cleared then, since a register that has
    /// causes whose enables are set cannot be written back.
    fn take_causes(&mut self, context: ContextId) -> u32;
    /// Makes all vector state of a context zero, as a new program finds it (CASES 17).
    fn clear_vectors(&mut self, context: ContextId);
    /// Gives a context the vector state of another one, as a clone finds it (SyncVector first).
    fn copy_vectors(&mut self, from: ContextId, to: ContextId);

    /// Nanoseconds since the machine began; never goes back.
    fn monotonic_ns(&self) -> u64;
    /// What to add to [`Host::monotonic_ns`] for nanoseconds since 1970; 0 without a clock in the machine.
    fn realtime_offset_ns(&self) -> u64;
    /// Asks for [`crate::server::Server::alarm`] at a time; replaces an earlier wish.
    fn arm_alarm(&mut self, at_ns: u64);
    /// Bits for the random generator, if the machine has given any (never made from a clock).
    fn random_seed(&mut self) -> Option<[u8; 32]>;
    /// Linux's HWCAP bits of this machine, LBT not among them.
    fn hardware_capabilities(&self) -> u64;

    /// How many bytes a stream's ring takes now.
    fn stream_room(&self, stream: Stream) -> usize;
    /// Puts bytes into a stream's ring; returns how many fitted, perhaps none.
    /// [`crate::server::Server::output_ready`] is called when there is room again. All but
    /// [`crate::server::Server::send`] go through that, which counts.
    fn write_stream(&mut self, stream: Stream, bytes: &[u8]) -> usize;
    /// Looks at the next bytes of standard input; they stay in the ring.
    fn peek_input(&mut self, into: &mut [u8]) -> Input;
    /// Takes bytes of standard input that were looked at out of the ring.
    fn take_input(&mut self, bytes: usize);
    /// The size of the window that somebody sits at, if it has changed: rows and columns. To be asked after
    /// [`Host::peek_input`] found nothing more.
    fn take_window(&mut self) -> Option<(u16, u16)>;
    /// Writes a record to the control line, whole and in its order with the others.
    fn record(&mut self, record: &abi::control::Record<'_>);
    /// Writes a line of `--strace`.
    fn trace(&mut self, line: &str) {
        self.record(&abi::control::Record::Strace { text: abi::control::Text::new(line) });
    }
    /// Writes a line of the server's own log.
    fn log(&mut self, line: &str);
    /// How much of the server's own memory is left.
    #[inline]
    fn reserve(&self) -> Reserve {
        Reserve::Plenty
    }
    /// Lets a call go on that makes the server remember more.
    ///
    /// # Errors
    /// The refusal that is given, if less than that is left.
    #[inline]
    fn require(&self, least: Reserve, refusal: Errno) -> Result<(), Errno> {
        if self.reserve() < least { Err(refusal) } else { Ok(()) }
    }
    /// Whether the server can take on so many bytes at once and not come down to the last of its memory: asked before
    /// what is as large as a program made it.
    fn has_room(&self, bytes: usize) -> bool {
        let _ = bytes;
        self.reserve() > Reserve::Last
    }
}
