//! What must hold of threads, what they wait in, and the scheduler, whenever no call is being handled.
//!
//! Written from the objects' documentation and not from the code that keeps it, so that both can be wrong
//! only together: hot words are worked out anew, queues are walked from both ends.

use std::collections::HashSet;
use std::format;
use std::string::String;
use std::vec::Vec;

use crate::arch::{Machine, Ticks};
use crate::kernel::{Core, Kernel};
use crate::object::endpoint::{Endpoint, EndpointState};
use crate::object::notification::Notification;
use crate::object::reply::Reply;
use crate::object::sched_context::SchedContext;
use crate::object::store::Ref;
use crate::object::thread::{Exit, Tcb, ThreadState};
use crate::scheduler::queue;

/// The objects that a test knows of: all that refer to each other.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// Threads, without the idle one.
    pub threads: Vec<Ref<Tcb>>,
    /// Endpoints.
    pub endpoints: Vec<Ref<Endpoint>>,
    /// Notifications.
    pub notifications: Vec<Ref<Notification>>,
    /// Replies.
    pub replies: Vec<Ref<Reply>>,
    /// Scheduling contexts.
    pub contexts: Vec<Ref<SchedContext>>,
}

type Checked = Result<(), String>;

macro_rules! hold {
    ($condition:expr, $($text:tt)*) => {
        if !$condition {
            return Err(format!($($text)*));
        }
    };
}

/// Checks everything; the error says what does not hold, in words.
pub fn check<M: Machine>(k: &Kernel<M>, objects: &Objects) -> Checked {
    let core = k.core();
    check_ready_queue(k, core)?;
    check_release_queue(k, core)?;
    check_current(k, core)?;
    for thread in &objects.threads {
        check_place(k, core, *thread)?;
        check_hot(k, *thread)?;
        check_thread_links(k, *thread, objects)?;
    }
    objects.endpoints.iter().try_for_each(|endpoint| check_endpoint(k, *endpoint, objects))?;
    objects.notifications.iter().try_for_each(|object| check_notification(k, *object, objects))?;
    objects.replies.iter().try_for_each(|reply| check_reply(k, *reply))?;
    objects.contexts.iter().try_for_each(|context| check_context(k, *context))
}

/// A list from its first member on, ended before a member comes twice.
fn walk<M: Machine>(
    k: &Kernel<M>,
    first: Option<Ref<Tcb>>,
    next: impl Fn(&Tcb) -> Option<Ref<Tcb>>,
) -> Result<Vec<Ref<Tcb>>, String> {
    let mut seen = HashSet::new();
    let mut list = Vec::new();
    let mut place = first;
    while let Some(thread) = place {
        hold!(seen.insert(thread), "{thread:?} comes twice in a list");
        list.push(thread);
        place = next(k.get(thread));
    }
    Ok(list)
}

/// The list again, from behind.
fn check_backwards<M: Machine>(
    k: &Kernel<M>,
    list: &[Ref<Tcb>],
    previous: impl Fn(&Tcb) -> Option<Ref<Tcb>>,
) -> Checked {
    let mut expected = None;
    for thread in list {
        hold!(previous(k.get(*thread)) == expected, "{thread:?} has another neighbour before it");
        expected = Some(*thread);
    }
    Ok(())
}

fn check_ready_queue<M: Machine>(k: &Kernel<M>, core: &Core) -> Checked {
    let mut top = 0;
    for (priority, queue) in (0..).zip(&core.ready.queues) {
        let word = usize::try_from(priority / 64).ok().and_then(|word| core.ready.bitmap.get(word));
        let bit = word.map_or(0, |word| word.get() >> (priority % 64) & 1);
        hold!((bit == 1) == queue.head.get().is_some(), "the bit of priority {priority} is wrong");
        if bit == 0 && queue.tail.get().is_none() {
            continue;
        }
        let list = walk(k, queue.head.get(), |tcb| tcb.sched_next.get())?;
        check_backwards(k, &list, |tcb| tcb.sched_previous.get())?;
        hold!(queue.tail.get() == list.last().copied(), "queue {priority} has another last thread");
        for thread in &list {
            let tcb = k.get(*thread);
            hold!(tcb.priority.get() == priority, "{thread:?} is in the queue of priority {priority}");
            hold!(tcb.sched_queue.get() == queue::READY, "{thread:?} is ready and does not know");
        }
        top = priority;
    }
    hold!(core.top_ready.get() == top, "top_ready is {} and not {top}", core.top_ready.get());
    Ok(())
}

