//! The records of a compiled description and how each is read.
//!
//! A record's reader answers the name of the first field that has no permitted value.

use super::MAX_NAME;
use crate::fields::Fields;

/// Bytes of a record of each table.
#[derive(Clone, Copy, Debug)]
pub struct Layout;

impl Layout {
    /// Server: name, program, budget 64, period 64, memory 64, arguments, priority 8, maximum 8, on-fault 8,
    /// zero 8, capabilities 32, a host's spaces 32, zero 32, a host's heap 64; both 0 for a server that is no host.
    pub const SERVER: usize = 72;
    /// Channel: name, from 32, to 32, kind 32, entries 32.
    pub const CHANNEL: usize = 24;
    /// Device: name, address 64, bytes 64, interrupt 32, server 32.
    pub const DEVICE: usize = 32;
    /// Argument: a text.
    pub const ARGUMENT: usize = 8;
}

/// Stands for "no interrupt" in a device's record.
pub const NO_INTERRUPT: u32 = u32::MAX;

/// What root does when a server faults or panics.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FaultPolicy {
    /// The system ends with an error.
    Halt,
    /// The server stays stopped, the others go on.
    Stop,
    /// The server is built anew.
    Restart,
}

impl FaultPolicy {
    /// Each policy with the word that stands for it in a description.
    pub const ALL: [(&'static str, Self); 3] =
        [("halt", Self::Halt), ("stop", Self::Stop), ("restart", Self::Restart)];

    /// The number that stands in the record.
    pub const fn code(self) -> u8 {
        match self {
            Self::Halt => 0,
            Self::Stop => 1,
            Self::Restart => 2,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().map(|(_, policy)| policy).find(|policy| policy.code() == code)
    }
}

/// An authority of root's that root passes on to a server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Capability {
    /// The Debug object.
    Debug,
    /// SchedControl: the server may configure scheduling contexts.
    SchedControl,
    /// AsidControl: the server may make pools of address-space identifiers.
    AsidControl,
    /// HostControl: the server may make upper halves and hosts.
    HostControl,
}

impl Capability {
    /// Each capability with the word that stands for it in a description.
    pub const ALL: [(&'static str, Self); 4] = [
        ("debug", Self::Debug),
        ("sched_control", Self::SchedControl),
        ("asid_control", Self::AsidControl),
        ("host_control", Self::HostControl),
    ];

    const fn bit(self) -> u32 {
        match self {
            Self::Debug => 1,
            Self::SchedControl => 1 << 1,
            Self::AsidControl => 1 << 2,
            Self::HostControl => 1 << 3,
        }
    }
}

/// The set of capabilities that a server is given beyond what its memory, devices and channels are.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Capabilities(u32);

impl Capabilities {
    /// Whether the server is given this one.
    pub const fn has(self, capability: Capability) -> bool {
        self.0 & capability.bit() != 0
    }

    /// The set with one more.
    #[must_use]
    pub const fn with(self, capability: Capability) -> Self {
        Self(self.0 | capability.bit())
    }

    /// The number that stands in the record.
    pub const fn bits(self) -> u32 {
        self.0
    }

    fn from_bits(bits: u32) -> Option<Self> {
        let all = Capability::ALL.into_iter().fold(Self(0), |set, (_, one)| set.with(one));
        (bits & !all.0 == 0).then_some(Self(bits))
    }
}

/// Most address spaces of a host.
pub const MAX_SPACES: u32 = 1 << 14;
/// The largest heap of a host: it lies in the same part of the addresses as the image (`abi::upper`).
pub const MAX_HEAP_BYTES: u64 = crate::upper::PART_BYTES / 2;

/// What a server that hosts programs is built with (C-45). All memory that no server was promised is its too.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct HostPlan {
    /// Address spaces for programs, 1 to [`MAX_SPACES`].
    pub spaces: u32,
    /// Bytes of the host's own heap, 1 to [`MAX_HEAP_BYTES`]; it gets whole leaves of 32 MiB.
    pub heap_bytes: u64,
}

impl HostPlan {
    /// Contexts: at least two for each space, the header among them, as many as fill a Frame.
    pub const fn contexts(self) -> u64 {
        const LEAST: u64 = 1 << (crate::PAGE_BITS - crate::context::CONTEXT_BITS);
        let contexts = (2 * self.spaces as u64).next_power_of_two();
        if contexts > LEAST { contexts } else { LEAST }
    }

    fn take(fields: &mut Fields<'_>) -> Result<Option<Self>, &'static str> {
        let (spaces, zero) = (fields.u32().ok_or("host")?, fields.u32().ok_or("host")?);
        let heap_bytes = fields.u64().ok_or("host")?;
        match (spaces, zero, heap_bytes) {
            (0, 0, 0) => Ok(None),
            (1..=MAX_SPACES, 0, 1..=MAX_HEAP_BYTES) => Ok(Some(Self { spaces, heap_bytes })),
            _ => Err("host"),
        }
    }
}

/// One server.
#[derive(Clone, Copy, Debug)]
pub struct Server<'a> {
    /// Its name, unique.
    pub name: &'a str,
    /// The archive's entry that holds its ELF.
    pub program: &'a str,
    /// Its thread's priority.
    pub priority: u8,
    /// The highest priority that it may give to threads of its own.
    pub max_controlled_priority: u8,
    /// Processor time in each period, in microseconds; not 0, at most the period.
    pub budget_us: u64,
    /// The period, in microseconds.
    pub period_us: u64,
    /// Bytes of Untyped that it is given beyond its own image; may be 0.
    pub memory_bytes: u64,
    /// What root passes on to it.
    pub capabilities: Capabilities,
    /// What root does when it faults; a host is never built anew.
    pub on_fault: FaultPolicy,
    /// What it is built with if it hosts programs; else it is an ordinary server.
    pub host: Option<HostPlan>,
    bytes: &'a [u8],
    arguments: Table<'a>,
}

impl<'a> Server<'a> {
    /// Its arguments, in order.
    pub fn arguments(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let bytes = self.bytes;
        self.arguments.records().filter_map(move |record| Text::take(&mut Fields(record))?.get(bytes))
    }

    pub(super) fn read(
        record: &'a [u8],
        bytes: &'a [u8],
        arguments: Table<'a>,
    ) -> Result<Self, &'static str> {
        let mut fields = Fields(record);
        let name = Text::take(&mut fields).and_then(|text| text.name(bytes)).ok_or("name")?;
        let program = Text::take(&mut fields).and_then(|text| text.name(bytes)).ok_or("program")?;
        let budget_us = fields.u64().filter(|budget| *budget != 0).ok_or("budget")?;
        let period_us = fields.u64().filter(|period| budget_us <= *period).ok_or("period")?;
        let memory_bytes = fields.u64().ok_or("memory")?;
        let arguments = arguments.take_range(&mut fields).ok_or("arguments")?;
        let [priority, max_controlled_priority, on_fault, zero] =
            fields.u32().ok_or("priority")?.to_le_bytes();
        let capabilities = fields.u32().and_then(Capabilities::from_bits).ok_or("capabilities")?;
        let on_fault = FaultPolicy::from_code(on_fault).filter(|_| zero == 0).ok_or("on_fault")?;
        let host = HostPlan::take(&mut fields)?;
        if host.is_some() && on_fault == FaultPolicy::Restart {
            return Err("on_fault");
        }
        Ok(Self {
            name,
            program,
            priority,
            max_controlled_priority,
            budget_us,
            period_us,
            memory_bytes,
            capabilities,
            on_fault,
            host,
            bytes,
            arguments,
        })
    }
}

/// How two servers are connected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ChannelKind {
    /// A shared ring with a notification each way (C-61).
    Ring,
}

