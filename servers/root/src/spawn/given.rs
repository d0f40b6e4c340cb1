//! What a server is given beside its image: authorities of root's, channels, devices, memory.

use abi::description::Capability;
use abi::server::{
    ChannelGrant, DEVICES_ADDRESS, DeviceGrant, End, FIRST_DEVICE_BIT, Name, RING_STRIDE, UntypedGrant, slot,
};
use abi::{CPtr, ObjectType, PAGE_BYTES, Rights};
use runtime::InvocationError;
use runtime::memory::{DEPTH, retype};
use runtime::space::{Access, map};
use runtime::stubs::{Frame, IrqHandler};

use super::{Building, Order};
use crate::boot::{CNODE, IRQ_CONTROL};
use crate::parts::Owner;
use crate::territory::Territory;

impl Building<'_, '_> {
    pub(super) fn authorities(&mut self) -> Result<(), InvocationError> {
        use abi::boot_info::slot as root_slot;
        let authorities = [
            (Capability::Debug, root_slot::DEBUG, slot::DEBUG),
            (Capability::SchedControl, root_slot::SCHED_CONTROL, slot::SCHED_CONTROL),
            (Capability::AsidControl, root_slot::ASID_CONTROL, slot::ASID_CONTROL),
            (Capability::HostControl, root_slot::HOST_CONTROL, slot::HOST_CONTROL),
        ];
        for (capability, from, to) in authorities {
            if self.order.server.capabilities.has(capability) {
                self.give(CPtr(from), to, Rights::ALL)?;
            }
        }
        Ok(())
    }

    pub(super) fn channels(&mut self) -> Result<(), InvocationError> {
        let owner = Owner::Server(self.order.index);
        let parts = &*self.order.parts;
        for (ring, address) in parts.rings_of(owner).zip((self.places.rings..).step_by(stride())) {
            let frame = Frame(self.memory.copy(ring.frame.0, Rights::READ_WRITE)?);
            map(&mut self.memory, self.space, frame, address, Access::ReadWrite)?;
            let peer = ring.peer_of(owner);
            let signal = parts.signal_to(&mut self.memory, peer, parts.badge_at(peer, ring))?;
            let to = self.information.take_slots(1);
            self.give(signal, to.0, Rights::WRITE)?;
            let peer_name = match peer {
                Owner::Root => "root",
                Owner::Server(index) => {
                    self.order.boot.description.server(index).map_or("", |peer| peer.name)
                }
            };
            self.information.add_channel(ChannelGrant {
                name: Name::new(ring.name),
                peer: Name::new(peer_name),
                address,
                entries: u64::from(ring.entries),
                signal_slot: to.0,
                end: ring.end_of(owner).map_or(0, End::code),
            })?;
        }
        Ok(())
    }

    pub(super) fn devices(&mut self) -> Result<(), InvocationError> {
        let index = self.order.index;
        let mine = self.order.boot.description.devices().filter(|device| device.server == index);
        let mut next_address = DEVICES_ADDRESS;
        let mut mapped: Option<(u64, u64)> = None;
        for (device, bit) in mine.zip(FIRST_DEVICE_BIT..) {
            let first = device.address & !(PAGE_BYTES - 1);
            let end = device.end().next_multiple_of(PAGE_BYTES);
            // Devices of one page, such as the serial lines, share its mapping.
            let base = match mapped {
                Some((physical, base)) if physical == first && end - first == PAGE_BYTES => base,
                _ => {
                    let base = next_address;
                    for page in (first..end).step_by(page_step()) {
                        self.map_device_page(page, next_address)?;
                        next_address += PAGE_BYTES;
                    }
                    mapped = Some((first, base));
                    base
                }
            };
            let irq_slot = match device.interrupt {
                Some(interrupt) => self.interrupt(u64::from(interrupt), 1 << bit)?.0,
                None => 0,
            };
            self.information.add_device(DeviceGrant {
                name: Name::new(device.name),
                address: base + (device.address - first),
                bytes: device.size,
                irq_slot,
                reserved: 0,
            })?;
        }
        Ok(())
    }

    fn map_device_page(&mut self, physical: u64, address: u64) -> Result<(), InvocationError> {
        let Order { parts, root, .. } = &mut *self.order;
        let frame = parts.devices.page(root, physical)?;
        let frame = Frame(self.memory.copy(frame.0, Rights::READ_WRITE)?);
        map(&mut self.memory, self.space, frame, address, Access::Device)
    }

    /// The server's slot of the handler of an interrupt that signals it with `badge`.
    fn interrupt(&mut self, interrupt: u64, badge: u64) -> Result<CPtr, InvocationError> {
        let handler = IrqHandler(self.memory.slots.take()?);
        IRQ_CONTROL.get(CNODE, interrupt, handler.0.0, DEPTH)?;
        let owner = Owner::Server(self.order.index);
        let notification = self.order.parts.signal_to(&mut self.memory, owner, badge)?;
        handler.set_notification(notification)?;
        let to = self.information.take_slots(1);
        self.give(handler.0, to.0, Rights::ALL)?;
        Ok(to)
    }

    pub(super) fn grants(&mut self, territory: &Territory) -> Result<(), InvocationError> {
        for piece in &territory.grants {
            let to = self.information.take_slots(1);
            // A child of the same size: revoking root's takes it back with everything made of it.
            retype(self.cnode, piece.untyped, ObjectType::Untyped, piece.size_bits, to, 1)?;
            let grant = UntypedGrant { slot: to.0, size_bits: u64::from(piece.size_bits) };
            self.information.add_untyped(grant)?;
        }
        Ok(())
    }
}

fn stride() -> usize {
    usize::try_from(RING_STRIDE).unwrap_or(usize::MAX)
}

fn page_step() -> usize {
    usize::try_from(PAGE_BYTES).unwrap_or(usize::MAX)
}
