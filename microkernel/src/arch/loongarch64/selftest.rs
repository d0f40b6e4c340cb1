//! What this machine enforces, found out at boot (C-60).
//!
//! Owns a page tree of three tables in the kernel's image, a few instructions that run at PLV2 and PLV3,
//! and a vector that brings each attempt back. While it runs, nothing else does: interrupts are off and no
//! address space exists. The result goes to user space, which reports what is missing and skips its tests;
//! the refill handler is chosen by it (C-22). What no kernel could live without (PLV3 is denied privileged
//! instructions, the page walk works) is a panic.
#![expect(unsafe_code, reason = "enters lower privilege levels with a vector of its own")]

use core::arch::global_asm;
use core::sync::atomic::Ordering;

use abi::boot_info::SelfTests;

use super::cpu;
use super::paging::{self, Table, entry};
use super::registers::{
    CRMD, EENTRY, ERA, ESTAT, KS0, KS1, KS2, KS3, KS4, KS5, KS6, KS7, PGDH, PGDL, PRCFG1, PRMD, STLBPS,
    exception, exception_code, read_configuration, read_io,
};
use super::tlb_refill::{self, AddressCheck};
use super::window::physical_address;
use crate::address::VirtAddr;
use crate::log_line;

global_asm!(
    ".pushsection .text.bixi_selftest, \"ax\"",
    // The attempts: each does one thing and calls the kernel. 256 bytes, so that one page holds all.
    ".balign 256",
    ".globl bixi_selftest_privileged",
    "bixi_selftest_privileged:",
    "    csrrd       $a0, {crmd}",
    "    syscall     0",
    ".globl bixi_selftest_load",
    "bixi_selftest_load:",
    "    ld.d        $a0, $a0, 0",
    ".globl bixi_selftest_call",
    "bixi_selftest_call:",
    "    syscall     0",
    // fn attempt(pc, prmd, argument) -> estat: goes there, and the vector returns to its caller. No
    // attempt changes a register but `$a0`, so nothing has to be kept.
    ".globl bixi_selftest_attempt",
    "bixi_selftest_attempt:",
    "    csrwr       $a0, {era}",
    "    csrwr       $a1, {prmd}",
    "    move        $a0, $a2",
    "    ertn",
    ".balign 4096",
    ".globl bixi_selftest_vector",
    "bixi_selftest_vector:",
    "    csrrd       $a0, {estat}",
    "    jirl        $zero, $ra, 0",
    ".popsection",
    crmd = const CRMD.number(),
    era = const ERA.number(),
    prmd = const PRMD.number(),
    estat = const ESTAT.number(),
);

unsafe extern "C" {
    static bixi_selftest_privileged: u8;
    static bixi_selftest_load: u8;
    static bixi_selftest_call: u8;
    static bixi_selftest_vector: u8;
    fn bixi_selftest_attempt(pc: u64, prmd: u64, argument: u64) -> u64;
}

/// Root, directory and leaf table of the attempts' address space.
static TREE: [Table; 3] = [const { Table::new() }; 3];

/// Pages of the attempts' address space, each the even half of a pair of its own. All of them are the
/// page of the kernel's text that holds the attempts.
mod page {
    /// To run and read from.
    pub(super) const PLAIN: usize = 4;
    /// Must not run.
    pub(super) const NO_EXECUTE: usize = 6;
    /// Must not be read.
    pub(super) const NO_READ: usize = 8;
    /// PLV3 alone may use it.
    pub(super) const RESTRICTED: usize = 10;
}

/// Bit 47: with bit 63 clear, no canonical address.
const NOT_CANONICAL: u64 = 1 << 47;

/// The upper half's address of what this module maps, which has the same tree in both halves.
const UPPER_HALF: u64 = 0xffff_8000_0000_0000;

/// A privilege level as PRMD holds it, interrupts off.
#[derive(Clone, Copy)]
enum Level {
    Two = 2,
    Three = 3,
}

