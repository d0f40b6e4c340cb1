//! What root gave this server (`abi::server`), and what the server says to root at its end.

#![expect(unsafe_code, reason = "information and rings that root has mapped")]

use core::cell::Cell;
use core::fmt;
use core::ptr::NonNull;

use abi::boot_info::SelfTests;
use abi::ring::ConsoleEntry;
use abi::server::{
    ChannelGrant, DeviceGrant, End, FIRST_DEVICE_BIT, ImageSegment, MAGIC, ServerInfo, UntypedGrant, parent,
    slot,
};
use abi::{CPtr, Syscall};

use crate::device::ByteRegisters;
use crate::log::Console;
use crate::memory::{Memory, Slots};
use crate::message::info;
use crate::ring::{Consumer, Producer};
use crate::stubs::{CNode, Endpoint, IrqHandler, Notification};
use crate::trap::{Arguments, trap};

/// The name of every client's channel to the console.
const CONSOLE: &str = "console";

/// What root gave this server.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    info: &'static ServerInfo,
}

impl Server {
    /// Reads what root mapped at `address`; None if it is not there.
    pub fn at_start(address: u64) -> Option<Self> {
        let address = core::ptr::with_exposed_provenance_mut::<ServerInfo>(usize::try_from(address).ok()?);
        let info = NonNull::new(address).filter(|info| info.is_aligned())?;
        // SAFETY: root maps the page read-only before the server starts and never changes it; any bytes are a
        // value of the type.
        let info = unsafe { info.as_ref() };
        (info.magic == MAGIC).then_some(Self { info })
    }

    /// The server's name.
    pub fn name(&self) -> &'static str {
        self.info.name.as_str()
    }

    /// How often root has started it before.
    pub fn restarts(&self) -> u64 {
        self.info.restarts
    }

    /// Counter ticks a second.
    pub fn timer_hz(&self) -> u64 {
        self.info.timer_hz
    }

    /// The priority of the server's first thread.
    pub fn priority(&self) -> u64 {
        self.info.priority
    }

    /// What the machine enforces (C-60).
    pub fn self_tests(&self) -> &'static SelfTests {
        &self.info.self_tests
    }

    /// The arguments of the description.
    pub fn arguments(&self) -> impl Iterator<Item = &'static str> + use<> {
        let bytes = table(&self.info.arguments, self.info.argument_bytes);
        bytes
            .split(|byte| *byte == 0)
            .filter(|text| !text.is_empty())
            .filter_map(|text| core::str::from_utf8(text).ok())
    }

    /// The server's image.
    pub fn segments(&self) -> &'static [ImageSegment] {
        table(&self.info.segments, self.info.segment_count)
    }

    /// The server's devices, each with the badge bit of its interrupt.
    pub fn devices(&self) -> impl Iterator<Item = (Device, u64)> + use<> {
        let devices = table(&self.info.devices, self.info.device_count);
        devices.iter().zip(FIRST_DEVICE_BIT..).map(|(grant, bit)| (Device { grant }, 1 << bit))
    }

    /// The server's channels, each with its badge bit.
    pub fn channels(&self) -> impl Iterator<Item = (Channel, u64)> + use<> {
        let channels = table(&self.info.channels, self.info.channel_count);
        channels.iter().zip(0_u32..).map(|(grant, bit)| (Channel { grant }, 1 << bit))
    }

    /// The memory and the empty slots that the server may use; to be taken once.
    pub fn memory(&self) -> Memory {
        let mut memory = Memory::new(
            CNode(CPtr(slot::CNODE)),
            Slots::new(self.info.free_slots.start, self.info.free_slots.end),
        );
        for UntypedGrant { slot, size_bits } in table(&self.info.untypeds, self.info.untyped_count) {
            memory.add(CPtr(*slot), u8::try_from(*size_bits).unwrap_or(0));
        }
        memory
    }

    /// The server's end of its channel to the console, if it has one; to be taken once.
    pub fn console(&self) -> Option<Console> {
        let mut channels = self.channels();
        let (channel, bit) = channels
            .find(|(channel, _)| channel.peer() == CONSOLE && channel.end() == Some(End::Producer))?;
        Some(Console::new(channel.producer()?, channel.peer_notification(), bit, Events::of_server()))
    }
}

