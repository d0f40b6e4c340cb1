//! What servers share: a notification each, the rings between them, and device pages. It belongs to root and
//! outlives a server that is built anew, so that its neighbours go on with the rings that they have.

use abi::description::{Description, MAX_RECORDS};
use abi::server::End;
use abi::{CPtr, Error, ObjectType, PAGE_BITS, Rights};
use heapless::Vec;
use runtime::InvocationError;
use runtime::memory::Memory;
use runtime::ring::ring_bytes;
use runtime::stubs::{Frame, Notification};

use crate::boot::Boot;
use crate::devices::DeviceMemory;

/// Entries of root's own ring to the console.
const ROOT_ENTRIES: u32 = 128;

/// One end's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Root itself, which has one channel: to the console.
    Root,
    /// The server with this index in the description.
    Server(u32),
}

/// A ring between two owners.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ring {
    pub(crate) name: &'static str,
    pub(crate) from: Owner,
    pub(crate) to: Owner,
    pub(crate) frame: Frame,
    pub(crate) entries: u32,
}

impl Ring {
    /// Which end an owner has.
    pub(crate) fn end_of(&self, owner: Owner) -> Option<End> {
        match owner {
            owner if owner == self.from => Some(End::Producer),
            owner if owner == self.to => Some(End::Consumer),
            _ => None,
        }
    }

    /// The other end's owner.
    pub(crate) fn peer_of(&self, owner: Owner) -> Owner {
        if owner == self.from { self.to } else { self.from }
    }
}

/// All that is shared.
#[derive(Debug)]
pub(crate) struct Parts {
    rings: Vec<Ring, { MAX_RECORDS + 1 }>,
    notifications: Vec<Notification, MAX_RECORDS>,
    root_notification: Notification,
    pub(crate) devices: DeviceMemory,
}

impl Parts {
    /// Makes everything that the description's channels ask for, and root's own channel to the console.
    pub(crate) fn make(boot: &Boot, memory: &mut Memory) -> Result<Self, InvocationError> {
        let root_notification = Notification(memory.make(ObjectType::Notification, 0)?);
        let mut parts = Self {
            rings: Vec::new(),
            notifications: Vec::new(),
            root_notification,
            devices: DeviceMemory::new(boot),
        };
        for _ in boot.description.servers() {
            let notification = Notification(memory.make(ObjectType::Notification, 0)?);
            parts.notifications.push(notification).map_err(|_| Error::RangeError)?;
        }
        if let Some(console) = console_index(&boot.description) {
            parts.add_ring(memory, "root", Owner::Root, Owner::Server(console), ROOT_ENTRIES)?;
        }
        for channel in boot.description.channels() {
            let (from, to) = (Owner::Server(channel.from), Owner::Server(channel.to));
            parts.add_ring(memory, channel.name, from, to, channel.entries)?;
        }
        Ok(parts)
    }

    fn add_ring(
        &mut self,
        memory: &mut Memory,
        name: &'static str,
        from: Owner,
        to: Owner,
        entries: u32,
    ) -> Result<(), InvocationError> {
        let bits = ring_bytes(u64::from(entries)).next_power_of_two().trailing_zeros();
        let bits = u8::try_from(bits).unwrap_or(u8::MAX).max(PAGE_BITS);
        let frame = Frame(memory.make(ObjectType::Frame, bits)?);
        let ring = Ring { name, from, to, frame, entries };
        self.rings.push(ring).map_err(|_| Error::RangeError.into())
    }

    /// An owner's rings in a fixed order: a ring's place in it is its badge bit at that owner.
    pub(crate) fn rings_of(&self, owner: Owner) -> impl Iterator<Item = &Ring> {
        self.rings.iter().filter(move |ring| ring.end_of(owner).is_some())
    }

    /// The badge with which an owner learns of a ring.
    pub(crate) fn badge_at(&self, owner: Owner, ring: &Ring) -> u64 {
        let place = self.rings_of(owner).position(|one| one.frame == ring.frame).unwrap_or(0);
        1_u64.unbounded_shl(u32::try_from(place).unwrap_or(u32::MAX))
    }

    /// What an owner waits for.
    pub(crate) fn notification_of(&self, owner: Owner) -> Option<Notification> {
        match owner {
            Owner::Root => Some(self.root_notification),
            Owner::Server(index) => self.notifications.get(usize::try_from(index).ok()?).copied(),
        }
    }

    /// A capability, in one of `memory`'s slots, that signals an owner with this badge.
    pub(crate) fn signal_to(
        &self,
        memory: &mut Memory,
        owner: Owner,
        badge: u64,
    ) -> Result<CPtr, InvocationError> {
        let notification = self.notification_of(owner).ok_or(Error::RangeError)?;
        memory.mint(notification.0, Rights::WRITE, badge)
    }
}

/// The server that owns the serial lines, by its name.
pub(crate) fn console_index(description: &Description<'_>) -> Option<u32> {
    let place = description.servers().position(|server| server.name == "console")?;
    u32::try_from(place).ok()
}
