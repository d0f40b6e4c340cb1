//! The tables of a description and their keys.

use super::hosting::{Host, HostedProgram};
use crate::machine::INTERRUPT_INPUTS;
use crate::mistake::{At, Mistake, Span};
use crate::source::{Keys, show_bytes, tables};
use abi::boot_archive::ARCHIVE_ALIGN;
use abi::description::{Capabilities, Capability, ChannelKind, FaultPolicy, MAX_ARGUMENTS, MAX_RECORDS};
use toml::de::{DeTable, DeValue};

/// A server that says nothing of its budget gets this much processor time in each period, in microseconds.
const DEFAULT_BUDGET_US: u64 = 10_000;
/// The longest budget or period: an hour, in microseconds.
const MAX_TIME_US: u64 = 3_600_000_000;
/// The most entries of a ring: its indices are free-running 32-bit numbers (C-61).
const MAX_RING_ENTRIES: u64 = 1 << 16;

/// The whole description.
#[derive(Debug)]
pub(crate) struct System {
    pub(crate) name: At<String>,
    /// Memory of the machine, in bytes.
    pub(crate) memory: At<u64>,
    /// The first server's program, which builds the others.
    pub(crate) root: At<String>,
    pub(crate) servers: Vec<Server>,
    pub(crate) devices: Vec<Device>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) programs: Vec<HostedProgram>,
}

/// One `[[server]]`.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) name: At<String>,
    pub(crate) program: At<String>,
    pub(crate) priority: At<u8>,
    pub(crate) max_controlled_priority: u8,
    pub(crate) budget_us: u64,
    pub(crate) period_us: u64,
    pub(crate) memory: Option<At<u64>>,
    pub(crate) devices: Vec<At<String>>,
    pub(crate) capabilities: Capabilities,
    pub(crate) arguments: Vec<At<String>>,
    pub(crate) on_fault: At<FaultPolicy>,
    pub(crate) after: Vec<At<String>>,
    pub(crate) host: Option<Host>,
}

/// One `[[device]]`.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) name: At<String>,
    pub(crate) address: At<u64>,
    pub(crate) size: At<u64>,
    pub(crate) interrupt: Option<At<u32>>,
}

/// One `[[channel]]`.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) name: At<String>,
    pub(crate) from: At<String>,
    pub(crate) to: At<String>,
    pub(crate) kind: ChannelKind,
    pub(crate) entries: At<u64>,
}

impl System {
    /// Reads all tables; what they say of each other is not looked at yet.
    pub(crate) fn read(text: &str) -> Result<Self, Mistake> {
        let document = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            Mistake::new("the description cannot be read as TOML").at(&span, error.message())
        })?;
        let root = document.get_ref();
        let top =
            Keys::new("the description", 0..0, root, &["system", "server", "device", "channel", "program"])?;
        let mut system = Self::read_head(&top)?;
        system.servers = read_all(root, "server", &Server::read)?;
        system.devices = read_all(root, "device", &Device::read)?;
        system.channels = read_all(root, "channel", &Channel::read)?;
        system.programs = read_all(root, "program", &HostedProgram::read)?;
        let too_much =
            system.servers.iter().flat_map(|server| system.arguments_of(server)).nth(MAX_ARGUMENTS);
        match too_much {
            Some(first) => Err(too_many(MAX_ARGUMENTS, "argument", &first.span)),
            None => Ok(system),
        }
    }

    fn read_head(top: &Keys<'_>) -> Result<Self, Mistake> {
        let table = top.get("system").ok_or_else(|| {
            Mistake::new("the description has no table `[system]`")
                .at(&(0..0), "begin it with `[system]`, and a `name` and the `memory` of the machine")
        })?;
        let DeValue::Table(head) = table.get_ref() else {
            return Err(
                Mistake::new("`system` must be a table").at(&table.span(), "begin it with `[system]`")
            );
        };
        let keys = Keys::new("[system]", table.span(), head, &["name", "memory", "root"])?;
        let memory = keys.required("memory", keys.bytes("memory")?)?;
        if !memory.value.is_multiple_of(1 << 20) || memory.value == 0 {
            return Err(Mistake::new("`memory` is not a whole number of MiB")
                .at(&memory.span, show_bytes(memory.value))
                .help("it is the size of the machine that the system is made for"));
        }
        Ok(Self {
            name: keys.required("name", keys.name("name")?)?,
            memory,
            root: keys.name("root")?.unwrap_or(At { value: String::from("root"), span: keys.span() }),
            servers: Vec::new(),
            devices: Vec::new(),
            channels: Vec::new(),
            programs: Vec::new(),
        })
    }
}

