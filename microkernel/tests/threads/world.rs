//! A kernel on the mock with threads that make calls as programs do: operation and arguments in registers,
//! in through the kernel's entries, out through what the machine's exit would load.
//!
//! All threads share one capability space; number `n` is slot `n` of it. An administrator of the highest
//! priority waits for interrupt [`LINE`] and carries out what [`World::admin`] asks for, so whatever a story
//! does to others from outside preempts the thread that runs. Every entry is followed by the check of
//! [`invariant::threads`], and of C-8 on the registers of whoever goes on.

use std::mem::offset_of;

use abi::message::{IpcBuffer, REGISTERS};
use abi::{Error, MessageInfo, Method, Rights, Syscall};
use microkernel::address::{PhysAddr, WindowAddr};
use microkernel::arch::mock::{MEMORY_BASE, MockMachine};
use microkernel::arch::{CoreId, HardwareAsid, Interrupt, IrqLine, Machine, Ticks};
use microkernel::capability::cap::{Cap, FrameCap, Guard, Place, Slot};
use microkernel::capability::derivation;
use microkernel::entry::{self, Exception};
use microkernel::invariant;
use microkernel::invariant::threads::Objects;
use microkernel::kernel::{Kernel, OwnMemory};
use microkernel::object::asid::AsidPool;
use microkernel::object::endpoint::Endpoint;
use microkernel::object::notification::Notification;
use microkernel::object::page_table::PageTable;
use microkernel::object::reply::Reply;
use microkernel::object::sched_context::SchedContext;
use microkernel::object::store::Ref;
use microkernel::object::thread::{self, Exit, Tcb, TcbSlot, register, slots};
use microkernel::object::vspace::VSpace;

/// The CNode's own capability.
pub(crate) const CNODE: u64 = 1;
/// SchedControl of the only core.
pub(crate) const SCHED_CONTROL: u64 = 2;
/// Debug.
pub(crate) const DEBUG: u64 = 3;
/// The administrator's Tcb.
pub(crate) const ADMIN: u64 = 4;
const ADMIN_EVENT: u64 = 5;
const SPACE: u64 = 6;
const FIRST_FREE: u64 = 8;
const RADIX: u8 = 15;
/// What a world needs beside its CNode and its threads.
const FIXED_BYTES: u64 = 256 << 10;
/// What the administrator waits for.
const LINE: IrqLine = IrqLine(9);
/// Stands in registers that nobody may see again.
const POISON: u64 = 0xdead_0000_dead_0000;

/// A second in ticks of the mock's clock.
pub(crate) const SECOND: u64 = 100_000_000;
/// The budget and period of contexts that never end in a story.
pub(crate) const LONG: u64 = SECOND * 1000;

/// A thread: its object and the number of its capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thread {
    pub(crate) tcb: Ref<Tcb>,
    pub(crate) cap: u64,
    /// Its IPC buffer.
    pub(crate) buffer: WindowAddr,
}

/// What a thread puts into registers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Call<'a> {
    pub(crate) a0: u64,
    pub(crate) info: MessageInfo,
    pub(crate) a2: u64,
    pub(crate) t0: u64,
    pub(crate) words: &'a [u64],
}

/// What a thread finds in its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) badge: u64,
    pub(crate) info: MessageInfo,
    pub(crate) words: [u64; 8],
}

impl Received {
    /// The error that the kernel answered.
    pub(crate) fn error(&self) -> Option<Error> {
        if self.info.is_from_kernel() { Error::from_label(self.info.label()) } else { None }
    }

    /// The words that the message has.
    pub(crate) fn message(&self) -> &[u64] {
        &self.words[..self.info.length().min(8)]
    }

