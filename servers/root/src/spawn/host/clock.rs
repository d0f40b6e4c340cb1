//! The time of day, read once from the machine's clock: the TOY counter of the LS7A bridge (7A1000 manual, chapter
//! on the RTC; QEMU's `hw/rtc/ls7a_rtc.c`).

#![expect(unsafe_code, reason = "device registers that root has mapped")]

use abi::{PAGE_BYTES, Rights};
use runtime::InvocationError;
use runtime::calendar::CivilTime;
use runtime::device::WordRegisters;
use runtime::space::{Access, map};
use runtime::stubs::Frame;

use crate::boot::SPACE;
use crate::spawn::Building;

/// Its registers.
const CLOCK_PHYSICAL: u64 = 0x100d_0100;
/// Where root maps their page while it reads them.
const CLOCK_ADDRESS: u64 = 0x1_a100_0000;
const CLOCK_WORDS: usize = 0x100 / 4;
/// Low word: month, day, hour, minute, second, tenths.
const TOY_READ_LOW: usize = 0x2c;
/// High word: years since 1900.
const TOY_READ_HIGH: usize = 0x30;
/// Its switches: the oscillator and the TOY counter.
const CONTROL: usize = 0x40;
const OSCILLATOR_ON: u32 = 1 << 8;
const TOY_ON: u32 = 1 << 11;
/// Reads until two agree; a clock that never does is no clock.
const MOST_READS: u32 = 8;
const NS_PER_SECOND: u64 = 1_000_000_000;

impl Building<'_, '_> {
    /// Nanoseconds since 1970 when the counter was 0; 0 if the machine has no clock that says so.
    pub(super) fn realtime_offset_ns(&mut self) -> Result<u64, InvocationError> {
        let root = &mut *self.order.root;
        let page = self.order.parts.devices.page(root, CLOCK_PHYSICAL)?;
        let frame = root.copy(page.0, Rights::READ_WRITE)?;
        map(root, SPACE, Frame(frame), CLOCK_ADDRESS, Access::Device)?;
        let address = CLOCK_ADDRESS + CLOCK_PHYSICAL % PAGE_BYTES;
        // SAFETY: mapped just now; another server that is given the clock does not run yet.
        let registers = unsafe { WordRegisters::new(address, CLOCK_WORDS) };
        let now = registers.as_ref().and_then(read).and_then(CivilTime::since_1970);
        let ticks = runtime::trap::counter();
        root.delete(frame)?;
        let Some(now) = now else { return Ok(0) };
        let since_start =
            u128::from(ticks) * u128::from(NS_PER_SECOND) / u128::from(self.order.boot.info.timer_hz.max(1));
        let now_ns = u128::from(now.as_secs()) * u128::from(NS_PER_SECOND) + u128::from(now.subsec_nanos());
        Ok(now_ns.checked_sub(since_start).and_then(|offset| u64::try_from(offset).ok()).unwrap_or(0))
    }
}

fn read(registers: &WordRegisters) -> Option<CivilTime> {
    let control = registers.read(CONTROL);
    registers.write(CONTROL, control | OSCILLATOR_ON | TOY_ON);
    let both = || (registers.read(TOY_READ_HIGH), registers.read(TOY_READ_LOW));
    let mut earlier = both();
    for _ in 0..MOST_READS {
        let later = both();
        if later == earlier {
            let (years, rest) = later;
            let field = |from: u32, bits: u32| rest >> from & ((1 << bits) - 1);
            return Some(CivilTime {
                year: 1900 + years,
                month: field(26, 6),
                day: field(21, 5),
                hour: field(16, 5),
                minute: field(10, 6),
                second: field(4, 6),
                tenths: field(0, 4),
            });
        }
        earlier = later;
    }
    None
}
