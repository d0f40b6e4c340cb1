//! From a checked description to the bytes that root reads (`abi::description`).

use super::System;
use super::devices::Given;
use super::model::Server;
use super::names::Ends;
use crate::mistake::Mistake;
use abi::description::{
    DESCRIPTION_MAGIC, DESCRIPTION_VERSION, Description, HEADER_SIZE, Layout, NO_INTERRUPT,
};

/// Writes servers in the order of `order`; indices in other records follow it.
pub(super) fn compile(
    system: &System,
    ends: &[Ends],
    devices: &[Given],
    order: &[usize],
) -> Result<Vec<u8>, Mistake> {
    let servers: Vec<&Server> = order.iter().filter_map(|index| system.servers.get(*index)).collect();
    let arguments: Vec<Vec<_>> = servers.iter().map(|server| system.arguments_of(server).collect()).collect();
    let sizes = [
        (Layout::SERVER, servers.len()),
        (Layout::CHANNEL, system.channels.len()),
        (Layout::DEVICE, devices.len()),
        (Layout::ARGUMENT, arguments.iter().map(Vec::len).sum()),
    ];
    let texts_at = HEADER_SIZE + sizes.iter().map(|(record, count)| record * count).sum::<usize>();
    let mut texts = Texts { at: texts_at, bytes: Vec::new() };
    let place =
        |index: usize| small(order.iter().position(|started| *started == index).unwrap_or(usize::MAX));

    let mut records = Vec::new();
    put_servers(&mut records, &mut texts, servers.iter().zip(arguments.iter().map(Vec::len)));
    for (channel, ends) in system.channels.iter().zip(ends) {
        texts.put(&mut records, &channel.name.value);
        let entries = u32::try_from(channel.entries.value).unwrap_or(u32::MAX);
        put_words(&mut records, &[place(ends.from), place(ends.to), channel.kind.code(), entries]);
    }
    for device in devices {
        texts.put(&mut records, &device.name);
        put_long_words(&mut records, &[device.address, device.size]);
        put_words(&mut records, &[device.interrupt.unwrap_or(NO_INTERRUPT), place(device.server)]);
    }
    for argument in arguments.iter().flatten() {
        texts.put(&mut records, &argument.value);
    }

    let mut bytes = Vec::new();
    let mut name = Vec::new();
    texts.put(&mut name, &system.name.value);
    put_long_words(&mut bytes, &[DESCRIPTION_MAGIC]);
    put_words(&mut bytes, &[DESCRIPTION_VERSION, small(texts_at + texts.bytes.len())]);
    put_long_words(&mut bytes, &[system.memory.value]);
    bytes.extend_from_slice(&name);
    let mut table_at = HEADER_SIZE;
    for (record, count) in sizes {
        put_words(&mut bytes, &[small(table_at), small(count)]);
        table_at += record * count;
    }
    bytes.extend_from_slice(&records);
    bytes.extend_from_slice(&texts.bytes);
    // The reader has the last word: what it refuses here, root would refuse at boot.
    match Description::parse(&bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => {
            Err(Mistake::new(format!("the compiled description is refused by its reader: {error}"))
                .at(&system.name.span, "in this system")
                .help("this is a fault of the image tool: please report the description"))
        }
    }
}

/// Writes each server with the count of its arguments.
fn put_servers<'s>(
    records: &mut Vec<u8>,
    texts: &mut Texts,
    servers: impl Iterator<Item = (&'s &'s Server, usize)>,
) {
    let mut first_argument = 0;
    for (server, arguments) in servers {
        texts.put(records, &server.name.value);
        texts.put(records, &server.program.value);
        let memory = server.memory.as_ref().map_or(0, |memory| memory.value);
        put_long_words(records, &[server.budget_us, server.period_us, memory]);
        put_words(records, &[small(first_argument), small(arguments)]);
        first_argument += arguments;
        let (priority, most) = (server.priority.value, server.max_controlled_priority);
        records.extend_from_slice(&[priority, most, server.on_fault.value.code(), 0]);
        put_words(records, &[server.capabilities.bits()]);
        let host = server.host.as_ref().map(|host| host.plan);
        put_words(records, &[host.map_or(0, |host| host.spaces), 0]);
        put_long_words(records, &[host.map_or(0, |host| host.heap_bytes)]);
    }
}

/// The texts behind the tables.
struct Texts {
    /// Where the first one will lie.
    at: usize,
    bytes: Vec<u8>,
}

impl Texts {
    /// Keeps a text, and writes where it lies to a record.
    fn put(&mut self, record: &mut Vec<u8>, text: &str) {
        put_words(record, &[small(self.at + self.bytes.len()), small(text.len())]);
        self.bytes.extend_from_slice(text.as_bytes());
    }
}

/// A count or offset; a description of 4 GiB cannot be written, and the reader refuses the saturated value.
fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn put_words(bytes: &mut Vec<u8>, words: &[u32]) {
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

fn put_long_words(bytes: &mut Vec<u8>, words: &[u64]) {
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}