type Reader<'f, T> = &'f dyn Fn(Span, &DeTable<'_>) -> Result<T, Mistake>;

fn read_all<T>(root: &DeTable<'_>, key: &str, read: Reader<'_, T>) -> Result<Vec<T>, Mistake> {
    let tables = tables(root, key)?;
    if let Some((span, _)) = tables.get(MAX_RECORDS) {
        return Err(too_many(MAX_RECORDS, key, span));
    }
    tables.into_iter().map(|(span, table)| read(span, table)).collect()
}

fn too_many(most: usize, what: &str, span: &Span) -> Mistake {
    Mistake::new(format!("more than {most} {what}s")).at(span, "the first one too many")
}

impl Server {
    const KEYS: [&str; 13] = [
        "name",
        "program",
        "priority",
        "max_controlled_priority",
        "budget_us",
        "period_us",
        "memory",
        "devices",
        "capabilities",
        "arguments",
        "on_fault",
        "after",
        "host",
    ];

    fn read(span: Span, table: &DeTable<'_>) -> Result<Self, Mistake> {
        let keys = Keys::new("[[server]]", span, table, &Self::KEYS)?;
        let name = keys.required("name", keys.name("name")?)?;
        let (budget_us, period_us) = read_time(&keys)?;
        Ok(Self {
            program: keys.name("program")?.unwrap_or_else(|| name.clone()),
            priority: keys.required("priority", read_priority(&keys, "priority")?)?,
            max_controlled_priority: read_priority(&keys, "max_controlled_priority")?
                .map_or(0, |priority| priority.value),
            budget_us,
            period_us,
            memory: keys.power_of_two_bytes("memory", ARCHIVE_ALIGN)?,
            devices: keys.names("devices")?,
            capabilities: read_capabilities(&keys)?,
            arguments: keys.texts("arguments")?,
            on_fault: keys
                .choice("on_fault", &FaultPolicy::ALL)?
                .unwrap_or(At { value: FaultPolicy::Halt, span: keys.span() }),
            after: keys.names("after")?,
            host: keys.table("host", &["spaces", "heap"])?.map(|keys| Host::read(&keys)).transpose()?,
            name,
        })
    }
}

fn read_capabilities(keys: &Keys<'_>) -> Result<Capabilities, Mistake> {
    let given = keys.choices("capabilities", &Capability::ALL)?;
    Ok(given.into_iter().fold(Capabilities::default(), Capabilities::with))
}

fn read_priority(keys: &Keys<'_>, key: &str) -> Result<Option<At<u8>>, Mistake> {
    let number = keys.number(key, 0..=u64::from(u8::MAX))?;
    Ok(number.and_then(|number| Some(At { value: u8::try_from(number.value).ok()?, span: number.span })))
}

/// Budget and period; the period is the budget unless it is given (round robin).
fn read_time(keys: &Keys<'_>) -> Result<(u64, u64), Mistake> {
    let budget = keys.number("budget_us", 1..=MAX_TIME_US)?;
    let period = keys.number("period_us", 1..=MAX_TIME_US)?;
    let budget_us = budget.as_ref().map_or(DEFAULT_BUDGET_US, |budget| budget.value);
    let Some(period) = period else { return Ok((budget_us, budget_us)) };
    if budget_us <= period.value {
        return Ok((budget_us, period.value));
    }
    let default = if budget.is_none() { ", unless `budget_us` says otherwise" } else { "" };
    let budget_span = budget.map_or_else(|| keys.span(), |budget| budget.span);
    Err(Mistake::new("the budget is longer than its period")
        .at(&budget_span, format!("{budget_us} µs of processor time{default}"))
        .at(&period.span, format!("in each {} µs", period.value))
        .help("the budget is what the server may use in each period: make it shorter, or the period longer"))
}

impl Device {
    fn read(span: Span, table: &DeTable<'_>) -> Result<Self, Mistake> {
        let keys = Keys::new("[[device]]", span, table, &["name", "address", "size", "interrupt"])?;
        let interrupt = keys.number("interrupt", 0..=INTERRUPT_INPUTS - 1)?;
        Ok(Self {
            name: keys.required("name", keys.name("name")?)?,
            address: keys.required("address", keys.number("address", 0..=u64::MAX)?)?,
            size: keys.required("size", keys.number("size", 1..=u64::MAX)?)?,
            interrupt: interrupt
                .and_then(|input| Some(At { value: u32::try_from(input.value).ok()?, span: input.span })),
        })
    }
}

impl Channel {
    fn read(span: Span, table: &DeTable<'_>) -> Result<Self, Mistake> {
        let keys = Keys::new("[[channel]]", span, table, &["name", "from", "to", "kind", "entries"])?;
        let entries = keys.required("entries", keys.number("entries", 1..=MAX_RING_ENTRIES)?)?;
        if !entries.value.is_power_of_two() {
            let next = entries.value.next_power_of_two();
            return Err(Mistake::new("the entries of a ring are not a power of two")
                .at(&entries.span, "not a power of two")
                .help(format!(
                    "write {} or {next}: the ring's indices run freely and are masked",
                    next / 2
                )));
        }
        Ok(Self {
            name: keys.required("name", keys.name("name")?)?,
            from: keys.required("from", keys.name("from")?)?,
            to: keys.required("to", keys.name("to")?)?,
            kind: keys.required("kind", keys.choice("kind", &ChannelKind::ALL)?)?.value,
            entries,
        })
    }
}
