//! The system's life: build every server, then listen for faults, last words and ends.

use core::fmt;
use core::ptr::NonNull;

use abi::control::{Record, Text};
use abi::description::{Capability, FaultPolicy, MAX_RECORDS};
use abi::fault::Fault;
use abi::server::{RINGS_ADDRESS, parent};
use abi::{Error, MessageInfo, ObjectType, Rights};
use heapless::{String, Vec};
use runtime::InvocationError;
use runtime::memory::Memory;
use runtime::space::{Access, map};
use runtime::stubs::{Endpoint, Frame, Notification, Reply, Tcb, yield_now};
use runtime::trap::{NO_WORDS, Received};

use crate::boot::{Boot, SPACE, TCB};
use crate::emergency::{self, FAILED, SERIAL_PAGE_ADDRESS, SERIAL_PAGE_PHYSICAL, panicked};
use crate::parts::{Owner, Parts, console_index};
use crate::report::Report;
use crate::spawn::{Order, SpawnError};
use crate::territory::Territory;

/// How often a server is built anew before root gives up.
const MAX_RESTARTS: u64 = 8;
/// The badge of a server's faults is twice its index plus this; the badge of its last words one more.
const FIRST_BADGE: u64 = 2;
/// Root's priority while it waits for the console to finish: below every server's.
const LOWEST_PRIORITY: u64 = 1;
/// Looks at the rings before a console that does not finish is given up.
const LAST_LOOKS: u32 = 1_000_000;

/// One server's state.
#[derive(Debug)]
struct Watched {
    territory: Territory,
    tcb: Tcb,
    restarts: u64,
}

/// What servers are built from.
struct Builder {
    boot: Boot,
    memory: Memory,
    parts: Parts,
    endpoint: Endpoint,
}

/// Everything that root owns.
struct Root {
    builder: Builder,
    report: Report,
    /// By their index in the description.
    servers: Vec<Option<Watched>, MAX_RECORDS>,
    reply: Reply,
}

/// Root's main function.
pub(crate) fn run_system(_boot_info: u64) -> ! {
    let boot = Boot::read();
    match Root::new(boot) {
        Ok(mut root) => {
            root.start();
            root.watch()
        }
        Err(refusal) => panicked(format_args!("the kernel refused what root needs itself: {refusal}")),
    }
}

impl Builder {
    fn order(&mut self, index: u32, restarts: u64) -> Result<Order<'_>, SpawnError> {
        let server = self.boot.description.server(index).ok_or(SpawnError::NoProgram)?;
        let fault_badge = FIRST_BADGE + 2 * u64::from(index);
        Ok(Order {
            boot: &self.boot,
            parts: &mut self.parts,
            root: &mut self.memory,
            endpoint: self.endpoint,
            fault_badge,
            parent_badge: fault_badge + 1,
            index,
            server,
            restarts,
        })
    }
}

impl Root {
    fn new(boot: Boot) -> Result<Self, InvocationError> {
        let mut memory = boot.memory();
        let mut parts = Parts::make(&boot, &mut memory)?;
        let serial = parts.devices.page(&mut memory, SERIAL_PAGE_PHYSICAL)?;
        let serial = Frame(memory.copy(serial.0, Rights::READ_WRITE)?);
        map(&mut memory, SPACE, serial, SERIAL_PAGE_ADDRESS, Access::Device)?;
        let endpoint = Endpoint(memory.make(ObjectType::Endpoint, 0)?);
        let reply = Reply(memory.make(ObjectType::Reply, 0)?);
        let builder = Builder { boot, memory, parts, endpoint };
        let mut root = Self { builder, report: Report::default(), servers: Vec::new(), reply };
        root.open_console()?;
        Ok(root)
    }

    /// Maps root's own ring to the console, if the system has one.
    fn open_console(&mut self) -> Result<(), InvocationError> {
        let Builder { memory, parts, .. } = &mut self.builder;
        let Some(ring) = parts.rings_of(Owner::Root).next().copied() else { return Ok(()) };
        let frame = Frame(memory.copy(ring.frame.0, Rights::READ_WRITE)?);
        map(memory, SPACE, frame, RINGS_ADDRESS, Access::ReadWrite)?;
        let console = parts.signal_to(memory, ring.to, parts.badge_at(ring.to, &ring))?;
        let address = usize::try_from(RINGS_ADDRESS).map_err(|_| Error::RangeError)?;
        let address =
            NonNull::new(core::ptr::with_exposed_provenance_mut(address)).ok_or(Error::RangeError)?;
        self.report.open(address, u64::from(ring.entries), Notification(console));
        Ok(())
    }