impl ChannelKind {
    /// Each kind with the word that stands for it in a description.
    pub const ALL: [(&'static str, Self); 1] = [("ring", Self::Ring)];

    /// The number that stands in the record.
    pub const fn code(self) -> u32 {
        match self {
            Self::Ring => 1,
        }
    }

    fn from_code(code: u32) -> Option<Self> {
        Self::ALL.into_iter().map(|(_, kind)| kind).find(|kind| kind.code() == code)
    }
}

/// One channel.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Channel<'a> {
    /// Its name, unique; both ends know it by this name.
    pub name: &'a str,
    /// Index of the server that submits requests.
    pub from: u32,
    /// Index of the server that completes them; another than `from`.
    pub to: u32,
    /// How they are connected.
    pub kind: ChannelKind,
    /// Entries of the ring, a power of two.
    pub entries: u32,
}

impl<'a> Channel<'a> {
    pub(super) fn read(record: &[u8], bytes: &'a [u8]) -> Result<Self, &'static str> {
        let mut fields = Fields(record);
        let name = Text::take(&mut fields).and_then(|text| text.name(bytes)).ok_or("name")?;
        Ok(Self {
            name,
            from: fields.u32().ok_or("ends")?,
            to: fields.u32().ok_or("ends")?,
            kind: fields.u32().and_then(ChannelKind::from_code).ok_or("kind")?,
            entries: fields.u32().filter(|entries| entries.is_power_of_two()).ok_or("entries")?,
        })
    }
}

/// One device that is given to a server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Device<'a> {
    /// Its name, unique.
    pub name: &'a str,
    /// First physical address of its registers; the server gets the pages around them.
    pub address: u64,
    /// Bytes of its registers, not 0.
    pub size: u64,
    /// Its input of the PCH-PIC, if it interrupts.
    pub interrupt: Option<u32>,
    /// Index of the server that it is given to.
    pub server: u32,
}

impl<'a> Device<'a> {
    /// The first address behind its registers.
    pub const fn end(&self) -> u64 {
        self.address.saturating_add(self.size)
    }

