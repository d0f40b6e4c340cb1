//! The page that a server reads at its start: filled in while the server is built.

use abi::boot_info::{BootInfo, SlotRange};
use abi::description::Server;
use abi::server::{
    ARGUMENT_BYTES, ChannelGrant, DeviceGrant, ImageSegment, MAGIC, MAX_CHANNELS, MAX_DEVICES, MAX_SEGMENTS,
    MAX_UNTYPEDS, Name, ServerInfo, UntypedGrant, slot,
};
use abi::{CPtr, Error};
use runtime::InvocationError;

const _: () = assert!(size_of::<ServerInfo>().is_multiple_of(8));

/// A server's information so far, and the next of its slots to be filled.
#[derive(Debug)]
pub(crate) struct Information {
    pub(crate) page: ServerInfo,
    next_slot: u64,
}

impl Information {
    pub(crate) fn new(boot: &BootInfo, server: &Server<'_>, restarts: u64, radix: u8) -> Self {
        let mut page = ServerInfo {
            magic: MAGIC,
            name: Name::new(server.name),
            restarts,
            free_slots: SlotRange { start: slot::FIRST_FREE, end: 1 << radix },
            priority: u64::from(server.priority),
            timer_hz: boot.timer_hz,
            self_tests: boot.self_tests,
            untyped_count: 0,
            channel_count: 0,
            device_count: 0,
            segment_count: 0,
            argument_bytes: 0,
            untypeds: [UntypedGrant::default(); MAX_UNTYPEDS],
            channels: [ChannelGrant::default(); MAX_CHANNELS],
            devices: [DeviceGrant::default(); MAX_DEVICES],
            segments: [ImageSegment::default(); MAX_SEGMENTS],
            arguments: [0; ARGUMENT_BYTES],
        };
        let mut used: u64 = 0;
        for (place, byte) in page.arguments.iter_mut().zip(server.arguments().flat_map(with_nul)) {
            *place = byte;
            used += 1;
        }
        page.argument_bytes = used;
        Self { page, next_slot: slot::FIRST_FREE }
    }

    /// The first of `count` of the server's slots that nothing has been put into.
    pub(crate) fn take_slots(&mut self, count: u64) -> CPtr {
        let first = self.next_slot;
        self.next_slot = first.saturating_add(count);
        self.page.free_slots.start = self.next_slot;
        CPtr(first)
    }

    pub(crate) fn add_untyped(&mut self, grant: UntypedGrant) -> Result<(), InvocationError> {
        add(&mut self.page.untypeds, &mut self.page.untyped_count, grant)
    }

    pub(crate) fn add_channel(&mut self, grant: ChannelGrant) -> Result<(), InvocationError> {
        add(&mut self.page.channels, &mut self.page.channel_count, grant)
    }

    pub(crate) fn add_device(&mut self, grant: DeviceGrant) -> Result<(), InvocationError> {
        add(&mut self.page.devices, &mut self.page.device_count, grant)
    }

    pub(crate) fn add_segment(&mut self, segment: ImageSegment) -> Result<(), InvocationError> {
        add(&mut self.page.segments, &mut self.page.segment_count, segment)
    }
}

fn with_nul(argument: &str) -> impl Iterator<Item = u8> + '_ {
    argument.bytes().chain(core::iter::once(0))
}

/// Puts an entry behind the `count` that a table has.
fn add<T>(table: &mut [T], count: &mut u64, entry: T) -> Result<(), InvocationError> {
    let index = usize::try_from(*count).map_err(|_| Error::RangeError)?;
    *table.get_mut(index).ok_or(Error::RangeError)? = entry;
    *count += 1;
    Ok(())
}
