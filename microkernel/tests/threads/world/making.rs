//! What a world has: objects made as servers make them, and what they look like.

use super::*;

impl World {
    pub(crate) fn object<T>(&mut self) -> Ref<T> {
        take(&mut self.next_memory, 1)
    }

    pub(crate) fn empty_slot(&mut self) -> u64 {
        self.next_slot += 1;
        self.next_slot - 1
    }

    pub(crate) fn add(&mut self, cap: Cap) -> u64 {
        let number = self.empty_slot();
        derivation::insert_root(&mut self.k, cap, self.cnode.element(number));
        number
    }

    pub(crate) fn slot(&self, number: u64) -> Ref<Slot> {
        self.cnode.element(number)
    }

    pub(crate) fn cap(&self, number: u64) -> Cap {
        self.k.get(self.slot(number)).cap()
    }

    pub(super) fn copy_to(&mut self, number: u64, into: u64) {
        let cap = self.cap(number);
        let (from, to) = (self.slot(number), self.slot(into));
        derivation::insert(&mut self.k, cap, from, to);
    }

    /// A copy with other rights and another badge.
    pub(crate) fn mint(&mut self, number: u64, badge: u64, rights: Rights) -> u64 {
        let cap = match self.cap(number) {
            Cap::Endpoint { endpoint, .. } => Cap::Endpoint { endpoint, badge, rights },
            Cap::Notification { notification, .. } => Cap::Notification { notification, badge, rights },
            Cap::Reply { reply, .. } => Cap::Reply { reply, rights },
            other => panic!("{other:?} is not minted"),
        };
        let into = self.empty_slot();
        let (from, to) = (self.slot(number), self.slot(into));
        derivation::insert(&mut self.k, cap, from, to);
        into
    }

    pub(crate) fn endpoint(&mut self) -> u64 {
        let endpoint = self.object::<Endpoint>();
        self.objects.endpoints.push(endpoint);
        self.add(Cap::Endpoint { endpoint, badge: 0, rights: Rights::ALL })
    }

    pub(crate) fn reply(&mut self) -> u64 {
        let reply = self.object::<Reply>();
        self.objects.replies.push(reply);
        self.add(Cap::Reply { reply, rights: Rights::GRANT })
    }

    pub(crate) fn notification(&mut self) -> u64 {
        let notification = self.object::<Notification>();
        self.objects.notifications.push(notification);
        self.add(Cap::Notification { notification, badge: 0, rights: Rights::READ_WRITE })
    }

    pub(super) fn new_context(&mut self) -> u64 {
        let context = self.object::<SchedContext>();
        self.objects.contexts.push(context);
        self.add(Cap::SchedContext(context))
    }

    /// A context with a budget and a period, in ticks.
    pub(crate) fn context(&mut self, budget: u64, period: u64) -> u64 {
        let number = self.new_context();
        self.configure(number, budget, period);
        number
    }

    /// Sets a context's budget and period, in ticks.
    pub(crate) fn configure(&mut self, context: u64, budget: u64, period: u64) {
        let words = [budget * 10, period * 10, 0, 77];
        self.admin(SCHED_CONTROL, Method::SchedControlConfigure, &[context], &words).unwrap();
    }

    /// Takes memory that a test makes an Untyped of.
    pub(crate) fn aligned_memory(&mut self, bytes: u64) -> u64 {
        let start = self.next_memory.next_multiple_of(bytes);
        self.next_memory = start + bytes;
        start
    }

    /// Adds the object of a capability to those that are checked.
    pub(crate) fn learn(&mut self, number: u64) {
        match self.cap(number) {
            Cap::Endpoint { endpoint, .. } => self.objects.endpoints.push(endpoint),
            Cap::Notification { notification, .. } => self.objects.notifications.push(notification),
            Cap::Reply { reply, .. } => self.objects.replies.push(reply),
            Cap::SchedContext(context) => self.objects.contexts.push(context),
            Cap::Tcb(thread) => self.objects.threads.push(thread),
            other => panic!("{other:?} is not checked"),
        }
    }

