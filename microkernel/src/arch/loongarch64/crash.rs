//! The kernel's end by a fault of its own: message, registers, backtrace, power off.
//!
//! Owns the panic handler, the vectors that are set until the kernel's own are (every exception is fatal
//! then), and [`bixi_kernel_exception`](self), to which the kernel's vectors go when an exception comes
//! from PLV0. Prints `PANIC: …`, then registers, then one `  at 0x…` line a frame, innermost first, with
//! addresses as in the kernel's ELF file, which the tools turn into names.
//!
//! The kernel is built without frame pointers, so the backtrace is a scan of the stack for return
//! addresses: words that point into the text just behind a call instruction. It may show a frame that has
//! already returned; it does not miss one.
#![expect(unsafe_code, reason = "assembly, and reads of a stack whose shape nobody knows")]

use core::arch::{asm, global_asm};
use core::cell::{Cell, UnsafeCell};
use core::fmt::Write as _;
use core::mem::{ManuallyDrop, offset_of};
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

use abi::control::{Record, Text};

use super::boot::{Image, boot_stack, image};
use super::machine::LoongArch64;
use super::power::power_off;
use super::registers::{BADI, BADV, CRMD, EENTRY, ERA, ESTAT, KS0, KS1, KS6, PRMD, exception_code, low_word};
use super::uart::SerialLine;
use super::window::{PHYSICAL_MASK, pointer};
use crate::address::{WINDOW_BASE, WindowAddr};
use crate::event_log::EventLog;
use crate::kernel::Kernel;
use crate::log_line;
use crate::object::thread::Tcb;

/// General registers at the exception, by number (0 holds nothing).
#[repr(C)]
#[derive(Debug)]
struct Registers([u64; 32]);

/// Where the crash entry puts the registers, and the stack on which the report runs.
#[repr(C, align(16))]
struct CrashArea {
    registers: UnsafeCell<Registers>,
    stack: UnsafeCell<[u64; CRASH_STACK_WORDS]>,
}

/// 16 KiB of stack for the report: a kernel stack that overflowed must not be used again.
const CRASH_STACK_WORDS: usize = 2048;

// SAFETY: written by the crash entry of the one core that crashes first; `REPORTING` stops the others.
unsafe impl Sync for CrashArea {}

static CRASH_AREA: CrashArea = CrashArea {
    registers: UnsafeCell::new(Registers([0; 32])),
    stack: UnsafeCell::new([0; CRASH_STACK_WORDS]),
};

/// Set by the first crash; one during the report only switches off.
static REPORTING: AtomicBool = AtomicBool::new(false);

global_asm!(
    ".pushsection .text.bixi_crash, \"ax\"",
    ".balign 4096",
    // The vectors of a core that has none yet, and the target of the kernel's vectors for exceptions from
    // PLV0. Needs nothing but SAVE6; keeps every register for the report.
    ".globl bixi_kernel_exception",
    "bixi_kernel_exception:",
    "    csrwr       $t0, {save}",
    "    la.pcrel    $t0, {area}",
    ".irp number, 1,2,3,4,5,6,7,8,9,10,11,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "    st.d        $r\\number, $t0, {registers} + 8 * \\number",
    ".endr",
    "    csrrd       $t1, {save}",
    "    st.d        $t1, $t0, {registers} + 8 * 12",
    "    li.d        $t1, {stack_end}",
    "    add.d       $sp, $t0, $t1",
    "    b           {report}",
    ".popsection",
    save = const KS6.number(),
    area = sym CRASH_AREA,
    registers = const offset_of!(CrashArea, registers),
    stack_end = const offset_of!(CrashArea, stack) + 8 * CRASH_STACK_WORDS,
    report = sym report_exception,
);

const _: () = assert!((offset_of!(CrashArea, stack) + 8 * CRASH_STACK_WORDS).is_multiple_of(16));

unsafe extern "C" {
    /// Entry for exceptions that the kernel itself caused.
    fn bixi_kernel_exception() -> !;
}

/// Makes every exception of this core fatal, until the kernel's own vectors are set.
pub fn install_vectors() {
    // SAFETY: the entry is aligned to 4 KiB, and with vector spacing 0 it serves every exception.
    unsafe { EENTRY.write((bixi_kernel_exception as *const ()).expose_provenance() as u64) };
}

/// Reports an exception of the kernel's own.
extern "C" fn report_exception() -> ! {
    // SAFETY: the entry has filled the area, and no other code touches it.
    let registers = unsafe { &*CRASH_AREA.registers.get() };
    begin();
    let status = ESTAT.read();
    let image = image();
    let era = address(ERA.read());
    let code = exception_code(status);
    log_line!("PANIC: kernel exception {code:#x} ({}) at {:#x}", exception_name(code), BADV.read());
    print_modes();
    for (row, values) in registers.0.chunks_exact(4).enumerate() {
        if let [a, b, c, d] = values {
            log_line!("  r{:<2} {a:016x} {b:016x} {c:016x} {d:016x}", 4 * row);
        }
    }
    print_frame(&image, era);
    let [_, return_address, _, stack_pointer, ..] = registers.0;
    let return_address = address(return_address);
    if follows_call(&image, return_address) {
        print_frame(&image, return_address - 4);
    }
    print_backtrace(&image, address(stack_pointer));
    print_kernel_state();
    end()
}