/// Runs the self-tests and installs the refill handler that the machine needs.
#[must_use]
pub fn run() -> SelfTests {
    let space = Space::enter();
    space.check_foundations();
    let canonical_checked = space.load(Level::Three, page::PLAIN, NOT_CANONICAL) == exception::ADDRESS;
    if !canonical_checked {
        space.check_strict_refill();
    }
    SelfTests {
        plv2_denied: u32::from(space.privileged(Level::Two) == exception::PRIVILEGED_INSTRUCTION),
        canonical_checked: u32::from(canonical_checked),
        no_execute: u32::from(space.fetch(page::NO_EXECUTE) == exception::NOT_EXECUTABLE),
        no_read: u32::from(space.load(Level::Three, page::NO_READ, 0) == exception::NOT_READABLE),
        restricted_plv: u32::from(space.load(Level::Two, page::RESTRICTED, 0) == exception::PRIVILEGE),
        stlb_page_size: u32::from(STLBPS.read() & 0x3f == u64::from(paging::PAGE_BITS)),
        save_registers: save_registers(),
        physical_bits: cpu::physical_address_bits(),
        hypervisor: u32::from(hypervisor_present()),
        reserved: 0,
    }
}

/// Prints the result on the log, a line for what is missing and one for the numbers.
pub fn report(result: &SelfTests) {
    let tests = [
        ("plv2-denied", result.plv2_denied),
        ("canonical", result.canonical_checked),
        ("no-execute", result.no_execute),
        ("no-read", result.no_read),
        ("restricted-plv", result.restricted_plv),
        ("stlb-page-size", result.stlb_page_size),
    ];
    for (name, enforced) in tests {
        let answer = if enforced == 1 { "enforced" } else { "missing" };
        log_line!("selftest {name} {answer}");
    }
    let SelfTests { save_registers, physical_bits, hypervisor, .. } = result;
    log_line!("selftest save={save_registers} physical-bits={physical_bits} hypervisor={hypervisor}");
}

/// Proof that the attempts' address space and vector are current; dropping it takes them back.
struct Space {
    vectors: u64,
}

impl Space {
    fn enter() -> Self {
        let [root, directory, leaves] = &TREE;
        // The attempts' page of the kernel's text, and where it appears: leaf index is page number.
        let text = physical_address(&raw const bixi_selftest_privileged).0 & !PAGE_MASK;
        let common = entry::VALID | entry::PRESENT | entry::CACHED | entry::LEVEL_3 | text;
        set(root, 0, physical_address(directory).0);
        set(directory, 0, physical_address(leaves).0);
        set(leaves, page::PLAIN, common);
        set(leaves, page::NO_EXECUTE, common | entry::NO_EXECUTE);
        set(leaves, page::NO_READ, common | entry::NO_READ);
        set(leaves, page::RESTRICTED, common | entry::RESTRICTED);
        // SAFETY: the tree maps a page of text, read-only, for code of this module alone.
        unsafe { PGDL.write(physical_address(root).0) };
        // SAFETY: as above.
        unsafe { PGDH.write(physical_address(root).0) };
        paging::invalidate_all();
        let vector = u64::from_le_bytes((&raw const bixi_selftest_vector).addr().to_le_bytes());
        // SAFETY: the vector serves every exception (spacing 0) until `drop` takes it back.
        let vectors = unsafe { EENTRY.write(vector) };
        Self { vectors }
    }

    /// What comes of a load at `page`, whose address has `extra` bits set.
    fn load(&self, level: Level, page: usize, extra: u64) -> u64 {
        let place = address_in(page, &raw const bixi_selftest_load);
        self.attempt(place_of_code(&raw const bixi_selftest_load), level, place | extra)
    }

    /// What comes of running in `page`.
    fn fetch(&self, page: usize) -> u64 {
        self.attempt(address_in(page, &raw const bixi_selftest_call), Level::Three, 0)
    }

    /// What comes of a privileged instruction.
    fn privileged(&self, level: Level) -> u64 {
        self.attempt(place_of_code(&raw const bixi_selftest_privileged), level, 0)
    }

    /// Goes to `pc` and answers the Ecode that it comes back with: `SYSTEM_CALL` when nothing stopped it.
    fn attempt(&self, pc: u64, level: Level, argument: u64) -> u64 {
        // SAFETY: `self` proves that the vector is set, and the attempts change `$a0` alone.
        exception_code(unsafe { bixi_selftest_attempt(pc, level as u64, argument) })
    }

