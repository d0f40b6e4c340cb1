//! The last events on a core, for a panic's report: a ring that is never read otherwise.

/// Events kept.
pub const EVENTS: usize = 64;

/// What happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Event {
    /// Nothing yet.
    #[default]
    None,
    /// A call of the slow path: operation and capability.
    Syscall(u64, u64),
    /// A fault: Ecode and address.
    Fault(u64, u64),
    /// An interrupt: line, or 64 for the timer.
    Interrupt(u64),
    /// A switch to a thread: its Tcb's address.
    Switch(u64),
}

/// The ring.
#[derive(Clone, Debug)]
pub struct EventLog {
    events: [Event; EVENTS],
    next: usize,
}

impl Default for EventLog {
    fn default() -> Self {
        Self { events: [Event::None; EVENTS], next: 0 }
    }
}

impl EventLog {
    /// Notes an event, over the oldest.
    pub fn note(&mut self, event: Event) {
        if let Some(place) = self.events.get_mut(self.next % EVENTS) {
            *place = event;
        }
        self.next = self.next.wrapping_add(1);
    }

    /// The events, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        let (newer, older) = self.events.split_at(self.next % EVENTS);
        older.iter().chain(newer).copied().filter(|event| *event != Event::None)
    }
}
