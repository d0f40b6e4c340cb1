//! What happens in a world: calls, faults and interrupts, and shorter ways to say what stories say often.

use super::*;

impl World {
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

    pub(super) fn full(&mut self) {
        self.k.get(self.k.current()).exit.set(Exit::Full as u64);
    }

    /// What the machine's exit does, and what must hold then.
    pub(super) fn out(&mut self) {
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
    pub(super) fn check_registers(&self, thread: Ref<Tcb>) {
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

    pub(super) fn forget(&mut self, cap: Cap) {
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