    /// Builds every server, the host last, since it is given what is left; then lets them run in the description's
    /// order.
    fn start(&mut self) {
        let started = runtime::trap::counter();
        self.report.self_tests(&self.builder.boot.info.self_tests);
        let description = self.builder.boot.description;
        for _ in description.servers() {
            // There is room: a description has no more servers.
            let _ = self.servers.push(None);
        }
        let lost = self.builder.boot.info.lost_bytes;
        if lost != 0 {
            self.report.log(format_args!("{lost} bytes of memory are in pieces too many to be used"));
        }
        let ordinary = description.servers().zip(0..).filter(|(server, _)| server.host.is_none());
        let hosts = description.servers().zip(0..).filter(|(server, _)| server.host.is_some());
        for (server, index) in ordinary.chain(hosts) {
            if let Err(failure) = self.add(index) {
                panicked(format_args!("server {}: {failure}", server.name));
            }
        }
        let ticks = runtime::trap::counter().saturating_sub(started);
        let took_us = u128::from(ticks) * 1_000_000 / u128::from(self.builder.boot.info.timer_hz.max(1));
        let (name, count) = (description.name(), self.servers.len());
        self.report.log(format_args!("system {name}: {count} servers, built in {took_us} us"));
        for watched in self.servers.iter().flatten() {
            if let Err(refusal) = watched.tcb.resume() {
                panicked(format_args!("a server does not start: {refusal}"));
            }
        }
    }

    fn add(&mut self, index: u32) -> Result<(), SpawnError> {
        let mut order = self.builder.order(index, 0)?;
        let territory = order.territory()?;
        let tcb = order.build(&territory)?.tcb;
        let place = usize::try_from(index).ok().and_then(|index| self.servers.get_mut(index));
        *place.ok_or(SpawnError::NoProgram)? = Some(Watched { territory, tcb, restarts: 0 });
        Ok(())
    }

    fn watch(&mut self) -> ! {
        loop {
            let received = self.builder.endpoint.recv(self.reply);
            if let Err(refusal) = received.accepted() {
                panicked(format_args!("root cannot listen: {refusal}"));
            }
            let Some(place) = received.badge.checked_sub(FIRST_BADGE) else { continue };
            let Ok(index) = u32::try_from(place / 2) else { continue };
            let name = self.builder.boot.description.server(index).map_or("", |server| server.name);
            // Read before anything else is called: the words past the registers lie in root's buffer.
            let message = Message::read(&received);
            // Stopped for good, or until built anew: the answer, which it never sees, frees the Reply.
            self.suspend(index);
            let _ = self.reply.send(MessageInfo::new(1, 0), NO_WORDS);
            if place.is_multiple_of(2) {
                self.faulted(index, name, &message);
            } else {
                self.last_words(index, name, &message);
            }
        }
    }

    fn suspend(&mut self, index: u32) {
        let watched = usize::try_from(index).ok().and_then(|index| self.servers.get(index)?.as_ref());
        if let Some(Err(refusal)) = watched.map(|watched| watched.tcb.suspend()) {
            panicked(format_args!("a server cannot be stopped: {refusal}"));
        }
    }

    fn faulted(&mut self, index: u32, name: &str, message: &Message) {
        let [pc, address, cause, instruction] = message.words;
        let kind = match Fault::from_label(message.label) {
            Some(Fault::Page) => "page fault",
            Some(Fault::UserException) => "exception",
            Some(Fault::Timeout) => "timeout",
            Some(Fault::HostLost) => "host lost its ground",
            None => "unknown fault",
        };
        let what = format_args!(
            "{kind} at pc {pc:#x}, address {address:#x}, cause {cause:#x}, instruction {instruction:#010x}"
        );
        self.failed(index, name, what);
    }

