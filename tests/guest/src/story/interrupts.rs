//! Interrupts: a line signals its handler's notification once, and again only after it was acknowledged.
//!
//! The source is the machine's RTC (`ls7a_rtc`), whose counter of 32,768 Hz is compared with a match register.

use core::ptr::NonNull;

use abi::{CPtr, Error, Rights, Syscall};
use runtime::memory::DEPTH;
use runtime::message::info;
use runtime::stubs::{IrqHandler, Notification};
use runtime::trap::counter;

use super::leaks::{DIRECTOR, call, none, none_by_assistants};
use super::stories;
use super::switches::hold;
use crate::kit::assistant::Role;
use crate::kit::failure::{Failure, Outcome, equal, holds, refused};
use crate::kit::frame::{A0, ANSWER, Allowed, Routine};
use crate::kit::shared::Cell;
use crate::kit::stage::{CNODE, Stage};

stories! {
    an_interrupt_signals_its_handlers_notification,
    an_interrupt_leaves_no_trace_in_registers,
    a_handler_needs_a_notification_that_it_may_signal,
}

/// Word registers of the RTC (QEMU's `hw/rtc/ls7a_rtc.c`).
mod register {
    pub(super) const CONTROL: usize = 0x40;
    pub(super) const READ: usize = 0x68;
    pub(super) const MATCH: usize = 0x6c;
    /// CONTROL: oscillator and RTC counter on.
    pub(super) const ENABLE: u32 = 1 << 8 | 1 << 13;
}

/// The RTC: its registers and its interrupt.
struct Rtc {
    base: NonNull<u32>,
    interrupt: IrqHandler,
}

impl Rtc {
    fn open(stage: &Stage) -> Result<Self, Failure> {
        let device = stage.server.devices().map(|(device, _)| device).find(|device| device.name() == "rtc");
        let device = device.ok_or(Failure::Skipped("the description gives this server no RTC"))?;
        let base = usize::try_from(device.address()).ok();
        let base = base.and_then(|address| NonNull::new(core::ptr::with_exposed_provenance_mut(address)));
        match (base, device.interrupt()) {
            (Some(base), Some(interrupt)) => Ok(Self { base, interrupt }),
            _ => Err(Failure::new(format_args!("the RTC has no registers or no interrupt"))),
        }
    }

    #[expect(unsafe_code, reason = "device registers")]
    fn read(&self, register: usize) -> u32 {
        // SAFETY: one of the device's registers, which root has mapped for this server alone.
        unsafe { self.base.as_ptr().wrapping_byte_add(register).read_volatile() }
    }

    #[expect(unsafe_code, reason = "device registers")]
    fn write(&self, register: usize, value: u32) {
        // SAFETY: as in `read`.
        unsafe { self.base.as_ptr().wrapping_byte_add(register).write_volatile(value) }
    }

    /// Lets the line rise in so many 32,768ths of a second.
    fn rise_in(&self, ticks: u32) {
        self.write(register::CONTROL, register::ENABLE);
        self.write(register::MATCH, self.read(register::READ).wrapping_add(ticks));
    }
}

/// Polls until a signal or for so many microseconds.
fn signalled(stage: &Stage, notification: Notification, microseconds: u64) -> Result<u64, Failure> {
    let deadline = counter() + stage.ticks(microseconds);
    loop {
        let badge = notification.poll()?;
        if badge != 0 || counter() > deadline {
            return Ok(badge);
        }
    }
}

fn an_interrupt_signals_its_handlers_notification(stage: &mut Stage) -> Outcome {
    let rtc = Rtc::open(stage)?;
    let notification = stage.notification()?;
    let badged = stage.memory.mint(notification.0, Rights::WRITE, 0x80)?;
    rtc.interrupt.set_notification(badged)?;
    rtc.interrupt.ack()?;
    rtc.rise_in(64);
    equal("the badge", signalled(stage, notification, 2_000_000)?, 0x80)?;
    // Not acknowledged: whatever the device does, it does not come again.
    rtc.rise_in(64);
    equal("without Ack", signalled(stage, notification, 20_000)?, 0)?;
    rtc.interrupt.clear()?;
    rtc.interrupt.ack()?;
    equal("cleared", signalled(stage, notification, 20_000)?, 0)
}

fn an_interrupt_leaves_no_trace_in_registers(stage: &mut Stage) -> Outcome {
    let rtc = Rtc::open(stage)?;
    let (notification, done) = (stage.notification()?, stage.notification()?);
    let badged = stage.memory.mint(notification.0, Rights::WRITE, 0x81)?;
    rtc.interrupt.set_notification(badged)?;
    // A thread below holds keys in every register when the line rises; the director waits with keys of its own.
    let (stop, there) = (Cell(0), stage.there()?);
    stage.start(Role::BELOW.in_space(there), hold, [9, stop.address(), done.0.0, 0])?;
    rtc.interrupt.ack()?;
    rtc.rise_in(64);
    let mut frame = call(DIRECTOR, Syscall::Wait, notification.0, info(0, 0), CPtr::NULL);
    frame.run(Routine::Trap);
    equal("the badge", frame.after(A0), 0x81)?;
    none("the woken thread", frame.leak(Allowed { own: DIRECTOR, sender: None, results: ANSWER }))?;
    stop.set(1);
    done.wait()?;
    none_by_assistants("the interrupted thread")?;
    Ok(rtc.interrupt.clear()?)
}

fn a_handler_needs_a_notification_that_it_may_signal(stage: &mut Stage) -> Outcome {
    let rtc = Rtc::open(stage)?;
    let (notification, endpoint) = (stage.notification()?, stage.endpoint()?);
    let read = stage.memory.copy(notification.0, Rights::READ)?;
    refused("without WRITE", rtc.interrupt.set_notification(read), Error::MissingRight)?;
    refused("an endpoint", rtc.interrupt.set_notification(endpoint), Error::InvalidCapability)?;
    refused("nothing", rtc.interrupt.set_notification(CPtr::NULL), Error::InvalidCapability)?;
    // A notification that is deleted is the handler's no longer.
    rtc.interrupt.set_notification(notification)?;
    CNODE.delete(notification.0.0, DEPTH)?;
    holds("acknowledging goes on", rtc.interrupt.ack().is_ok())?;
    Ok(rtc.interrupt.clear()?)
}
