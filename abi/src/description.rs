//! The compiled system description: what the image tool makes of `images/NAME.toml`, and its checked reader.
//!
//! Owned here: the binary layout and [`Description`], which root uses to build the other servers. The
//! text form and its errors at their lines belong to tools/image.
//!
//! Invariant: a [`Description`] exists only for bytes that passed every check of [`Description::parse`];
//! its accessors cannot fail. Servers stand in the order in which root starts them.
//!
//! Layout, all little-endian, no alignment: a header of [`HEADER_SIZE`] bytes, the tables of servers,
//! channels, devices and arguments ([`Layout`] has a record's size), then the texts. A text is {offset: 32,
//! bytes: 32}, a table {offset: 32, records: 32}, a range of arguments {first: 32, count: 32}.

mod error;
mod records;

pub use self::error::{DescriptionError, Part};
pub use self::records::{
    Capabilities, Capability, Channel, ChannelKind, Device, FaultPolicy, HostPlan, Layout, MAX_HEAP_BYTES,
    MAX_SPACES, NO_INTERRUPT, Server,
};
use self::records::{Table, Text};
use crate::fields::Fields;

/// What a compiled description begins with: "BIXIDESC".
pub const DESCRIPTION_MAGIC: u64 = u64::from_le_bytes(*b"BIXIDESC");
/// The layout described in this folder; a reader refuses any other.
pub const DESCRIPTION_VERSION: u32 = 2;
/// Bytes of the header.
pub const HEADER_SIZE: usize = 64;
/// The longest name of a server, channel or device, in bytes.
pub const MAX_NAME: usize = 31;
/// The most servers, channels and devices each.
pub const MAX_RECORDS: usize = 64;
/// The most arguments of all servers together.
pub const MAX_ARGUMENTS: usize = 256;

/// A checked description.
#[derive(Clone, Copy, Debug)]
pub struct Description<'a> {
    bytes: &'a [u8],
    memory: u64,
    name: &'a str,
    servers: Table<'a>,
    channels: Table<'a>,
    devices: Table<'a>,
    arguments: Table<'a>,
}

impl<'a> Description<'a> {
    /// Checks every field of a compiled description.
    ///
    /// # Errors
    /// The first rule that is broken, in the order of the layout.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DescriptionError> {
        let description = Self::read_header(bytes)?;
        description.check_arguments()?;
        description.check_servers()?;
        description.check_channels()?;
        description.check_devices()?;
        Ok(description)
    }

    /// The system's name.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Memory of the machine that the system was made for, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.memory
    }

    /// The servers, in the order in which they are started. An index elsewhere counts in this order.
    pub fn servers(&self) -> impl Iterator<Item = Server<'a>> + use<'a> {
        let (bytes, arguments) = (self.bytes, self.arguments);
        self.servers.records().filter_map(move |record| Server::read(record, bytes, arguments).ok())
    }

    /// The server with this index, or None beyond the last.
    pub fn server(&self, index: u32) -> Option<Server<'a>> {
        self.servers().nth(usize::try_from(index).ok()?)
    }

    /// The channels, in the order of the text.
    pub fn channels(&self) -> impl Iterator<Item = Channel<'a>> + use<'a> {
        let bytes = self.bytes;
        self.channels.records().filter_map(move |record| Channel::read(record, bytes).ok())
    }

    /// The devices that are given to servers, in the order of the text.
    pub fn devices(&self) -> impl Iterator<Item = Device<'a>> + use<'a> {
        let bytes = self.bytes;
        self.devices.records().filter_map(move |record| Device::read(record, bytes).ok())
    }

    fn read_header(bytes: &'a [u8]) -> Result<Self, DescriptionError> {
        let mut fields = Fields(bytes.get(..HEADER_SIZE).ok_or(DescriptionError::Truncated)?);
        let truncated = DescriptionError::Truncated;
        if fields.u64() != Some(DESCRIPTION_MAGIC) {
            return Err(DescriptionError::BadMagic);
        }
        let version = fields.u32().ok_or(truncated)?;
        if version != DESCRIPTION_VERSION {
            return Err(DescriptionError::BadVersion(version));
        }
        let size = fields.u32().and_then(|size| usize::try_from(size).ok()).ok_or(truncated)?;
        let bytes = bytes.get(..size).ok_or(truncated)?;
        let memory = fields.u64().ok_or(truncated)?;
        let name = Text::take(&mut fields).and_then(|text| text.name(bytes));
        let mut table = |part, record, most| {
            let table = Table::take(&mut fields, bytes, record).ok_or(DescriptionError::Table(part))?;
            if table.len() <= most { Ok(table) } else { Err(DescriptionError::TooMany(part)) }
        };
        let servers = table(Part::Server, Layout::SERVER, MAX_RECORDS)?;
        let channels = table(Part::Channel, Layout::CHANNEL, MAX_RECORDS)?;
        let devices = table(Part::Device, Layout::DEVICE, MAX_RECORDS)?;
        let arguments = table(Part::Argument, Layout::ARGUMENT, MAX_ARGUMENTS)?;
        let name = name.ok_or(DescriptionError::SystemName)?;
        Ok(Self { bytes, memory, name, servers, channels, devices, arguments })
    }

    fn check_arguments(&self) -> Result<(), DescriptionError> {
        for (index, record) in self.arguments.records().enumerate() {
            let text = Text::take(&mut Fields(record)).and_then(|text| text.get(self.bytes));
            text.ok_or(DescriptionError::Record(Part::Argument, index, "text"))?;
        }
        Ok(())
    }

    fn check_servers(&self) -> Result<(), DescriptionError> {
        for (index, record) in self.servers.records().enumerate() {
            let server = Server::read(record, self.bytes, self.arguments)
                .map_err(|field| DescriptionError::Record(Part::Server, index, field))?;
            if self.servers().take(index).any(|earlier| earlier.name == server.name) {
                return Err(DescriptionError::Twice(Part::Server, index));
            }
            // Each would be given all that is left.
            if server.host.is_some() && self.servers().take(index).any(|earlier| earlier.host.is_some()) {
                return Err(DescriptionError::TwoHosts(index));
            }
        }
        Ok(())
    }

    fn check_channels(&self) -> Result<(), DescriptionError> {
        for (index, record) in self.channels.records().enumerate() {
            let channel = Channel::read(record, self.bytes)
                .map_err(|field| DescriptionError::Record(Part::Channel, index, field))?;
            let ends = [channel.from, channel.to];
            if ends.into_iter().any(|end| self.server(end).is_none()) || channel.from == channel.to {
                return Err(DescriptionError::Record(Part::Channel, index, "ends"));
            }
            if self.channels().take(index).any(|earlier| earlier.name == channel.name) {
                return Err(DescriptionError::Twice(Part::Channel, index));
            }
        }
        Ok(())
    }

    fn check_devices(&self) -> Result<(), DescriptionError> {
        for (index, record) in self.devices.records().enumerate() {
            let device = Device::read(record, self.bytes)
                .map_err(|field| DescriptionError::Record(Part::Device, index, field))?;
            // A host's upper half has no place for registers: another server drives them (C-44).
            if self.server(device.server).is_none_or(|server| server.host.is_some()) {
                return Err(DescriptionError::Record(Part::Device, index, "server"));
            }
            let taken = |earlier: Device<'_>| {
                earlier.name == device.name
                    || (earlier.interrupt.is_some() && earlier.interrupt == device.interrupt)
                    || (earlier.address < device.end() && device.address < earlier.end())
            };
            if self.devices().take(index).any(taken) {
                return Err(DescriptionError::Twice(Part::Device, index));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