fn table<T>(table: &'static [T], count: u64) -> &'static [T] {
    usize::try_from(count).ok().and_then(|count| table.get(..count)).unwrap_or_default()
}

/// One channel of the server's.
#[derive(Clone, Copy, Debug)]
pub struct Channel {
    grant: &'static ChannelGrant,
}

impl Channel {
    /// Its name, the same at both ends.
    pub fn name(&self) -> &'static str {
        self.grant.name.as_str()
    }

    /// The server at the other end.
    pub fn peer(&self) -> &'static str {
        self.grant.peer.as_str()
    }

    /// Which end this server has.
    pub fn end(&self) -> Option<End> {
        End::from_code(self.grant.end)
    }

    /// What wakes the other end.
    pub fn peer_notification(&self) -> Notification {
        Notification(CPtr(self.grant.signal_slot))
    }

    /// The end that submits; to be taken once.
    pub fn producer(&self) -> Option<Producer<ConsoleEntry>> {
        // SAFETY: root mapped the ring there for the server's whole life, and only this end produces.
        unsafe { Producer::attach(self.base()?, self.grant.entries) }
            .ok()
            .filter(|_| self.end() == Some(End::Producer))
    }

    /// The end that completes; to be taken once.
    pub fn consumer(&self) -> Option<Consumer<ConsoleEntry>> {
        // SAFETY: as in `producer`.
        unsafe { Consumer::attach(self.base()?, self.grant.entries) }
            .ok()
            .filter(|_| self.end() == Some(End::Consumer))
    }

    fn base(&self) -> Option<NonNull<u8>> {
        NonNull::new(core::ptr::with_exposed_provenance_mut(usize::try_from(self.grant.address).ok()?))
    }
}

/// One device of the server's.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    grant: &'static DeviceGrant,
}

impl Device {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.grant.name.as_str()
    }

    /// Where its first register is mapped, for registers that are not a byte wide.
    pub fn address(&self) -> u64 {
        self.grant.address
    }

    /// Its interrupt's handler, whose notification root has set.
    pub fn interrupt(&self) -> Option<IrqHandler> {
        (self.grant.irq_slot != 0).then_some(IrqHandler(CPtr(self.grant.irq_slot)))
    }

    /// Its registers; to be taken once.
    pub fn registers(&self) -> Option<ByteRegisters> {
        // SAFETY: root mapped the registers there for the server's whole life and gave them to no other server.
        unsafe { ByteRegisters::new(self.grant.address, self.grant.bytes) }
    }
}

/// What a server waits for: the badge bits of its notification, none of which is lost.
#[derive(Debug)]
pub struct Events {
    notification: Notification,
    pending: Cell<u64>,
}

impl Events {
    /// Those of the server's own notification; to be taken once.
    pub const fn of_server() -> Self {
        Self::new(Notification(CPtr(slot::NOTIFICATION)))
    }

    /// Those of any notification.
    pub const fn new(notification: Notification) -> Self {
        Self { notification, pending: Cell::new(0) }
    }

    /// Waits until something has happened, and answers all that has.
    pub fn wait(&self) -> u64 {
        while self.pending.get() == 0 {
            self.wait_once();
        }
        self.pending.take()
    }

    /// Waits until one of `bits` has happened; what else happens stays for later.
    pub fn wait_for(&self, bits: u64) -> u64 {
        while self.pending.get() & bits == 0 {
            self.wait_once();
        }
        let all = self.pending.get();
        self.pending.set(all & !bits);
        all & bits
    }

    fn wait_once(&self) {
        match self.notification.wait() {
            Ok(badge) => self.pending.set(self.pending.get() | badge),
            Err(refusal) => crate::panic::last_words(format_args!("waiting for events: {refusal}")),
        }
    }
}

/// Ends the server with this status.
pub fn exit(status: u8) -> ! {
    tell_parent(parent::EXIT, status);
    crate::panic::last_words(format_args!("went on after its end"))
}

/// Ends the whole system with this status: root writes the exit record and powers off.
pub fn shut_down(status: u8) -> ! {
    tell_parent(parent::SHUT_DOWN, status);
    crate::panic::last_words(format_args!("went on after the system's end"))
}

fn tell_parent(label: u64, status: u8) {
    let mut arguments = Arguments::of(CPtr(slot::PARENT));
    arguments.info = info(label, 1);
    let [word, ..] = &mut arguments.words;
    *word = u64::from(status);
    trap(Syscall::Call, arguments);
}

/// The endpoint at which root listens.
pub const PARENT: Endpoint = Endpoint(CPtr(slot::PARENT));

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
