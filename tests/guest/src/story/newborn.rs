//! A thread's first instruction sees what WriteRegisters said, and zeros (C-8, CASES 17).

use super::leaks::{bystander, none};
use super::stories;
use crate::kit::assistant::Role;
use crate::kit::failure::{Outcome, equal};
use crate::kit::frame::{A0, Leak};
use crate::kit::shared::{Cell, register, registers_address, rest};
use crate::kit::stage::{HERE, Stage};

stories! {
    a_new_thread_sees_only_zeros,
}

mod first {
    #![expect(unsafe_code, reason = "a thread's first instructions")]

    core::arch::global_asm!(
        ".text",
        // Stores every register to the frame in `$a0` before anything else, as `Frame::output` has them.
        "bixi_guest_newborn:",
        "st.d $ra, $a0, 8",
        "st.d $tp, $a0, 16",
        "st.d $sp, $a0, 24",
        ".irp r, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
        r"st.d $r\r, $a0, 8 * \r",
        ".endr",
        "b bixi_guest_grown",
    );

    unsafe extern "C" {
        safe fn bixi_guest_newborn(frame: u64, _: u64, _: u64, _: u64) -> !;
    }

    /// The thread's beginning.
    pub(super) extern "C" fn entry(frame: u64, a: u64, b: u64, c: u64) -> ! {
        bixi_guest_newborn(frame, a, b, c)
    }

    /// Where the thread's first instruction lies.
    pub(super) fn address() -> u64 {
        (bixi_guest_newborn as *const ()).expose_provenance() as u64
    }

    #[unsafe(no_mangle)]
    extern "C" fn bixi_guest_grown() -> ! {
        super::Cell(0).set(1);
        super::rest()
    }
}

fn a_new_thread_sees_only_zeros(stage: &mut Stage) -> Outcome {
    for space in [HERE, stage.there()?] {
        Cell(0).set(0);
        bystander(stage, space)?.signal()?;
        let output = registers_address();
        let thread = stage.hire(Role::ABOVE.in_space(space), first::entry, [output, 0, 0, 0])?;
        let mut registers = thread.first_registers();
        if let Some(pc) = registers.first_mut() {
            *pc = first::address();
        }
        thread.tcb.write_registers(runtime::registers::Resume::Run, &registers)?;
        equal("it ran", Cell(0).get(), 1)?;
        for index in (1..32).filter(|index| *index != A0) {
            let wanted = registers.get(index).copied().unwrap_or(0);
            let value = register(index);
            none("newborn", (value != wanted).then_some(Leak { register: index, value }))?;
        }
    }
    Ok(())
}