/// A leftist heap: no thread is due before its parent, and right children are on the shortest way down.
fn check_release_queue<M: Machine>(k: &Kernel<M>, core: &Core) -> Checked {
    let due = |thread: Ref<Tcb>| {
        k.get(thread).sched_context.get().map_or(0, |context| k.get(context).refill_at.get())
    };
    let rank = |heap: Option<Ref<Tcb>>| heap.map_or(0, |thread| k.get(thread).release_rank.get());
    let mut seen = HashSet::new();
    let mut to_see: Vec<_> = core.release_head.get().map(|head| (head, None)).into_iter().collect();
    while let Some((thread, parent)) = to_see.pop() {
        let tcb = k.get(thread);
        hold!(seen.insert(thread), "{thread:?} is twice in the release queue");
        hold!(tcb.sched_queue.get() == queue::RELEASE, "{thread:?} waits for its refill and does not know");
        hold!(tcb.queue_previous.get() == parent, "{thread:?} has another parent in the release queue");
        let early = parent.is_some_and(|parent| due(parent) > due(thread));
        hold!(!early, "{thread:?} is due before its parent");
        let (left, right) = (tcb.sched_next.get(), tcb.sched_previous.get());
        hold!(rank(left) >= rank(right), "{thread:?} has its children the wrong way round");
        hold!(tcb.release_rank.get() == rank(right) + 1, "{thread:?} has a wrong rank");
        to_see.extend(left.into_iter().chain(right).map(|child| (child, Some(thread))));
    }
    Ok(())
}

fn check_current<M: Machine>(k: &Kernel<M>, core: &Core) -> Checked {
    let current = k.current();
    let tcb = k.get(current);
    let context = tcb.sched_context.get();
    hold!(core.charged.get() == context, "the context charged is not the current thread's");
    if core.idle.get() == Some(current) {
        let nobody = core.ready.queues.iter().all(|queue| queue.head.get().is_none());
        hold!(nobody, "the idle thread runs while others could");
    } else {
        hold!(tcb.thread_state() == ThreadState::Runnable, "the current thread waits");
        hold!(tcb.priority.get() >= core.top_ready.get(), "a higher thread than the current one is ready");
        hold!(
            context.is_some_and(|context| k.get(context).remaining.get() > 0),
            "the current thread has no time"
        );
    }
    let end = context
        .map_or(Ticks::NEVER, |context| Ticks(core.charged_from.get().0 + k.get(context).remaining.get()));
    let release = core.release_head.get().and_then(|thread| k.get(thread).sched_context.get());
    let release = release.map_or(Ticks::NEVER, |context| Ticks(k.get(context).refill_at.get()));
    super::timers::check(k, core)?;
    let timers = core.timers.get().map_or(Ticks::NEVER, |timer| Ticks(k.get(timer).deadline.get()));
    let first = end.min(release).min(timers);
    hold!(core.deadline.get() == first, "the timer is set to {:?}", core.deadline.get());
    Ok(())
}

/// Where the scheduler has the thread.
fn check_place<M: Machine>(k: &Kernel<M>, core: &Core, thread: Ref<Tcb>) -> Checked {
    let tcb = k.get(thread);
    let place = tcb.sched_queue.get();
    let context =
        tcb.sched_context.get().map(|context| k.get(context)).filter(|context| context.budget.get() != 0);
    let is_current = core.current.get() == Some(thread);
    let expected = match (tcb.thread_state(), context) {
        (ThreadState::Runnable, Some(context)) if context.remaining.get() == 0 => queue::RELEASE,
        (ThreadState::Runnable, Some(_)) if !is_current => queue::READY,
        _ => queue::NONE,
    };
    hold!(place == expected, "{thread:?} is in scheduler queue {place} and not {expected}");
    if place == queue::NONE {
        let links = tcb.sched_next.get().or(tcb.sched_previous.get());
        hold!(links.is_none(), "{thread:?} is in no scheduler queue and has links");
    }
    Ok(())
}

/// The hot word says "reach me" exactly when the hot path may (C-9).
fn check_hot<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) -> Checked {
    let tcb = k.get(thread);
    let reachable = tcb.hot.get() == tcb.home.get();
    let state = tcb.state.get() & ThreadState::MASK;
    let may = tcb.sched_context.get().is_none()
        && tcb.vspace.get().is_some()
        && tcb.exit.get() == Exit::Minimal as u64
        && tcb.fault.first().is_some_and(|label| label.get() == 0)
        && tcb.reply().is_some();
    if state == ThreadState::BlockedOnReceive as u64 || state == ThreadState::BlockedOnReply as u64 {
        hold!(reachable == may, "{thread:?} has hot word {:#x}", tcb.hot.get());
    }
    if tcb.state.get() & ThreadState::STOPPED != 0 {
        hold!(!reachable, "{thread:?} is stopped and its hot word does not say so");
    }
    if tcb.thread_state() == ThreadState::Runnable && tcb.vspace.get().is_some() {
        hold!(reachable, "{thread:?} is runnable with hot word {:#x}", tcb.hot.get());
    }
    Ok(())
}

