//! The library on the machine: start, the four entries (C-23 to C-25), waiting, and the end.
//!
//! Owned here: the one [`Ground`], which the entries find through the per-core block. Reading order: [`main`], the
//! entries below it, then [`machine`] (the library's `Host`) and what it stands on.
//!
//! Invariant: while a program runs nothing refers to the ground; each entry borrows it anew, and entries do not
//! nest: the host's own faults ([`resolve`]) touch no state.

#![expect(
    unsafe_code,
    reason = "the ground is reached through the per-core block, the machine through its memory"
)]

mod block;
mod bytes;
mod calls;
mod capabilities;
mod clock;
mod console;
mod contexts;
mod frames;
mod handlers;
mod heap;
mod machine;

use alloc::boxed::Box;
use core::fmt;

use abi::upper::{HostInfo, STACK_TOP};
use arrayvec::ArrayVec;
use posix::dispatch::Strace;
use posix::dispatch::entries::Answer;
use posix::job::{Jobs, Traced};
use posix::process::fault::Fault;
use posix::process::schedule::{Next as Turn, Posix};
use posix::server::{Resources, Server as State};
use runtime::host::{Next, copy};
use runtime::server::{Server, shut_down};

use block::{BlockWord, ContextWord};
use clock::Clock;
use machine::Machine;

runtime::host_main!(main);

runtime::host_entries! {
    fault: fault,
    interrupted: interrupted,
    attention: attention,
    resolve: resolve,
    refused: refused,
}

/// What the entries work on.
type Ground = Posix<Machine>;

fn main(server: Server, info: &'static HostInfo) -> ! {
    if heap::begin(info.heap).is_err() {
        bug(format_args!("no heap in {:#x} bytes at {:#x}", info.heap.bytes, info.heap.address));
    }
    let job = Jobs::of_archive(archive(info)).and_then(|(jobs, archive)| {
        Ok((jobs.map_or_else(|| Jobs::of_description(server.arguments()), Ok)?, archive))
    });
    let (jobs, archive) = job.unwrap_or_else(|error| bug(format_args!("no program can be started: {error}")));
    let mut state = state(&server, info, archive);
    match jobs.traced {
        Traced::Yes => {
            state.strace = Strace::On;
            calls::install_traced();
        }
        Traced::No => calls::install(),
    }
    state.jobs = jobs;
    let ground = Box::leak(Box::new(Posix::new(state)));
    BlockWord::STATE.set(core::ptr::from_mut(ground).expose_provenance() as u64);
    BlockWord::STACK.set(STACK_TOP);
    let turn = ground.schedule();
    contexts::begin(go_on(ground, turn))
}

/// The library's state over what root gave.
fn state(server: &Server, info: &HostInfo, archive: &'static [u8]) -> State<Machine> {
    let windows = usize::try_from(info.window_count).ok().and_then(|count| info.windows.get(..count));
    let window_pages: ArrayVec<u32, { abi::mapping::WINDOWS }> = windows
        .unwrap_or_default()
        .iter()
        .map(|window| u32::try_from(window.bytes / abi::PAGE_BYTES).unwrap_or(u32::MAX))
        .collect();
    let spaces = info.spaces.end - info.spaces.start;
    let resources = Resources {
        window_pages: &window_pages,
        spaces: u16::try_from(spaces).unwrap_or(u16::MAX),
        contexts: u16::try_from(info.contexts.saturating_sub(1)).unwrap_or(u16::MAX),
        archive,
    };
    match State::new(Machine::new(server, info), &resources) {
        Ok(state) => state,
        Err(damaged) => bug(format_args!("the initrd: {damaged}")),
    }
}

/// The initrd as it lies in memory.
fn archive(info: &HostInfo) -> &'static [u8] {
    match (usize::try_from(info.initrd.address), usize::try_from(info.initrd.bytes)) {
        (_, Ok(0)) => &[],
        // SAFETY: root maps the initrd read-only for the server's whole life.
        (Ok(address), Ok(bytes)) => unsafe {
            core::slice::from_raw_parts(core::ptr::with_exposed_provenance(address), bytes)
        },
        _ => bug(format_args!("the initrd lies nowhere")),
    }
}

/// The ground, for as long as an entry runs.
fn ground() -> &'static mut Ground {
    let address = usize::try_from(BlockWord::STATE.get()).unwrap_or(0);
    let ground: *mut Ground = core::ptr::with_exposed_provenance_mut(address);
    // SAFETY: `main` put it there for good; entries do not nest, and nothing else refers to it while programs run.
    unsafe { &mut *ground }
}