    /// What every machine must do.
    fn check_foundations(&self) {
        assert_eq!(self.fetch(page::PLAIN), exception::SYSTEM_CALL, "page walk");
        assert_eq!(self.load(Level::Three, page::PLAIN, 0), exception::SYSTEM_CALL, "load");
        assert_eq!(self.load(Level::Three, page::PLAIN + 1, 0), exception::LOAD_INVALID, "empty entry");
        assert_eq!(self.load(Level::Three, 1 << 15, 0), exception::LOAD_INVALID, "empty directory");
        assert_eq!(self.privileged(Level::Three), exception::PRIVILEGED_INSTRUCTION, "PLV3");
    }

    /// Installs the strict handler and checks that it does what the machine does not (C-22).
    fn check_strict_refill(&self) {
        tlb_refill::install(AddressCheck::ByHandler);
        paging::invalidate_all();
        let refused = self.load(Level::Three, page::PLAIN, NOT_CANONICAL);
        assert_eq!(refused, exception::LOAD_INVALID, "strict refill");
        // The refused address may hide the upper half's page of the same 48 bits, until its pair is removed.
        let seen = self.load(Level::Three, page::PLAIN, UPPER_HALF);
        let place = address_in(page::PLAIN, &raw const bixi_selftest_load) | UPPER_HALF;
        if seen != exception::SYSTEM_CALL {
            assert!(paging::retry_invalid(VirtAddr(place)), "retry of a hidden page");
            let seen = self.load(Level::Three, page::PLAIN, UPPER_HALF);
            assert_eq!(seen, exception::SYSTEM_CALL, "hidden page");
        }
        assert!(!paging::retry_invalid(VirtAddr(place ^ UPPER_HALF ^ NOT_CANONICAL)), "refused address");
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        // SAFETY: the vector that was set before.
        unsafe { EENTRY.write(self.vectors) };
        // SAFETY: the empty root maps nothing.
        unsafe { PGDL.write(paging::empty_root().0) };
        // SAFETY: as above.
        unsafe { PGDH.write(paging::empty_root().0) };
        paging::invalidate_all();
    }
}

/// Bits of an address within a page.
const PAGE_MASK: u64 = (1 << paging::PAGE_BITS) - 1;

/// Where an attempt's instruction is when `page` is the page that it is run or read in.
fn address_in(page: usize, code: *const u8) -> u64 {
    (page as u64) << paging::PAGE_BITS | physical_address(code).0 & PAGE_MASK
}

/// Where an attempt's instruction runs.
fn place_of_code(code: *const u8) -> u64 {
    address_in(page::PLAIN, code)
}

fn set(table: &Table, index: usize, value: u64) {
    if let Some(entry) = table.0.get(index) {
        entry.store(value, Ordering::Relaxed);
    }
}

/// SAVE registers that keep what is written, of those that PRCFG1 counts and the kernel uses.
fn save_registers() -> u32 {
    let counted = u32::try_from(PRCFG1.read() & 0xf).unwrap_or(0);
    macro_rules! kept {
        ($($register:ident)*) => {{
            // Written all first, so that two names of one register show.
            // SAFETY: nobody has put anything into the SAVE registers yet.
            $( unsafe { $register.write(u64::from($register.number())) }; )*
            // SAFETY: as above.
            0 $( + u32::from(unsafe { $register.write(0) } == u64::from($register.number())) )*
        }};
    }
    let kept: u32 = kept!(KS0 KS1 KS2 KS3 KS4 KS5 KS6 KS7);
    kept.min(counted)
}

/// IOCSR feature word: runs in a virtual machine.
const VIRTUAL_MACHINE: u32 = 1 << 11;

/// Whether a hypervisor runs this machine: the feature word says so, and the hypervisor has a signature.
fn hypervisor_present() -> bool {
    read_io(0x8) & VIRTUAL_MACHINE != 0 && read_configuration(0x4000_0000) != 0
}