fn check_thread_links<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>, objects: &Objects) -> Checked {
    let tcb = k.get(thread);
    let waits = tcb.wait_state();
    if let Some(context) = tcb.sched_context.get() {
        hold!(
            k.get(context).thread.get() == Some(thread),
            "{thread:?} has a context that has another thread"
        );
    }
    if let Some(reply) = tcb.reply() {
        hold!(objects.replies.contains(&reply), "{thread:?} waits with a Reply that is gone");
        hold!(k.get(reply).thread.get() == Some(thread), "{thread:?} waits with a Reply of another thread");
        let with_reply = matches!(waits, ThreadState::BlockedOnReply | ThreadState::BlockedOnReceive);
        hold!(with_reply, "{thread:?} has a Reply and is {waits:?}");
    }
    hold!(waits != ThreadState::BlockedOnReply || tcb.reply().is_some(), "{thread:?} waits for no answer");
    let endpoint = objects.endpoints.iter().any(|endpoint| endpoint.raw() == tcb.blocked_on.get());
    let notification = objects.notifications.iter().any(|object| object.raw() == tcb.blocked_on.get());
    let in_queue = match waits {
        ThreadState::BlockedOnSend | ThreadState::BlockedOnReceive => {
            hold!(endpoint, "{thread:?} waits at an endpoint that is gone");
            true
        }
        ThreadState::BlockedOnNotification => {
            hold!(notification, "{thread:?} waits for a notification that is gone");
            true
        }
        _ => false,
    };
    if !in_queue {
        let parent = tcb.queue_previous.get().filter(|_| tcb.sched_queue.get() != queue::RELEASE);
        let links = tcb.queue_next.get().or(parent).or(tcb.queue_group.get());
        hold!(links.is_none(), "{thread:?} waits in no queue and has links");
    }
    if let Some(notification) = tcb.notification.get() {
        hold!(k.get(notification).bound_thread.get() == Some(thread), "{thread:?} is bound from one side");
    }
    let active = tcb.notification.get().is_some_and(|notification| k.get(notification).active.get() != 0);
    hold!((tcb.notification_pending.get() != 0) == active, "{thread:?} is told wrongly of its notification");
    let should_have =
        tcb.thread_state() == ThreadState::BlockedOnReceive && tcb.sched_context.get().is_some();
    hold!(!(active && should_have), "{thread:?} receives, and was not given its notification");
    Ok(())
}

/// A queue of waiting threads: by priority, groups linked, links right both ways.
fn check_queue<M: Machine>(
    k: &Kernel<M>,
    first: Option<Ref<Tcb>>,
    last: Option<Ref<Tcb>>,
) -> Result<Vec<Ref<Tcb>>, String> {
    let list = walk(k, first, |tcb| tcb.queue_next.get())?;
    check_backwards(k, &list, |tcb| tcb.queue_previous.get())?;
    hold!(last == list.last().copied(), "a queue has another last thread");
    let priority = |thread: &Ref<Tcb>| k.get(*thread).priority.get();
    hold!(list.is_sorted_by_key(|thread| u64::MAX - priority(thread)), "a queue is not by priority");
    let mut before = None;
    for (index, thread) in list.iter().enumerate() {
        let group = k.get(*thread).queue_group.get();
        if before != Some(priority(thread)) {
            let next = list.iter().skip(index).find(|other| priority(other) != priority(thread));
            hold!(group == next.copied(), "{thread:?} links to another group");
        } else {
            hold!(group.is_none(), "{thread:?} is not the first of its priority and links to a group");
        }
        before = Some(priority(thread));
    }
    Ok(list)
}

/// The threads that wait here in the queue, and those that are stopped, are exactly those that say so.
fn check_members<M: Machine>(
    k: &Kernel<M>,
    here: u64,
    queue: &[Ref<Tcb>],
    stopped: &[Ref<Tcb>],
    objects: &Objects,
    states: &[ThreadState],
) -> Checked {
    let set = |list: &[Ref<Tcb>]| list.iter().copied().collect::<HashSet<_>>();
    let (queue, stopped, threads) = (set(queue), set(stopped), set(&objects.threads));
    for thread in &objects.threads {
        let tcb = k.get(*thread);
        let waits_here = tcb.blocked_on.get() == here && states.contains(&tcb.wait_state());
        let (in_queue, in_list) = (queue.contains(thread), stopped.contains(thread));
        hold!(
            in_queue == (waits_here && !tcb.is_stopped()),
            "{thread:?} and the queue at {here:#x} disagree"
        );
        hold!(
            in_list == (waits_here && tcb.is_stopped()),
            "{thread:?} and the stopped at {here:#x} disagree"
        );
    }
    let known = queue.iter().chain(&stopped).all(|thread| threads.contains(thread));
    hold!(known, "a thread that is gone waits at {here:#x}");
    Ok(())
}