    /// Forgets the objects in a piece of memory.
    pub(crate) fn forget_all_in(&mut self, start: u64, bytes: u64) {
        let memory = PhysAddr(start).in_window().0..PhysAddr(start + bytes).in_window().0;
        self.objects.endpoints.retain(|object| !memory.contains(&object.raw()));
        self.objects.notifications.retain(|object| !memory.contains(&object.raw()));
        self.objects.replies.retain(|object| !memory.contains(&object.raw()));
        self.objects.contexts.retain(|object| !memory.contains(&object.raw()));
        self.objects.threads.retain(|object| !memory.contains(&object.raw()));
    }

    /// Gives a thread capability space and address space.
    pub(crate) fn give_spaces(&mut self, thread: Thread) {
        self.admin(thread.cap, Method::TcbSetSpace, &[0, CNODE, SPACE], &[0]).unwrap();
    }

    pub(super) fn bind_by_hand(&mut self, context: u64, thread: Thread, ticks: u64) {
        let Cap::SchedContext(context) = self.cap(context) else { panic!("no context") };
        microkernel::object::sched_context::configure(&self.k, context, ticks, ticks, 0);
        microkernel::object::sched_context::bind(&self.k, context, thread.tcb);
    }

    /// A thread that is inactive and has everything but a context.
    pub(crate) fn bare_thread(&mut self, priority: u64) -> Thread {
        let tcb = self.object::<Tcb>();
        let frame = self.object::<PageTable>().address();
        let tcb_slots = &self.k.get(tcb).slots;
        for slot in tcb_slots {
            slot.set_place(Place::Tcb);
        }
        thread::initialise(&self.k, tcb);
        self.k.get(tcb).priority.set(priority);
        self.k.get(tcb).max_priority.set(255);
        for (which, source) in [(TcbSlot::CSpace, CNODE), (TcbSlot::VSpace, SPACE)] {
            let cap = self.cap(source);
            let from = self.slot(source);
            derivation::insert(&mut self.k, cap, from, slots::slot(tcb, which));
        }
        let buffer = Cap::Frame(FrameCap {
            base: frame,
            size_bits: abi::PAGE_BITS,
            is_device: false,
            rights: Rights::READ_WRITE,
            mapping: None,
        });
        derivation::insert_root(&mut self.k, buffer, slots::slot(tcb, TcbSlot::IpcBuffer));
        self.objects.threads.push(tcb);
        Thread { tcb, cap: self.add(Cap::Tcb(tcb)), buffer: frame }
    }

    /// A bare thread without an IPC buffer.
    pub(crate) fn small_thread(&mut self, priority: u64) -> Thread {
        let next = self.next_memory;
        let thread = self.bare_thread(priority);
        derivation::delete(&mut self.k, slots::slot(thread.tcb, TcbSlot::IpcBuffer)).unwrap();
        // The buffer was never written: its memory, the last taken, is used again.
        self.next_memory = next + size_of::<Tcb>() as u64;
        thread
    }

    /// Does something without the checks, which take long where there are many threads.
    pub(crate) fn quick(&mut self, what: impl FnOnce(&mut Self)) {
        let unchecked = std::mem::replace(&mut self.unchecked, true);
        what(self);
        self.unchecked = unchecked;
    }

    /// A thread with a context of its own that runs as soon as its priority allows.
    pub(crate) fn thread(&mut self, priority: u64) -> Thread {
        let thread = self.bare_thread(priority);
        let context = self.context(LONG, LONG);
        self.bind(context, thread);
        self.resume(thread);
        thread
    }

    /// A passive thread that waits at an endpoint with a Reply: it had a context up to there.
    pub(crate) fn passive_server(&mut self, priority: u64, endpoint: u64, reply: u64) -> Thread {
        let server = self.bare_thread(254);
        let context = self.context(LONG, LONG);
        self.bind(context, server);
        self.resume(server);
        self.recv(server, endpoint, reply);
        self.admin(context, Method::SchedContextUnbind, &[], &[]).unwrap();
        self.admin(server.cap, Method::TcbSetPriority, &[ADMIN], &[priority]).unwrap();
        server
    }

    /// Takes the IPC buffer away.
    pub(crate) fn take_buffer(&mut self, thread: Thread) {
        self.admin(thread.cap, Method::TcbSetIpcBuffer, &[0], &[]).unwrap();
    }

    /// Gives a thread the endpoint of its faults.
    pub(crate) fn set_fault_handler(&mut self, thread: Thread, handler: u64) {
        self.admin(thread.cap, Method::TcbSetSpace, &[handler, CNODE, SPACE], &[0]).unwrap();
    }
}