    fn last_words(&mut self, index: u32, name: &str, message: &Message) {
        let [first, ..] = message.words;
        let status = u8::try_from(first).unwrap_or(u8::MAX);
        let server = self.builder.boot.description.server(index);
        // Whoever may power the machine off may also end the system in order.
        let may_end = server.is_some_and(|server| server.capabilities.has(Capability::Debug));
        match message.label {
            parent::SHUT_DOWN if may_end => self.end(status),
            parent::EXIT => self.report.log(format_args!("{name} ended with status {status}")),
            parent::PANIC => self.failed(index, name, format_args!("panic: {}", message.text)),
            label => self.failed(index, name, format_args!("refused: a message with label {label:#x}")),
        }
    }

    /// A server cannot go on: logs why, and does what its description says.
    fn failed(&mut self, index: u32, name: &str, what: fmt::Arguments<'_>) {
        if console_index(&self.builder.boot.description) == Some(index) {
            self.report.console_lost();
        }
        self.report.log(format_args!("{name}: {what}"));
        let policy = self.builder.boot.description.server(index).map(|server| server.on_fault);
        match policy {
            Some(FaultPolicy::Stop) => self.report.log(format_args!("{name} stays stopped")),
            Some(FaultPolicy::Restart) => {
                if let Err(failure) = self.restart(index, name) {
                    self.report.log(format_args!("{name} is not built anew: {failure}"));
                    self.system_failed(name);
                }
            }
            Some(FaultPolicy::Halt) | None => self.system_failed(name),
        }
    }

    fn restart(&mut self, index: u32, name: &str) -> Result<(), SpawnError> {
        let Self { builder, servers, report, .. } = self;
        let watched = usize::try_from(index).ok().and_then(|index| servers.get_mut(index)?.as_mut());
        let watched = watched.ok_or(SpawnError::NoProgram)?;
        if watched.restarts == MAX_RESTARTS {
            return Err(SpawnError::TooOften(MAX_RESTARTS));
        }
        watched.restarts += 1;
        watched.territory.clear().map_err(|refusal| SpawnError::Kernel("taking it apart", refusal))?;
        watched.tcb = builder.order(index, watched.restarts)?.build(&watched.territory)?.tcb;
        watched.tcb.resume().map_err(|refusal| SpawnError::Kernel("starting it", refusal))?;
        if console_index(&builder.boot.description) == Some(index) {
            report.console_back();
        }
        report.log(format_args!("{name} was built anew ({} of {MAX_RESTARTS})", watched.restarts));
        Ok(())
    }

    fn system_failed(&mut self, name: &str) -> ! {
        self.report.record(&Record::Panic { place: Text::new(name) });
        self.end(FAILED)
    }

    /// Ends the system: the exit record, and the machine's end once everything is out.
    fn end(&mut self, code: u8) -> ! {
        let console = console_index(&self.builder.boot.description);
        for index in (0..MAX_RECORDS).filter_map(|index| u32::try_from(index).ok()) {
            if Some(index) != console {
                self.suspend(index);
            }
        }
        self.report.record(&Record::Exit { code });
        // Below the console, which is all that still runs.
        if TCB.set_priority(TCB, LOWEST_PRIORITY).is_ok() {
            let mut looks = 0..LAST_LOOKS;
            while !self.report.is_out() && looks.next().is_some() {
                if self.builder.endpoint.nb_recv(self.reply).badge != 0 {
                    // The console's own fault: what is still in the ring goes straight to the device.
                    self.report.console_lost();
                    self.report.record(&Record::Exit { code });
                }
                yield_now();
            }
        }
        emergency::halt()
    }
}

/// A message to root, taken out of registers and buffer.
struct Message {
    label: u64,
    words: [u64; 4],
    /// The text of a panic.
    text: String<{ parent::TEXT_BYTES }>,
}

impl Message {
    fn read(received: &Received) -> Self {
        let mut text = String::new();
        let length = usize::try_from(received.word(0)).unwrap_or(usize::MAX).min(parent::TEXT_BYTES);
        let is_panic = received.info.label() == parent::PANIC;
        for at in (0..length).filter(|_| is_panic) {
            let bytes = received.word(1 + at / 8).to_le_bytes();
            // What is not plain ASCII is the server's own: it reaches the log as a question mark.
            let byte = bytes.get(at % 8).copied().filter(u8::is_ascii).unwrap_or(b'?');
            let _ = text.push(if byte.is_ascii_control() { ' ' } else { char::from(byte) });
        }
        Self { label: received.info.label(), words: core::array::from_fn(|word| received.word(word)), text }
    }
}