/// The server's state, which is away only while a task is polled: no entry comes then.
fn state_of(ground: &mut Ground) -> &mut State<Machine> {
    match ground.server() {
        Some(state) => state,
        None => bug(format_args!("an entry while a task is polled")),
    }
}

/// A program faulted.
extern "C" fn fault() -> Next {
    let ground = ground();
    let Some(context) = state_of(ground).host.contexts.current() else {
        bug(format_args!("a fault of no program"))
    };
    let fault = Fault {
        cause: ContextWord::CAUSE.get(context),
        address: ContextWord::FAULT_ADDRESS.get(context),
        instruction: posix::number::low_u32(ContextWord::FAULT_INSTRUCTION.get(context)),
    };
    let turn = ground.faulted(fault);
    go_on(ground, turn)
}

/// A program was interrupted for the server's news.
extern "C" fn interrupted() -> Next {
    let ground = ground();
    let state = state_of(ground);
    let badges = state.host.poll();
    take_in(state, badges);
    let turn = ground.interrupted();
    go_on(ground, turn)
}

/// A call that does not go back to its program at once. Both ways have the convention of this one: nothing is left
/// to do behind them.
extern "C" fn attention(value: u64, attention: u64) -> Next {
    match attention {
        Answer::SIGNALS => signalled(value),
        _ => other_turn(attention),
    }
}

#[inline(never)]
extern "C" fn signalled(result: u64) -> Next {
    let ground = ground();
    match ground.signalled(result) {
        Ok(flags) => Next::full_with(flags),
        Err(turn) => turn_to(ground, turn),
    }
}

#[inline(never)]
extern "C" fn other_turn(attention: u64) -> Next {
    let ground = ground();
    let turn = if attention == Answer::REPLACED { ground.replaced() } else { ground.schedule() };
    go_on(ground, turn)
}

/// [`go_on`], out of the way.
#[cold]
#[inline(never)]
fn turn_to(ground: &mut Ground, turn: Turn) -> Next {
    go_on(ground, turn)
}

/// A routine that touches a program's memory met a page that is not there: the library resolves that where the copy
/// ended, and tries again from there.
extern "C" fn resolve(pc: u64, address: u64, _access: u64, _cause: u64) -> u64 {
    match copy::fix_up(pc) {
        Some(go_on) => go_on,
        None => bug(format_args!("touching {address:#x} at {pc:#x}")),
    }
}

extern "C" fn refused(information: u64) -> ! {
    bug(format_args!("the kernel refused to enter a program: {information:#x}"))
}

/// Does what the library says until there is a program to enter.
#[inline(always)] // It is where everything leads to.
fn go_on(ground: &mut Ground, turn: Turn) -> Next {
    match turn {
        Turn::Enter(context, exit) => state_of(ground).host.entering(context, exit),
        Turn::Finished | Turn::Idle => wait_for_turn(ground, turn),
    }
}

/// The same when there is none yet.
#[cold]
#[inline(never)]
fn wait_for_turn(ground: &mut Ground, turn: Turn) -> Next {
    let mut turn = turn;
    loop {
        match turn {
            Turn::Enter(context, exit) => return state_of(ground).host.entering(context, exit),
            Turn::Finished => end(ground),
            Turn::Idle => {
                let state = state_of(ground);
                let badges = idle(state);
                take_in(state, badges);
                state.alarm();
                turn = ground.schedule();
            }
        }
    }
}

/// Clears frames in advance until something happens, then waits.
fn idle(state: &mut State<Machine>) -> u64 {
    while state.clear_ahead() {
        let badges = state.host.poll();
        if badges != 0 {
            return badges;
        }
    }
    state.host.wait()
}

/// Takes news in.
fn take_in(state: &mut State<Machine>, badges: u64) {
    if badges & Clock::RUNG != 0 {
        // It may have rung a tick early: whoever still waits asks for it again.
        state.armed_ns = None;
    }
    if badges & state.host.output.badge != 0 {
        state.output_ready();
    }
    if state.host.input.as_ref().is_some_and(|input| badges & input.badge != 0) {
        state.input_ready();
    }
}

/// Every program has ended.
fn end(ground: &mut Ground) -> ! {
    let state = state_of(ground);
    // Without a job there was nothing to do, and that is done.
    let status = state.jobs.status().unwrap_or(0);
    state.host.output.flush();
    shut_down(status)
}

/// Something that no program can bring about: root hears of it, and the system ends.
fn bug(what: fmt::Arguments<'_>) -> ! {
    runtime::panic::last_words(what)
}