    pub(super) fn read(record: &[u8], bytes: &'a [u8]) -> Result<Self, &'static str> {
        let mut fields = Fields(record);
        let name = Text::take(&mut fields).and_then(|text| text.name(bytes)).ok_or("name")?;
        let address = fields.u64().ok_or("address")?;
        let size = fields.u64().filter(|size| *size != 0).ok_or("size")?;
        address.checked_add(size).ok_or("size")?;
        let interrupt = fields.u32().ok_or("interrupt")?;
        Ok(Self {
            name,
            address,
            size,
            interrupt: (interrupt != NO_INTERRUPT).then_some(interrupt),
            server: fields.u32().ok_or("server")?,
        })
    }
}

/// Where a text lies.
pub(super) struct Text {
    offset: u32,
    length: u32,
}

impl Text {
    pub(super) fn take(fields: &mut Fields<'_>) -> Option<Self> {
        Some(Self { offset: fields.u32()?, length: fields.u32()? })
    }

    pub(super) fn get<'a>(&self, bytes: &'a [u8]) -> Option<&'a str> {
        let start = usize::try_from(self.offset).ok()?;
        let end = start.checked_add(usize::try_from(self.length).ok()?)?;
        core::str::from_utf8(bytes.get(start..end)?).ok()
    }

    /// A text that may name something: short, printable ASCII.
    pub(super) fn name<'a>(&self, bytes: &'a [u8]) -> Option<&'a str> {
        self.get(bytes).filter(|name| {
            (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
        })
    }
}

/// A table whose bytes are known to be there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'a> {
    bytes: &'a [u8],
    record: usize,
}

impl<'a> Table<'a> {
    pub(super) fn take(fields: &mut Fields<'_>, bytes: &'a [u8], record: usize) -> Option<Self> {
        let start = usize::try_from(fields.u32()?).ok()?;
        let size = usize::try_from(fields.u32()?).ok()?.checked_mul(record)?;
        Some(Self { bytes: bytes.get(start..start.checked_add(size)?)?, record })
    }

    fn take_range(self, fields: &mut Fields<'_>) -> Option<Self> {
        let start = usize::try_from(fields.u32()?).ok()?.checked_mul(self.record)?;
        let size = usize::try_from(fields.u32()?).ok()?.checked_mul(self.record)?;
        Some(Self { bytes: self.bytes.get(start..start.checked_add(size)?)?, record: self.record })
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() / self.record
    }

    pub(super) fn records(self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.bytes.chunks_exact(self.record)
    }
}