    /// True for "done, nothing brought back".
    pub(crate) fn is_plain_success(&self) -> bool {
        (self.badge, self.info, self.words) == (0, MessageInfo::from_kernel(0, 0), [0; 8])
    }
}

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) k: Kernel<MockMachine>,
    pub(crate) objects: Objects,
    admin: Thread,
    cnode: Ref<Slot>,
    next_slot: u64,
    next_memory: u64,
    unchecked: bool,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with_memory(1 << 20)
    }

    pub(crate) fn with_memory(bytes: u64) -> Self {
        Self::sized(bytes, RADIX)
    }

    /// A world with `bytes` for threads and 2^radix slots.
    pub(crate) fn sized(bytes: u64, radix: u8) -> Self {
        let mut next_memory = MEMORY_BASE;
        let own = OwnMemory {
            idle: take(&mut next_memory, 1),
            irq_slots: take(&mut next_memory, 64),
            empty_root: take::<PageTable>(&mut next_memory, 1).address().physical(),
        };
        let cnode = take::<Slot>(&mut next_memory, 1 << radix);
        let pool = take::<AsidPool>(&mut next_memory, 1);
        let k = Kernel::new(MockMachine::new(bytes + FIXED_BYTES + (32 << radix)), own);
        let nobody = Thread { tcb: own.idle, cap: 0, buffer: WindowAddr(0) };
        let objects = Objects::default();
        let mut world =
            Self { k, objects, admin: nobody, cnode, next_slot: FIRST_FREE, next_memory, unchecked: false };
        let space = world.object::<VSpace>();
        let home = Cap::CNode { base: cnode, radix, guard: Guard { bits: 64 - radix, value: 0 } };
        for (slot, cap) in [
            (CNODE, home),
            (SCHED_CONTROL, Cap::SchedControl(CoreId(0))),
            (DEBUG, Cap::Debug),
            (SPACE, Cap::VSpace(space)),
        ] {
            derivation::insert_root(&mut world.k, cap, cnode.element(slot));
        }
        world.k.asids.pools[0] = Some(pool);
        let place = microkernel::object::asid::Place { number: 0, index: 3 };
        microkernel::object::asid::assign(&world.k, space, pool, place);
        world.begin_admin();
        world
    }

    /// Lets the administrator run for the first time, up to where it waits.
    fn begin_admin(&mut self) {
        self.admin = self.bare_thread(255);
        let event = self.object::<Notification>();
        self.objects.notifications.push(event);
        let cap = Cap::Notification { notification: event, badge: 1, rights: Rights::READ_WRITE };
        derivation::insert_root(&mut self.k, cap, self.cnode.element(ADMIN_EVENT));
        let (from, into) = (self.cnode.element(ADMIN_EVENT), self.k.irq_slots.element(LINE.0));
        derivation::insert(&mut self.k, cap, from, into);
        self.copy_to(self.admin.cap, ADMIN);
        let context = self.new_context();
        self.bind_by_hand(context, self.admin, LONG);
        microkernel::object::thread::life::resume(&mut self.k, self.admin.tcb).unwrap();
        self.timer();
        self.syscall(self.admin, Syscall::Wait, Call { a0: ADMIN_EVENT, ..Call::default() });
        assert_eq!(self.running(), None);
    }

    /// The thread whose registers are the machine's; none when the idle thread is.
    pub(crate) fn running(&self) -> Option<Ref<Tcb>> {
        Some(self.k.current()).filter(|current| self.k.core().idle.get() != Some(*current))
    }

    pub(crate) fn is_running(&self, thread: Thread) -> bool {
        self.running() == Some(thread.tcb)
    }

    // What there is.

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

    fn copy_to(&mut self, number: u64, into: u64) {
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

    fn new_context(&mut self) -> u64 {
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

    fn bind_by_hand(&mut self, context: u64, thread: Thread, ticks: u64) {
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

    // What happens.

    /// A method, carried out by the administrator while whoever runs is preempted; made again as long as it
    /// gives way.
    pub(crate) fn admin(
        &mut self,
        cap: u64,
        method: Method,
        caps: &[u64],
        words: &[u64],
    ) -> Result<Received, Error> {
        self.k.machine.pending.push(Interrupt::Device(LINE));
        self.interrupt();
        assert!(self.is_running(self.admin), "the administrator was not woken");
        let answer = self.invoke(self.admin, cap, method, caps, words);
        self.k.machine.unmask(LINE);
        self.syscall(self.admin, Syscall::Wait, Call { a0: ADMIN_EVENT, ..Call::default() });
        answer
    }

    /// A method, invoked by the thread that runs; made again as long as it gives way.
    pub(crate) fn invoke(
        &mut self,
        thread: Thread,
        cap: u64,
        method: Method,
        caps: &[u64],
        words: &[u64],
    ) -> Result<Received, Error> {
        for (index, cap) in caps.iter().enumerate() {
            self.put(thread, offset_of!(IpcBuffer, caps) + 8 * index, *cap);
        }
        for (index, word) in words.iter().enumerate().skip(8) {
            self.put(thread, offset_of!(IpcBuffer, words) + 8 * index, *word);
        }
        let info = info(method.label(), words.len()).with_caps(u8::try_from(caps.len()).unwrap());
        let again = Call { a0: cap, info, words: &words[..words.len().min(8)], ..Call::default() };
        self.syscall(thread, Syscall::Call, again);
        while self.is_running(thread) && self.k.get(thread.tcb).attempt.get() != thread::attempt::FIRST {
            self.again(thread);
        }
        let received = self.received(thread);
        received.error().map_or(Ok(received), Err)
    }

    /// The thread that runs makes its call again, with the registers that it was left with.
    pub(crate) fn again(&mut self, thread: Thread) {
        assert!(self.is_running(thread));
        entry::handle_syscall(&mut self.k);
        self.out();
    }

    /// A call of the thread that runs.
    pub(crate) fn syscall(&mut self, thread: Thread, operation: Syscall, call: Call<'_>) {
        assert!(self.is_running(thread), "{thread:?} does not run, {:?} does", self.running());
        let tcb = self.k.get(thread.tcb);
        for (number, register) in tcb.registers.iter().enumerate().skip(1) {
            if ![register::TP, register::SP, register::FP, register::S8].contains(&number) {
                register.set(POISON | number as u64);
            }
        }
        for (number, value) in [
            (register::A0, call.a0),
            (register::A1, call.info.raw()),
            (register::A2, call.a2),
            (register::A7, operation.raw()),
            (register::T0, call.t0),
        ] {
            tcb.registers[number].set(value);
        }
        for (number, word) in REGISTERS.iter().zip(call.words) {
            tcb.registers[*number].set(*word);
        }
        entry::handle_syscall(&mut self.k);
        self.out();
    }

    /// An exception of the thread that runs.
    pub(crate) fn fault(&mut self, thread: Thread, exception: Exception) {
        assert!(self.is_running(thread));
        self.full();
        entry::handle_exception(&mut self.k, exception);
        self.out();
    }

    /// Takes the next interrupt.
    pub(crate) fn interrupt(&mut self) {
        self.full();
        entry::handle_interrupt(&mut self.k);
        self.out();
    }

    /// The timer rings.
    pub(crate) fn timer(&mut self) {
        self.k.machine.pending.push(Interrupt::Timer);
        self.interrupt();
    }

    /// Time passes; the timer rings whenever it is set to.
    pub(crate) fn pass(&mut self, ticks: u64) {
        let end = self.k.machine.time.0 + ticks;
        while let Some(deadline) = self.k.machine.deadline.filter(|deadline| deadline.0 <= end) {
            self.k.machine.time = Ticks(self.k.machine.time.0.max(deadline.0));
            self.k.machine.deadline = None;
            self.timer();
        }
        self.k.machine.time = Ticks(end);
    }

    fn full(&mut self) {
        self.k.get(self.k.current()).exit.set(Exit::Full as u64);
    }

    /// What the machine's exit does, and what must hold then.
    fn out(&mut self) {
        if !self.unchecked {
            self.check();
        }
        let Some(current) = self.running() else { return };
        assert_eq!(self.k.machine.space.1, HardwareAsid(1), "another space is current");
        if self.k.get(current).exit.replace(Exit::Minimal as u64) == Exit::Minimal as u64 {
            self.check_registers(current);
        }
    }

    /// What the minimal exit loads: nothing but the message (C-8).
    fn check_registers(&self, thread: Ref<Tcb>) {
        if let Some(stale) = self.stale_register(thread) {
            panic!("$r{stale} is stale");
        }
    }

    /// The number of a register that the minimal exit loads and that is no part of the message.
    pub(crate) fn stale_register(&self, thread: Ref<Tcb>) -> Option<usize> {
        let registers = self.k.get(thread).registers.each_ref().map(|register| register.get());
        let length = MessageInfo::from_raw(registers[register::A1]).length();
        let words = REGISTERS.into_iter().enumerate();
        let stale = words.filter(|(index, number)| *index >= length && registers[*number] != 0);
        let fixed =
            [register::A0, register::A1].into_iter().filter(|number| registers[*number] & POISON == POISON);
        stale.map(|(_, number)| number).chain(fixed).next()
    }

    pub(crate) fn check(&self) {
        if let Err(broken) = self.invariants() {
            panic!("{broken}");
        }
    }

    pub(crate) fn invariants(&self) -> Result<(), String> {
        invariant::threads::check(&self.k, &self.objects)
    }

    /// What lies in a thread's registers.
    pub(crate) fn received(&self, thread: Thread) -> Received {
        let tcb = self.k.get(thread.tcb);
        let mut words = [0; 8];
        for (word, register) in words.iter_mut().zip(tcb.message_registers()) {
            *word = register.get();
        }
        let info = MessageInfo::from_raw(tcb.registers[register::A1].get());
        Received { badge: tcb.registers[register::A0].get(), info, words }
    }

    /// Writes a word of a thread's buffer.
    pub(crate) fn put(&self, thread: Thread, offset: usize, word: u64) {
        self.k.machine.store(thread.buffer.offset(offset as u64), word);
    }

    /// Reads a word of a thread's buffer.
    pub(crate) fn peek(&self, thread: Thread, offset: usize) -> u64 {
        self.k.machine.load(thread.buffer.offset(offset as u64))
    }

    // Shorter ways to say what stories say often.

    pub(crate) fn call(&mut self, thread: Thread, a0: u64, words: &[u64]) {
        self.syscall(
            thread,
            Syscall::Call,
            Call { a0, info: info(7, words.len()), words, ..Call::default() },
        );
    }

    pub(crate) fn send(&mut self, thread: Thread, a0: u64, words: &[u64]) {
        self.syscall(
            thread,
            Syscall::Send,
            Call { a0, info: info(7, words.len()), words, ..Call::default() },
        );
    }

    pub(crate) fn recv(&mut self, thread: Thread, a0: u64, a2: u64) {
        self.syscall(thread, Syscall::Recv, Call { a0, a2, ..Call::default() });
    }

    pub(crate) fn reply_recv(&mut self, thread: Thread, a0: u64, a2: u64, words: &[u64]) {
        let call = Call { a0, a2, info: info(8, words.len()), words, ..Call::default() };
        self.syscall(thread, Syscall::ReplyRecv, call);
    }

    pub(crate) fn wait(&mut self, thread: Thread, a0: u64) {
        self.syscall(thread, Syscall::Wait, Call { a0, ..Call::default() });
    }

    pub(crate) fn bind(&mut self, context: u64, thread: Thread) {
        self.admin(context, Method::SchedContextBind, &[thread.cap], &[]).unwrap();
    }

    pub(crate) fn resume(&mut self, thread: Thread) {
        self.admin(thread.cap, Method::TcbResume, &[], &[]).unwrap();
    }

    pub(crate) fn suspend(&mut self, thread: Thread) {
        self.admin(thread.cap, Method::TcbSuspend, &[], &[]).unwrap();
    }

    /// Deletes what slot `number` holds; the object is forgotten if that was its last capability.
    pub(crate) fn delete(&mut self, number: u64) {
        let cap = self.cap(number);
        let last = derivation::is_final(&self.k, self.slot(number));
        self.admin(CNODE, Method::CNodeDelete, &[], &[number, 64]).unwrap();
        if last {
            self.forget(cap);
        }
    }

    fn forget(&mut self, cap: Cap) {
        match cap {
            Cap::Endpoint { endpoint, .. } => self.objects.endpoints.retain(|object| *object != endpoint),
            Cap::Notification { notification, .. } => {
                self.objects.notifications.retain(|object| *object != notification);
            }
            Cap::Reply { reply, .. } => self.objects.replies.retain(|object| *object != reply),
            Cap::SchedContext(context) => self.objects.contexts.retain(|object| *object != context),
            Cap::Tcb(thread) => self.objects.threads.retain(|object| *object != thread),
            _ => {}
        }
    }
}

/// The information of a message with a number of words.
pub(crate) fn info(label: u64, length: usize) -> MessageInfo {
    MessageInfo::new(label, u8::try_from(length).unwrap())
}

fn take<T>(next: &mut u64, count: u64) -> Ref<T> {
    let start = next.next_multiple_of(align_of::<T>().max(64) as u64);
    *next = start + count * size_of::<T>() as u64;
    Ref::from_raw(PhysAddr(start).in_window().0).unwrap()
}
