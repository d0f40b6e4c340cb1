//! Queues of waiting threads, and their time-outs.
//!
//! A waiter is a node of one table. Queues are rings through that table with a node of their own at the head,
//! so that any waiter leaves in a few steps, whatever became of the object that it waited for.
//!
//! Invariant: a node is in exactly one ring, perhaps alone; a waiter whose `state` is not `Waiting` is alone.

use super::run_queue::RunQueue;
use super::timers::Timers;
use crate::define_id;
use crate::number::index;
use crate::process::ThreadId;
use alloc::vec::Vec;

define_id! {
    /// A queue.
    QueueId
}
define_id! {
    /// A waiter.
    WaiterId
}

use crate::slots::Id;

/// What a waiter waits for within its queue: a futex bucket holds waiters of many words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    /// Which word.
    pub key: [u64; 2],
    /// Which wakers concern it: any common bit.
    pub bits: u32,
}

/// How a wait came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Somebody woke it.
    Event,
    /// Its time was over.
    TimedOut,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    thread: Option<ThreadId>,
    tag: Tag,
    state: Option<Woken>,
    /// The waiter that this one stands for in another queue; itself otherwise.
    leader: u32,
    previous: u32,
    next: u32,
}

/// Most queues and waiters when somebody waits in several queues at once: a program may name any number of them.
pub const MOST: usize = 1 << 17;

/// Every queue and waiter.
#[derive(Debug, Default)]
pub struct WaitQueues {
    nodes: Vec<Node>,
    unused: Vec<u32>,
    /// Time-outs, by waiter.
    pub timers: Timers,
}

impl WaitQueues {
    /// A new queue.
    pub fn create(&mut self) -> QueueId {
        QueueId::new(self.add(None, Tag::default()))
    }

