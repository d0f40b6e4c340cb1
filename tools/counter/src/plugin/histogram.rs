//! Owns the profile: how often each instruction was executed between the marks, for those who look for one to save.
//!
//! Off unless asked for. A line is `label pc count`, addresses in hexadecimal, one line a pair and address.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::counters::vcpus;
use crate::ffi;

/// Most different addresses that are told apart; later ones are left out of the profile, and that is said.
const MOST_ADDRESSES: usize = 1 << 17;

/// Counts by address.
pub(super) struct Histogram {
    scoreboard: *mut ffi::Scoreboard,
    state: Mutex<State>,
}

struct State {
    output: Box<dyn Write + Send>,
    /// Where in the scoreboard each address has its counter.
    places: HashMap<u64, usize>,
    at_start: Vec<u64>,
}

// SAFETY: QEMU hands out each vCPU's own copy, and the pointer is only given back to it.
unsafe impl Send for Histogram {}
// SAFETY: as above; everything else is behind the lock.
unsafe impl Sync for Histogram {}

impl Histogram {
    pub(super) fn new(output: Box<dyn Write + Send>) -> Self {
        let state = State { output, places: HashMap::new(), at_start: Vec::new() };
        // SAFETY: QEMU keeps a scoreboard until it is freed, which this one never is.
        let scoreboard = unsafe { ffi::qemu_plugin_scoreboard_new(size_of::<u64>() * MOST_ADDRESSES) };
        Self { scoreboard, state: Mutex::new(state) }
    }

    /// Lets an instruction that is being translated add to its address's counter.
    pub(super) fn count(&self, instruction: *mut ffi::Instruction, pc: u64) {
        let mut state = self.lock();
        let next = state.places.len();
        let place = *state.places.entry(pc).or_insert(next);
        if place >= MOST_ADDRESSES {
            if place == next {
                eprintln!(
                    "counter: more than {MOST_ADDRESSES} addresses: the profile lacks {pc:#x} and others"
                );
            }
            return;
        }
        let counter = ffi::Counter { scoreboard: self.scoreboard, offset: size_of::<u64>() * place };
        // SAFETY: the instruction is being translated, and the offset is inside the scoreboard's structure.
        unsafe {
            ffi::qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
                instruction,
                ffi::INLINE_ADD,
                counter,
                1,
            );
        }
    }

    pub(super) fn start(&self) {
        let mut state = self.lock();
        state.at_start = self.totals(&state.places);
    }

    pub(super) fn stop(&self, label: &str) {
        let mut state = self.lock();
        let totals = self.totals(&state.places);
        let State { output, places, at_start } = &mut *state;
        // What was translated since the start had not been executed before it.
        let before = |place| at_start.get(place).copied().unwrap_or(0);
        let mut rows: Vec<(u64, u64)> = places
            .iter()
            .filter_map(|(&pc, &place)| Some((pc, totals.get(place)? - before(place))))
            .filter(|(_, count)| *count != 0)
            .collect();
        rows.sort_unstable();
        let lines: String = rows.iter().map(|(pc, count)| format!("{label} {pc:x} {count}\n")).collect();
        // A reader that went away is found out by the tools: lines are missing.
        let _ = output.write_all(lines.as_bytes());
    }

    /// Returns the counts over all vCPUs, of the places that are in use.
    fn totals(&self, places: &HashMap<u64, usize>) -> Vec<u64> {
        let mut sums = vec![0; places.len().min(MOST_ADDRESSES)];
        for vcpu in vcpus() {
            // SAFETY: the vCPU exists, so it has a copy.
            let counts = unsafe { ffi::qemu_plugin_scoreboard_find(self.scoreboard, vcpu) };
            // SAFETY: the copy has this many counters.
            let counts = unsafe { std::slice::from_raw_parts(counts.cast::<u64>(), MOST_ADDRESSES) };
            sums.iter_mut().zip(counts).for_each(|(sum, more)| *sum += more);
        }
        sums
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