fn check_endpoint<M: Machine>(k: &Kernel<M>, endpoint: Ref<Endpoint>, objects: &Objects) -> Checked {
    let object = k.get(endpoint);
    let (state, first) = (object.state(), object.first());
    let has_queue = matches!(state, EndpointState::Senders | EndpointState::Receivers);
    let list = check_queue(k, first, if has_queue { object.tail.get() } else { first })?;
    hold!(has_queue || object.tail.get().is_none(), "{endpoint:?} has a tail and no queue");
    hold!((state == EndpointState::Idle) == list.is_empty(), "{endpoint:?} is {state:?}");
    hold!(state != EndpointState::OneReceiver || list.len() == 1, "{endpoint:?} has more than one receiver");
    hold!(state != EndpointState::Receivers || list.len() > 1, "{endpoint:?} hides its one receiver");
    let role = if state == EndpointState::Senders {
        ThreadState::BlockedOnSend
    } else {
        ThreadState::BlockedOnReceive
    };
    let right_role = list.iter().all(|thread| k.get(*thread).wait_state() == role);
    hold!(right_role, "{endpoint:?} is {state:?} and has others in its queue");
    let goes_on = object.cancel_next.get();
    hold!(goes_on.is_none_or(|thread| list.contains(&thread)), "{endpoint:?} goes on cancelling elsewhere");
    let stopped = walk(k, object.stopped.get(), |tcb| tcb.queue_next.get())?;
    check_backwards(k, &stopped, |tcb| tcb.queue_previous.get())?;
    let states = [ThreadState::BlockedOnSend, ThreadState::BlockedOnReceive];
    check_members(k, endpoint.raw(), &list, &stopped, objects, &states)
}

fn check_notification<M: Machine>(
    k: &Kernel<M>,
    notification: Ref<Notification>,
    objects: &Objects,
) -> Checked {
    let object = k.get(notification);
    let list = check_queue(k, object.head.get(), object.tail.get())?;
    hold!(list.is_empty() || object.active.get() == 0, "{notification:?} is active and waited for");
    hold!(object.active.get() != 0 || object.word.get() == 0, "{notification:?} has bits and is not active");
    if let Some(thread) = object.bound_thread.get() {
        hold!(
            k.get(thread).notification.get() == Some(notification),
            "{notification:?} is bound from one side"
        );
    }
    let stopped = walk(k, object.stopped.get(), |tcb| tcb.queue_next.get())?;
    check_backwards(k, &stopped, |tcb| tcb.queue_previous.get())?;
    check_members(k, notification.raw(), &list, &stopped, objects, &[ThreadState::BlockedOnNotification])
}

fn check_reply<M: Machine>(k: &Kernel<M>, reply: Ref<Reply>) -> Checked {
    let object = k.get(reply);
    let caller =
        object.thread.get().filter(|thread| k.get(*thread).wait_state() == ThreadState::BlockedOnReply);
    if let Some(thread) = object.thread.get() {
        hold!(k.get(thread).reply() == Some(reply), "{reply:?} has a thread that does not have it");
    }
    let stacked = object.sched_context.get().is_some()
        || object.previous.get().is_some()
        || object.next.get().is_some();
    hold!(caller.is_some() || !stacked, "{reply:?} is in a stack and has no caller");
    if let Some(above) = object.next.get() {
        hold!(k.get(above).previous.get() == Some(reply), "{reply:?} is not below the one above it");
        hold!(object.sched_context.get().is_none(), "{reply:?} is not on top and names a context");
    }
    if let Some(below) = object.previous.get() {
        hold!(k.get(below).next.get() == Some(reply), "{reply:?} is not above the one below it");
    }
    if let Some(context) = object.sched_context.get() {
        hold!(k.get(context).reply.get() == Some(reply), "{reply:?} is not on top of its context's stack");
    }
    Ok(())
}

fn check_context<M: Machine>(k: &Kernel<M>, context: Ref<SchedContext>) -> Checked {
    let object = k.get(context);
    if let Some(thread) = object.thread.get() {
        hold!(k.get(thread).sched_context.get() == Some(context), "{context:?} is had from one side");
    }
    if let Some(reply) = object.reply.get() {
        hold!(
            k.get(reply).sched_context.get() == Some(context),
            "{context:?} and the top of its stack disagree"
        );
    }
    hold!(object.remaining.get() <= object.budget.get(), "{context:?} has more than its budget");
    Ok(())
}