#[panic_handler]
fn panic(information: &PanicInfo<'_>) -> ! {
    begin();
    match information.location() {
        Some(place) => log_line!("PANIC: {} ({}:{})", information.message(), place.file(), place.line()),
        None => log_line!("PANIC: {}", information.message()),
    }
    print_modes();
    let stack_pointer: usize;
    // SAFETY: reads the stack pointer.
    unsafe { asm!("move {}, $sp", out(reg) stack_pointer, options(nomem, nostack)) };
    print_backtrace(&image(), stack_pointer);
    print_kernel_state();
    end()
}

/// Switches off once the report is out.
fn end() -> ! {
    SerialLine::log().flush();
    SerialLine::control().flush();
    power_off()
}

/// Starts a report, or switches off if one is under way.
fn begin() {
    if REPORTING.swap(true, Ordering::Relaxed) {
        log_line!("PANIC: while reporting another");
        end();
    }
    // A new line first: a server may have been in the middle of a record.
    let record = Record::Panic { place: Text::new("kernel") };
    // A serial line never fails.
    let _ = writeln!(SerialLine::control(), "\n{record}");
}

/// Prints the registers that say how the core got here.
fn print_modes() {
    log_line!(
        "  estat {:#x} era {:#x} badv {:#x} badi {:#010x} prmd {:#x} crmd {:#x}",
        ESTAT.read(),
        ERA.read(),
        BADV.read(),
        low_word(BADI.read()),
        PRMD.read(),
        CRMD.read(),
    );
}

/// Most frames that are shown.
const MOST_FRAMES: usize = 32;

/// Prints the callers found on the stack from `stack_pointer` up.
fn print_backtrace(image: &Image, stack_pointer: usize) {
    let Some(end) = stack_end(image, stack_pointer) else {
        log_line!("  stack pointer {stack_pointer:#x} is not in the kernel's image");
        return;
    };
    let start = stack_pointer.next_multiple_of(size_of::<usize>());
    (start..end)
        .step_by(size_of::<usize>())
        .map(|place| {
            // SAFETY: the place is aligned and in the image's memory, which is mapped; whatever another
            // core may write there meanwhile, a word is read whole.
            unsafe { core::ptr::with_exposed_provenance::<usize>(place).read_volatile() }
        })
        .filter(|&word| follows_call(image, word))
        .take(MOST_FRAMES)
        .for_each(|word| print_frame(image, word - 4));
}

/// Where the scan ends: at the end of the stack that is known, else 16 KiB on or at the image's end.
fn stack_end(image: &Image, stack_pointer: usize) -> Option<usize> {
    let boot = boot_stack();
    if boot.contains(&stack_pointer) {
        return Some(boot.end);
    }
    (image.text_end..image.end)
        .contains(&stack_pointer)
        .then(|| stack_pointer.saturating_add(16 * 1024).min(image.end))
}

/// Whether `word` is an address in the text just behind a call (`bl`, or `jirl` that sets `$ra`).
fn follows_call(image: &Image, word: usize) -> bool {
    if !word.is_multiple_of(4) || !(image.start + 4..=image.text_end).contains(&word) {
        return false;
    }
    // SAFETY: the instruction before `word` lies in the text.
    let instruction = unsafe { core::ptr::with_exposed_provenance::<u32>(word - 4).read() };
    let opcode = instruction >> 26;
    opcode == 0x15 || opcode == 0x13 && instruction & 0x1f == 1
}

/// Prints one frame, as an address of the kernel's ELF file.
fn print_frame(image: &Image, place: usize) {
    log_line!("  at {:#x}", place.wrapping_sub(image.start));
}

/// Prints the current thread and the core's last events, once the core's block exists (KS0, C-13).
fn print_kernel_state() {
    let block = KS0.read();
    if block & !PHYSICAL_MASK != WINDOW_BASE {
        return;
    }
    let log = offset_of!(Kernel<LoongArch64>, log) as u64;
    let log = pointer::<EventLog>(WindowAddr(block).offset(log));
    // SAFETY: KS0 is the first core's block, with which the kernel's one value begins. Its owner has
    // crashed, so nobody changes it; the events are plain data, and the copy owns nothing.
    let log = ManuallyDrop::new(unsafe { log.read() });
    let thread = KS1.read();
    if thread & !PHYSICAL_MASK == WINDOW_BASE {
        // SAFETY: KS1 is the current thread, which is made of cells (C-5).
        let thread = unsafe { &*pointer::<Tcb>(WindowAddr(thread)) };
        let name = thread.name.each_ref().map(|word| word.get().to_le_bytes());
        let name = name.as_flattened().utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let [pc, return_address, ..] = thread.registers.each_ref().map(Cell::get);
        log_line!("  thread {} pc {pc:#x} ra {return_address:#x}", name.trim_end_matches('\0'));
    }
    for event in log.iter() {
        log_line!("  event {event:x?}");
    }
}

/// A register's value as an address.
const fn address(value: u64) -> usize {
    usize::from_le_bytes(value.to_le_bytes())
}

/// What an Ecode means (manual, table 7-8).
const fn exception_name(code: u64) -> &'static str {
    match code {
        0x0 => "interrupt",
        0x1 => "load from an invalid page",
        0x2 => "store to an invalid page",
        0x3 => "fetch from an invalid page",
        0x4 => "store to a read-only page",
        0x5 => "load from a no-read page",
        0x6 => "fetch from a no-execute page",
        0x7 => "page of another privilege level",
        0x8 => "address error",
        0x9 => "misaligned access",
        0xa => "bound check",
        0xb => "system call",
        0xc => "breakpoint",
        0xd => "undefined instruction",
        0xe => "privileged instruction",
        0xf..=0x11 => "vector unit disabled",
        0x12 => "floating point",
        0x13 => "watchpoint",
        _ => "other",
    }
}
