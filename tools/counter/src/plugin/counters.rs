//! Owns the counters: one set a vCPU, added to by code that QEMU inlines, summed at the marks.

use std::ffi::{CStr, c_uint};

use crate::class::{CLASSES, Class};
use crate::ffi;
use crate::line::{Sample, Share};
use crate::opcode::Effects;

/// One vCPU's counters, or the sum of all vCPUs'.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    /// Instructions by class, in the order of [`CLASSES`].
    classes: [u64; CLASSES.len()],
    /// All loads, stores and CSR accesses.
    total: EffectCounts,
    /// The kernel's among them.
    kernel: EffectCounts,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct EffectCounts {
    loads: u64,
    stores: u64,
    csr: u64,
}

/// Every vCPU's counters.
pub(super) struct Counters {
    scoreboard: *mut ffi::Scoreboard,
}

// SAFETY: QEMU hands out each vCPU's own copy, and the pointer is only given back to it.
unsafe impl Send for Counters {}
// SAFETY: as above; sums read counters of other vCPUs, whose owners write them whole.
unsafe impl Sync for Counters {}

impl Counters {
    pub(super) fn new() -> Self {
        // SAFETY: QEMU keeps a scoreboard until it is freed, which this one never is.
        Self { scoreboard: unsafe { ffi::qemu_plugin_scoreboard_new(size_of::<Counts>()) } }
    }

    /// Lets an instruction that is being translated add to its counters.
    pub(super) fn count(&self, instruction: *mut ffi::Instruction, pc: u64, encoding: u32) {
        let class = Class::of(pc);
        let place = CLASSES.iter().position(|&other| other == class).unwrap_or_default();
        self.add(instruction, size_of::<u64>() * place);
        let effects = Effects::of(encoding);
        let kinds = [
            (effects.load, std::mem::offset_of!(EffectCounts, loads)),
            (effects.store, std::mem::offset_of!(EffectCounts, stores)),
            (effects.csr, std::mem::offset_of!(EffectCounts, csr)),
        ];
        for (_, offset) in kinds.into_iter().filter(|(happens, _)| *happens) {
            self.add(instruction, std::mem::offset_of!(Counts, total) + offset);
            if class.is_kernels() {
                self.add(instruction, std::mem::offset_of!(Counts, kernel) + offset);
            }
        }
    }

    fn add(&self, instruction: *mut ffi::Instruction, offset: usize) {
        let counter = ffi::Counter { scoreboard: self.scoreboard, offset };
        // SAFETY: the instruction is being translated, and the offset is of a field of `Counts`.
        unsafe {
            ffi::qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
                instruction,
                ffi::INLINE_ADD,
                counter,
                1,
            );
        }
    }

    /// Returns what all vCPUs have counted so far.
    pub(super) fn total(&self) -> Counts {
        vcpus().fold(Counts::default(), |sum, vcpu| {
            // SAFETY: the vCPU exists, so it has a copy.
            let counts = unsafe { ffi::qemu_plugin_scoreboard_find(self.scoreboard, vcpu) };
            // SAFETY: the copy has the size and, from QEMU's allocator, the alignment of `Counts`.
            let counts = unsafe { counts.cast::<Counts>().read_volatile() };
            sum.plus(&counts)
        })
    }
}

/// Returns the numbers of the vCPUs that exist.
pub(super) fn vcpus() -> std::ops::Range<c_uint> {
    // SAFETY: has no precondition.
    0..c_uint::try_from(unsafe { ffi::qemu_plugin_num_vcpus() }).unwrap_or(0)
}

impl Counts {
    fn plus(mut self, other: &Self) -> Self {
        self.classes.iter_mut().zip(other.classes).for_each(|(sum, more)| *sum += more);
        self.total = self.total.plus(other.total);
        self.kernel = self.kernel.plus(other.kernel);
        self
    }

    /// Returns what was counted since an earlier total, as a line of the output.
    pub(super) fn since(&self, earlier: &Self, label: &str, ops: u64) -> Sample {
        let [kernel, phys, host, user] = {
            let mut classes = self.classes;
            classes.iter_mut().zip(earlier.classes).for_each(|(now, then)| *now -= then);
            classes
        };
        let share = |of: fn(&EffectCounts) -> u64| Share {
            total: of(&self.total) - of(&earlier.total),
            kernel: of(&self.kernel) - of(&earlier.kernel),
        };
        Sample {
            label: label.to_owned(),
            ops,
            kernel,
            phys,
            host,
            user,
            loads: share(|counts| counts.loads),
            stores: share(|counts| counts.stores),
            csr: share(|counts| counts.csr),
        }
    }
}

impl EffectCounts {
    fn plus(self, other: Self) -> Self {
        Self {
            loads: self.loads + other.loads,
            stores: self.stores + other.stores,
            csr: self.csr + other.csr,
        }
    }
}

/// Returns the handle of the guest register with this name in QEMU's description for debuggers.
pub(super) fn find_register(name: &CStr) -> Option<*mut ffi::Register> {
    // SAFETY: called by a vCPU's thread, as QEMU asks for.
    let array = unsafe { ffi::qemu_plugin_get_registers() };
    if array.is_null() {
        return None;
    }
    // SAFETY: QEMU made the array, and it is not null.
    let &ffi::Array { data, length } = unsafe { &*array };
    // SAFETY: GLib's array holds this many descriptions.
    let descriptions = unsafe { std::slice::from_raw_parts(data, usize::try_from(length).unwrap_or(0)) };
    let found = descriptions.iter().find(|description| {
        // SAFETY: QEMU's names are C strings that live as long as the vCPU.
        unsafe { CStr::from_ptr(description.name) == name }
    });
    let handle = found.map(|description| description.handle);
    // SAFETY: the array is ours to free, and nothing borrows from it any more.
    unsafe { ffi::g_array_free(array, 1) };
    handle
}

/// Returns the value of a 64-bit guest register; zero if QEMU does not give it.
pub(super) fn read_register(register: *mut ffi::Register) -> u64 {
    // SAFETY: GLib's constructor has no precondition.
    let array = unsafe { ffi::g_byte_array_new() };
    // SAFETY: the handle is QEMU's, and the callback that this runs in was registered as one that reads registers.
    let size = unsafe { ffi::qemu_plugin_read_register(register, array) };
    let mut bytes = [0_u8; 8];
    if size == 8 {
        // SAFETY: QEMU has appended eight bytes to the array.
        let data = unsafe { (*array).data };
        // SAFETY: as above; the two do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(data, bytes.as_mut_ptr(), bytes.len()) };
    }
    // SAFETY: the array is ours to free.
    unsafe { ffi::g_byte_array_free(array, 1) };
    u64::from_le_bytes(bytes)
}
