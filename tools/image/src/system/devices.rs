//! Which registers exist, and which server owns which.
//!
//! Invariant of what is returned: no two devices overlap or share an interrupt, each has one owner, and no
//! page holds registers of two owners, since a page is the least that can be given away.

use super::System;
use super::model::Device;
use crate::machine::{DEVICE_WINDOW, DEVICES, KERNEL_REGISTERS};
use crate::mistake::{At, Mistake, Span, meant_or_list};
use abi::boot_archive::ARCHIVE_ALIGN;
use std::ops::Range;

/// A device and its owner.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) name: String,
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) interrupt: Option<u32>,
    /// The owner's index, in the description's order.
    pub(super) server: usize,
    /// Where it is given.
    span: Span,
}

/// A device that can be given: one of the machine's, or one that the description declares.
struct Known {
    name: String,
    registers: Range<u64>,
    interrupt: Option<u32>,
    /// Where it is declared; the machine's own have no place.
    declared: Option<Places>,
}

struct Places {
    address: Span,
    interrupt: Option<Span>,
}

/// Returns the devices that are given to servers.
pub(super) fn check(system: &System) -> Result<Vec<Given>, Mistake> {
    let known = known_devices(&system.devices)?;
    let mut given: Vec<Given> = Vec::new();
    for (server, mention) in mentions(system) {
        let device = find(&known, mention)?;
        if let Some(first) = given.iter().find(|first| first.name == device.name) {
            return Err(Mistake::new(format!("device `{}` is given twice", device.name))
                .at(&first.span, "here")
                .at(&mention.span, "and here")
                .help("a device has one owner; the others reach it through a channel to that server"));
        }
        let pages = pages(&device.registers);
        let shared = |first: &&Given| first.server != server && overlap(&first.pages(), &pages);
        if let Some(first) = given.iter().find(shared) {
            return Err(Mistake::new(format!("`{}` and `{}` share a page", first.name, device.name))
                .at(&first.span, "given to one server here")
                .at(&mention.span, "and to another here")
                .help("whoever has the page reaches both devices: give both to one server"));
        }
        given.push(Given {
            name: device.name.clone(),
            address: device.registers.start,
            size: device.registers.end - device.registers.start,
            interrupt: device.interrupt,
            server,
            span: mention.span.clone(),
        });
    }
    Ok(given)
}

impl Given {
    fn pages(&self) -> Range<u64> {
        pages(&(self.address..self.address + self.size))
    }
}

fn mentions(system: &System) -> impl Iterator<Item = (usize, &At<String>)> {
    let servers = system.servers.iter().enumerate();
    servers.flat_map(|(index, server)| server.devices.iter().map(move |mention| (index, mention)))
}

fn find<'k>(known: &'k [Known], mention: &At<String>) -> Result<&'k Known, Mistake> {
    known.iter().find(|device| device.name == mention.value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|device| device.name.as_str()).collect();
        Mistake::new(format!("there is no device `{}`", mention.value))
            .at(&mention.span, "neither one of the machine's nor a [[device]] of this description")
            .help(meant_or_list(&mention.value, &names))
    })
}

fn known_devices(declared: &[Device]) -> Result<Vec<Known>, Mistake> {
    let machine = DEVICES.iter().map(|(name, address, size, interrupt)| Known {
        name: (*name).to_owned(),
        registers: *address..address + size,
        interrupt: Some(*interrupt),
        declared: None,
    });
    let mut known: Vec<Known> = machine.collect();
    for device in declared {
        let registers = registers(device)?;
        check_kernel(device, &registers)?;
        for earlier in &known {
            check_pair(earlier, device, &registers)?;
        }
        known.push(Known {
            name: device.name.value.clone(),
            registers,
            interrupt: device.interrupt.as_ref().map(|input| input.value),
            declared: Some(Places {
                address: device.address.span.clone(),
                interrupt: device.interrupt.as_ref().map(|input| input.span.clone()),
            }),
        });
    }
    Ok(known)
}

fn registers(device: &Device) -> Result<Range<u64>, Mistake> {
    let end = device.address.value.checked_add(device.size.value);
    let inside = |end: &u64| device.address.value >= DEVICE_WINDOW.start && *end <= DEVICE_WINDOW.end;
    end.filter(inside).map(|end| device.address.value..end).ok_or_else(|| {
        let Range { start, end } = DEVICE_WINDOW;
        Mistake::new(format!("device `{}` is not where devices are", device.name.value))
            .at(&device.address.span, "from here")
            .at(&device.size.span, "this many bytes")
            .help(format!("registers lie from {start:#x} to {end:#x}; below and above is memory"))
    })
}

fn check_kernel(device: &Device, registers: &Range<u64>) -> Result<(), Mistake> {
    let own = KERNEL_REGISTERS.into_iter().find(|(_, own)| overlap(&pages(own), &pages(registers)));
    own.map_or(Ok(()), |(what, own)| {
        let name = &device.name.value;
        Err(Mistake::new(format!("device `{name}` is in a page with the kernel's {what}"))
            .at(&device.address.span, "here")
            .help(format!(
                "{:#x} to {:#x} is the kernel's, and a page is the least to give",
                own.start, own.end
            )))
    })
}

fn check_pair(earlier: &Known, device: &Device, registers: &Range<u64>) -> Result<(), Mistake> {
    let name = &device.name.value;
    if *name == earlier.name {
        // Two declared ones of one name were refused before: this is one of the machine's.
        return Err(Mistake::new(format!("`{name}` is one of the machine's own devices"))
            .at(&device.name.span, "declared again here")
            .help("leave the [[device]] out: a server can be given it as it is"));
    }
    let places = earlier.declared.as_ref();
    let own = if places.is_none() { " (the machine's own)" } else { "" };
    if overlap(&earlier.registers, registers) {
        let mistake = Mistake::new(format!("devices `{}`{own} and `{name}` overlap", earlier.name));
        let Range { start, end } = earlier.registers;
        let first = format!("{start:#x} to {end:#x} is `{}`{own}", earlier.name);
        let second = format!("{:#x} to {:#x} is `{name}`", registers.start, registers.end);
        let mistake = match places {
            Some(places) => mistake.at(&places.address, first),
            None => mistake.help(first),
        };
        return Err(mistake.at(&device.address.span, second));
    }
    match (&device.interrupt, earlier.interrupt) {
        (Some(input), Some(taken)) if input.value == taken => {
            let mistake = Mistake::new(format!("interrupt {taken} is taken twice"));
            let first = format!("by `{}`{own}", earlier.name);
            let mistake = match places.and_then(|places| places.interrupt.as_ref()) {
                Some(span) => mistake.at(span, first),
                None => mistake.help(format!("it is taken {first}")),
            };
            Err(mistake.at(&input.span, format!("by `{name}`")))
        }
        _ => Ok(()),
    }
}

fn pages(registers: &Range<u64>) -> Range<u64> {
    registers.start & !(ARCHIVE_ALIGN - 1)..registers.end.next_multiple_of(ARCHIVE_ALIGN)
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}