    /// How many queues and waiters there are.
    pub fn len(&self) -> usize {
        self.nodes.len() - self.unused.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gives a queue back; its waiters are woken.
    pub fn destroy(&mut self, queue: QueueId, ready: &mut RunQueue) {
        while self.wake_where(queue, ready, |_| true) {}
        self.unused.push(queue.number());
    }

    /// Adds a waiter to a queue, or to none, with a time-out, or without.
    pub fn wait(
        &mut self,
        thread: ThreadId,
        queue: Option<QueueId>,
        tag: Tag,
        due_ns: Option<u64>,
    ) -> WaiterId {
        let number = self.add(Some(thread), tag);
        if let Some(queue) = queue {
            self.link(number, queue.number());
        }
        if let Some(due_ns) = due_ns {
            self.timers.insert(number, due_ns);
        }
        WaiterId::new(number)
    }

    /// Adds one more queue to a waiter: it is woken, once, when any of them is.
    pub fn join(&mut self, leader: WaiterId, queue: QueueId) -> WaiterId {
        let thread = self.nodes.get(index(leader.number())).and_then(|node| node.thread);
        let number = self.add(thread, Tag::default());
        if let Some(node) = self.nodes.get_mut(index(number)) {
            node.leader = leader.number();
        }
        self.link(number, queue.number());
        WaiterId::new(number)
    }

    /// How a waiter's wait came out, if it did.
    #[inline]
    pub fn outcome(&self, waiter: WaiterId) -> Option<Woken> {
        self.nodes.get(index(waiter.number()))?.state
    }

    /// Puts a waiter that waits for nothing into a queue again.
    #[inline]
    pub fn wait_again(&mut self, waiter: WaiterId, queue: QueueId) {
        if let Some(node) = self.nodes.get_mut(index(waiter.number())) {
            node.state = None;
        }
        self.link(waiter.number(), queue.number());
    }

    /// Takes a waiter out of its queue, if it still waits there; it can be used again.
    #[inline]
    pub fn withdraw(&mut self, waiter: WaiterId) {
        if self.outcome(waiter).is_none() {
            self.unlink(waiter.number());
        }
    }

    /// Takes a waiter away, waiting or not.
    pub fn leave(&mut self, waiter: WaiterId) {
        self.unlink(waiter.number());
        self.timers.remove(waiter.number());
        self.unused.push(waiter.number());
    }

    /// Whether anybody waits in a queue.
    #[inline]
    pub fn has_waiters(&self, queue: QueueId) -> bool {
        self.nodes.get(index(queue.number())).is_some_and(|head| head.next != queue.number())
    }

    /// Wakes the first waiter; says whether there was one.
    #[inline]
    pub fn wake_one(&mut self, queue: QueueId, ready: &mut RunQueue) -> bool {
        self.wake_where(queue, ready, |_| true)
    }

    /// Wakes every waiter.
    #[inline]
    pub fn wake_all(&mut self, queue: QueueId, ready: &mut RunQueue) {
        while let Some(head) = self.nodes.get(index(queue.number()))
            && head.next != queue.number()
        {
            self.finish(head.next, Woken::Event, ready);
        }
    }

    /// Wakes the first waiter whose tag fits; says whether there was one.
    pub fn wake_where(&mut self, queue: QueueId, ready: &mut RunQueue, fits: impl Fn(&Tag) -> bool) -> bool {
        let Some(number) = self.find(queue, fits) else { return false };
        self.finish(number, Woken::Event, ready);
        true
    }

    /// Moves the first waiter whose tag fits to the end of another queue, under another key.
    pub fn requeue_where(
        &mut self,
        from: QueueId,
        to: QueueId,
        key: [u64; 2],
        fits: impl Fn(&Tag) -> bool,
    ) -> bool {
        let Some(number) = self.find(from, fits) else { return false };
        self.unlink(number);
        if let Some(node) = self.nodes.get_mut(index(number)) {
            node.tag.key = key;
        }
        self.link(number, to.number());
        true
    }

    /// Ends the waits whose time is over.
    pub fn expire(&mut self, now_ns: u64, ready: &mut RunQueue) {
        while let Some(number) = self.timers.pop_due(now_ns) {
            self.finish(number, Woken::TimedOut, ready);
        }
    }

    /// Waiters and queues that are in use.
    pub fn in_use(&self) -> usize {
        self.nodes.len() - self.unused.len()
    }

    fn find(&self, queue: QueueId, fits: impl Fn(&Tag) -> bool) -> Option<u32> {
        let mut number = self.nodes.get(index(queue.number()))?.next;
        while number != queue.number() {
            let node = self.nodes.get(index(number))?;
            if fits(&node.tag) {
                return Some(number);
            }
            number = node.next;
        }
        None
    }

    fn finish(&mut self, number: u32, how: Woken, ready: &mut RunQueue) {
        self.unlink(number);
        self.timers.remove(number);
        let Some(node) = self.nodes.get_mut(index(number)) else { return };
        node.state = Some(how);
        let (leader, thread) = (node.leader, node.thread);
        if leader != number {
            self.timers.remove(leader);
            let Some(leader) = self.nodes.get_mut(index(leader)) else { return };
            // Another queue was faster: the thread is on its way.
            if leader.state.is_some() {
                return;
            }
            leader.state = Some(how);
        }
        if let Some(thread) = thread {
            ready.push(thread);
        }
    }

    fn add(&mut self, thread: Option<ThreadId>, tag: Tag) -> u32 {
        let number = self.unused.pop().unwrap_or_else(|| crate::number::low_u32(self.nodes.len() as u64));
        let node = Node { thread, tag, state: None, leader: number, previous: number, next: number };
        match self.nodes.get_mut(index(number)) {
            Some(place) => *place = node,
            None => self.nodes.push(node),
        }
        number
    }

    /// Puts a lone node before another one: at the end of its ring.
    fn link(&mut self, number: u32, before: u32) {
        let Some(last) =
            self.nodes.get_mut(index(before)).map(|head| core::mem::replace(&mut head.previous, number))
        else {
            return;
        };
        if let Some(last) = self.nodes.get_mut(index(last)) {
            last.next = number;
        }
        if let Some(node) = self.nodes.get_mut(index(number)) {
            (node.previous, node.next) = (last, before);
        }
    }

    fn unlink(&mut self, number: u32) {
        let Some(node) = self.nodes.get_mut(index(number)) else { return };
        let (previous, next) = (node.previous, node.next);
        (node.previous, node.next) = (number, number);
        if let Some(node) = self.nodes.get_mut(index(previous)) {
            node.next = next;
        }
        if let Some(node) = self.nodes.get_mut(index(next)) {
            node.previous = previous;
        }
    }
}
