//! What root finds, and that no byte of memory is lost or given twice.

use core::cell::Cell;

use abi::boot_archive::BootArchive;
use abi::boot_info::{
    ARCHIVE_ADDRESS, BOOT_INFO_ADDRESS, BootInfo, IPC_BUFFER_ADDRESS, MAGIC, ROOT_CNODE_RADIX, STACK_TOP,
    SelfTests, SlotRange, slot,
};
use abi::message::REGISTERS;
use abi::{MessageInfo, Method, ObjectType, Rights};
use microkernel::address::PhysAddr;
use microkernel::arch::mock::{MEMORY_BASE, MockMachine};
use microkernel::arch::{HardwareAsid, Machine, Ticks};
use microkernel::boot::memory::{BootMemory, Range};
use microkernel::boot::{BootError, Description, own_memory, start_root};
use microkernel::capability::cap::{Cap, FrameCap, Slot};
use microkernel::kernel::Kernel;
use microkernel::object::store::Ref;
use microkernel::object::thread::{Exit, ThreadState, register};
use microkernel::syscall::invoke::invoke;

use super::archive::{CONSTANTS, DATA, DATA_FILE, DATA_MEMORY, ENTRY, PAGE, TEXT, archive, byte};

const MEMORY: u64 = 8 << 20;
/// Where the archive lies: the first eight pages.
const ARCHIVE: Range = Range { start: MEMORY_BASE, end: MEMORY_BASE + 8 * PAGE };
/// Where the initial files lie, whose ends are in the middle of pages.
const INITRD: Range = Range { start: MEMORY_BASE + 20 * PAGE + 100, end: MEMORY_BASE + 27 * PAGE + 3 };
const FREE: [Range; 2] = [
    Range { start: MEMORY_BASE + 8 * PAGE, end: MEMORY_BASE + 20 * PAGE },
    Range { start: MEMORY_BASE + 28 * PAGE, end: MEMORY_BASE + MEMORY },
];
const DEVICES: [Range; 2] =
    [Range { start: 0x1fe0_0000, end: 0x1fe0_0000 + PAGE }, Range { start: 0x4000_0000, end: 0x8000_0000 }];

/// A start of a machine with this free memory and this place of root's data.
fn start(free: &[Range], data_address: u64) -> Result<Booted, BootError> {
    let bytes = archive(data_address);
    let machine = MockMachine::new(MEMORY);
    for (at, word) in (0..).step_by(8).zip(bytes.chunks(8)) {
        let word = u64::from_le_bytes(word.try_into().unwrap());
        machine.store(PhysAddr(ARCHIVE.start).in_window().offset(at), word);
    }
    // Memory is not clean when a machine starts.
    for range in free {
        for at in (range.start..range.end).step_by(8) {
            machine.store(PhysAddr(at).in_window(), 0xdead_beef_dead_beef);
        }
    }
    let description = Description {
        devices: &DEVICES,
        archive_start: PhysAddr(ARCHIVE.start),
        archive: BootArchive::parse(&bytes).unwrap(),
        initrd: Some(INITRD),
        rng_seed: &[9; 32],
        cores: 4,
        self_tests: SelfTests { physical_bits: 47, ..SelfTests::default() },
    };
    let mut memory = BootMemory::new(free)?;
    let own = own_memory(&machine, &mut memory)?;
    let mut k = Kernel::new(machine, own);
    start_root(&mut k, memory, &description)?;
    Ok(Booted { k })
}

fn booted() -> Booted {
    start(&FREE, DATA).unwrap()
}

struct Booted {
    k: Kernel<MockMachine>,
}

impl Booted {
    fn cap(&self, number: u64) -> Cap {
        self.k.get(self.slot(number)).cap()
    }

    fn slot(&self, number: u64) -> Ref<Slot> {
        match self.k.get(self.k.current()).slots[0].cap() {
            Cap::CNode { base, .. } => base.element(number),
            other => panic!("{other:?} is no CNode"),
        }
    }

    fn info(&self) -> BootInfo {
        let (page, _) = self.page(BOOT_INFO_ADDRESS).unwrap();
        self.k.get(Ref::<Cell<BootInfo>>::from_raw(PhysAddr(page).in_window().0).unwrap()).get()
    }

    fn root_table(&self) -> u64 {
        self.k.get(self.k.get(self.k.current()).vspace.get().unwrap()).root_address.get()
    }

    fn load(&self, address: u64) -> u64 {
        self.k.machine.load(PhysAddr(address).in_window())
    }

    /// The page at an address of root's, and the rest of its entry.
    fn page(&self, address: u64) -> Option<(u64, u64)> {
        self.leaves().into_iter().find(|(at, _)| *at == address).map(|(_, entry)| split(entry))
    }

    /// Every leaf of root's: address and entry.
    fn leaves(&self) -> Vec<(u64, u64)> {
        let mut leaves = Vec::new();
        self.visit(self.root_table(), 36, 0, &mut |address, entry, shift| {
            if shift == 14 {
                leaves.push((address, entry));
            }
        });
        leaves
    }

    /// Every entry of root's tables, with its address and the bits that it covers.
    fn visit(&self, table: u64, shift: u32, base: u64, see: &mut impl FnMut(u64, u64, u32)) {
        for index in 0..2048 {
            let (entry, address) = (self.load(table + index * 8), base + (index << shift));
            if entry != 0 {
                see(address, entry, shift);
                if shift > 14 {
                    self.visit(entry, shift - 11, address, see);
                }
            }
        }
    }

    /// The bytes at an address of root's.
    fn byte(&self, address: u64) -> u8 {
        let (page, _) = self.page(address / PAGE * PAGE).unwrap();
        let word = self.load(page + address % PAGE / 8 * 8);
        word.to_le_bytes()[usize::try_from(address % 8).unwrap()]
    }
}

fn split(entry: u64) -> (u64, u64) {
    (entry & 0xffff_ffff_c000, entry & !0xffff_ffff_c000)
}

/// V, PLV3, cached, P, and D with W; NX.
const READ: u64 = 0x9d;
const WRITE: u64 = 0x102;
const NO_EXECUTE: u64 = 1 << 62;

/// A stretch of memory: where it begins, its bytes, what it is.
type Stretch = (u64, u64, &'static str);

/// What there is in what was free.
fn stretches(booted: &Booted) -> Vec<Stretch> {
    let mut all: Vec<Stretch> = Vec::new();
    let info = booted.info();
    for untyped in info.untypeds.iter().filter(|untyped| untyped.size_bits != 0 && untyped.is_device == 0) {
        all.push((untyped.physical_address, 1 << untyped.size_bits, "untyped"));
    }
    let tcb = booted.k.get(booted.k.current());
    let physical = |raw: u64| raw & 0xffff_ffff_ffff;
    all.extend([
        (physical(booted.slot(0).raw()), 32 << ROOT_CNODE_RADIX, "cnode"),
        (booted.root_table() - PAGE, 2 * PAGE, "vspace"),
        (physical(booted.k.current().raw()), 1024, "tcb"),
        (physical(tcb.sched_context.get().unwrap().raw()), 256, "sched context"),
        (physical(booted.k.asids.pools[0].unwrap().raw()), 4096, "pool"),
        (physical(booted.k.irq_slots.raw()), 2048, "irq slots"),
        (physical(booted.k.core().idle.get().unwrap().raw()), 1024, "idle"),
        (booted.k.empty_root.0, PAGE, "empty root"),
    ]);
    booted.visit(booted.root_table(), 36, 0, &mut |_, entry, shift| {
        let (page, _) = split(entry);
        if !(ARCHIVE.start..ARCHIVE.end).contains(&page) {
            all.push((page, PAGE, if shift == 14 { "page" } else { "table" }));
        }
    });
    all
}

/// Says where the stretches are not side by side from end to end of what was free.
fn account_for(mut all: Vec<Stretch>) -> Result<(), String> {
    all.sort_unstable();
    let mut all = all.into_iter();
    for range in FREE {
        let mut at = range.start;
        while at < range.end {
            match all.next() {
                Some((start, bytes, _)) if start == at && bytes <= range.end - at => at += bytes,
                other => return Err(format!("{other:x?} at {at:#x}")),
            }
        }
    }
    all.next().map_or(Ok(()), |more| Err(format!("{more:x?} is outside")))
}

#[test]
fn no_byte_is_lost_and_none_is_given_twice() {
    let booted = booted();
    assert_eq!(booted.info().lost_bytes, 0);
    let all = stretches(&booted);
    account_for(all.clone()).unwrap();
    // Planted: something is missing, is there twice, or reaches into its neighbour.
    for index in 0..all.len() {
        let mut missing = all.clone();
        missing.remove(index);
        assert!(account_for(missing).is_err());
        let mut twice = all.clone();
        twice.push(all[index]);
        assert!(account_for(twice).is_err());
        let mut longer = all.clone();
        longer[index].1 *= 2;
        assert!(account_for(longer).is_err());
    }
}

#[test]
fn what_is_in_too_many_pieces_is_counted() {
    // Fifty ranges of four pages, each of which is three pieces, beside the room that the boot itself needs.
    let scattered = (0..50).map(|number| {
        let start = MEMORY_BASE + (257 + 4 * number) * PAGE;
        Range { start, end: start + 4 * PAGE }
    });
    let near = Range { end: MEMORY_BASE + 257 * PAGE, ..FREE[1] };
    let free: Vec<Range> = [FREE[0], near].into_iter().chain(scattered).collect();
    let booted = start(&free, DATA).unwrap();
    let info = booted.info();
    assert_eq!(info.untyped_slots.end - info.untyped_slots.start, 128);
    let used: u64 = stretches(&booted).iter().map(|(_, bytes, _)| bytes).sum();
    assert_ne!(info.lost_bytes, 0);
    assert_eq!(used + info.lost_bytes, free.iter().map(|range| range.bytes()).sum::<u64>());
    let of_memory = info.untypeds.iter().filter(|untyped| untyped.is_device == 0);
    let smallest = of_memory.map(|untyped| untyped.size_bits).min().unwrap();
    assert!(info.lost_bytes < 50 << smallest, "the smallest pieces were left out");
}

#[test]
fn root_is_laid_out_as_its_archive_and_the_interface_say() {
    let booted = booted();
    let at = |address| booted.page(address);
    for page in [0, 1] {
        let there = ARCHIVE.start + (1 + page) * PAGE;
        assert_eq!(at(TEXT + page * PAGE), Some((there, READ)), "text is where it lies");
    }
    assert_eq!(at(TEXT + 2 * PAGE), None);
    assert_eq!(at(CONSTANTS), Some((ARCHIVE.start + 3 * PAGE, READ | NO_EXECUTE)));
    for page in 0..4 {
        let (_, bits) = at(DATA + page * PAGE).unwrap();
        assert_eq!(bits, READ | WRITE | NO_EXECUTE);
    }
    for offset in 0..4 * PAGE {
        let expected = if offset < DATA_FILE { byte(4 * PAGE + offset) } else { 0 };
        if offset % 61 == 0 || offset.abs_diff(DATA_FILE) < 20 || offset.abs_diff(DATA_MEMORY) < 20 {
            assert_eq!(booted.byte(DATA + offset), expected, "byte {offset:#x} of the data");
        }
    }
    for page in 0..8 {
        let there = (ARCHIVE.start + page * PAGE, READ | NO_EXECUTE);
        assert_eq!(at(ARCHIVE_ADDRESS + page * PAGE), Some(there));
    }
    for page in 1..=16 {
        let (stack, bits) = at(STACK_TOP - page * PAGE).unwrap();
        assert_eq!((booted.load(stack), bits), (0, READ | WRITE | NO_EXECUTE));
    }
    assert_eq!(at(STACK_TOP - 17 * PAGE), None, "a page that faults is below the stack");
    assert_eq!(at(BOOT_INFO_ADDRESS).unwrap().1, READ | NO_EXECUTE);
    assert_eq!(at(IPC_BUFFER_ADDRESS).unwrap().1, READ | WRITE | NO_EXECUTE);
    assert_eq!(booted.leaves().len(), 2 + 1 + 4 + 8 + 16 + 2, "and nothing else is mapped");
}

#[test]
fn roots_thread_is_the_one_to_run() {
    let booted = booted();
    let (root, tcb) = (booted.k.current(), booted.k.get(booted.k.current()));
    assert_eq!(booted.cap(slot::TCB), Cap::Tcb(root));
    assert_eq!(tcb.thread_state(), ThreadState::Runnable);
    assert_eq!((tcb.priority.get(), tcb.max_priority.get(), tcb.prmd.get()), (255, 255, 7));
    assert_eq!(tcb.exit.get(), Exit::Full as u64);
    let registers = [register::PC, register::SP, register::A0].map(|number| tcb.registers[number].get());
    assert_eq!(registers, [ENTRY, STACK_TOP, BOOT_INFO_ADDRESS]);
    assert_eq!((tcb.cspace_size.get(), tcb.cspace_base.get()), (4096, booted.slot(0).raw()));
    let (buffer, _) = booted.page(IPC_BUFFER_ADDRESS).unwrap();
    assert_eq!(tcb.ipc_buffer.get(), PhysAddr(buffer).in_window().0);
    let context = booted.k.get(tcb.sched_context.get().unwrap());
    assert_eq!((context.budget.get(), context.period.get()), (1_000_000, 1_000_000));
    assert_eq!(context.thread.get(), Some(root));
    assert_eq!(booted.k.machine.space, (PhysAddr(booted.root_table()), HardwareAsid(1)));
    assert_eq!(booted.k.machine.deadline, Some(Ticks(1_000_000)), "its turn ends after 10 ms");
}

#[test]
fn slots_and_boot_information_agree() {
    let booted = booted();
    let info = booted.info();
    assert_eq!(info.magic, MAGIC);
    assert_eq!((info.cores, info.timer_hz, info.self_tests.physical_bits), (4, 100_000_000, 47));
    assert_eq!((info.rng_seed_bytes, &info.rng_seed[..33]), (32, &[&[9; 32][..], &[0]].concat()[..]));
    assert_eq!((info.initrd_address, info.initrd_bytes), (INITRD.start, INITRD.end - INITRD.start));
    let types: Vec<_> = (0..slot::FIRST_FREE).map(|number| booted.cap(number).object_type()).collect();
    let mut expected = vec![None; 16];
    for (number, object_type) in [
        (slot::TCB, ObjectType::Tcb),
        (slot::CNODE, ObjectType::CNode),
        (slot::VSPACE, ObjectType::VSpace),
        (slot::SCHED_CONTEXT, ObjectType::SchedContext),
        (slot::IPC_BUFFER, ObjectType::Frame),
        (slot::SCHED_CONTROL, ObjectType::SchedControl),
        (slot::ASID_CONTROL, ObjectType::AsidControl),
        (slot::ASID_POOL, ObjectType::AsidPool),
        (slot::IRQ_CONTROL, ObjectType::IrqControl),
        (slot::DEBUG, ObjectType::Debug),
        (slot::BOOT_INFO, ObjectType::Frame),
        (slot::HOST_CONTROL, ObjectType::HostControl),
    ] {
        expected[usize::try_from(number).unwrap()] = Some(object_type);
    }
    assert_eq!(types, expected);

    assert_eq!(info.archive_slots, SlotRange { start: 16, end: 24 });
    for (page, number) in (0..).zip(16..24) {
        let Cap::Frame(FrameCap { base, size_bits: 14, rights: Rights::READ, mapping, .. }) =
            booted.cap(number)
        else {
            panic!("slot {number} is no page")
        };
        assert_eq!(base.physical().0, ARCHIVE.start + page * PAGE);
        assert_eq!(mapping.unwrap().address.0, ARCHIVE_ADDRESS + page * PAGE);
    }
    let mut at = INITRD.start / PAGE * PAGE;
    for number in info.initrd_slots.start..info.initrd_slots.end {
        let Cap::Frame(frame) = booted.cap(number) else { panic!("slot {number} is no frame") };
        assert_eq!((frame.base.physical().0, frame.rights), (at, Rights::READ));
        at += 1 << frame.size_bits;
    }
    assert_eq!(at, INITRD.end.next_multiple_of(PAGE));

    let mut devices = Vec::new();
    for (number, description) in (info.untyped_slots.start..info.untyped_slots.end).zip(&info.untypeds) {
        let Cap::Untyped(untyped) = booted.cap(number) else { panic!("slot {number} is no Untyped") };
        assert_eq!(untyped.base.physical().0, description.physical_address);
        assert_eq!(u32::from(untyped.size_bits), description.size_bits);
        assert_eq!(untyped.is_device, description.is_device == 1);
        assert_eq!((untyped.free, untyped.clean_end), (0, 0));
        if untyped.is_device {
            devices.push((description.physical_address, description.size_bits));
        }
    }
    assert_eq!(devices, [(0x1fe0_0000, 14), (0x4000_0000, 30)]);
    assert_eq!(info.free_slots, SlotRange { start: info.untyped_slots.end, end: 4096 });
    assert_eq!(booted.cap(info.free_slots.start), Cap::Null);
}

#[test]
fn root_can_use_what_it_has() {
    let mut booted = booted();
    let info = booted.info();
    let (root, free) = (booted.k.current(), info.free_slots.start);
    let mut call = |target: u64, method: Method, caps: &[u64], words: &[u64]| {
        let tcb = booted.k.get(root);
        for (index, cap) in caps.iter().enumerate() {
            let place = core::mem::offset_of!(abi::IpcBuffer, caps) + index * 8;
            let buffer = microkernel::address::WindowAddr(tcb.ipc_buffer.get());
            booted.k.machine.store(buffer.offset(place as u64), *cap);
        }
        for (register, word) in REGISTERS.iter().zip(words) {
            tcb.registers[*register].set(*word);
        }
        let info = MessageInfo::new(method.label(), 8).with_caps(u8::try_from(caps.len()).unwrap());
        let slot = booted.slot(target);
        invoke(&mut booted.k, root, slot, info)
    };
    let largest =
        (0..).zip(&info.untypeds).max_by_key(|(_, untyped)| untyped.size_bits * (1 - untyped.is_device));
    let untyped = info.untyped_slots.start + largest.unwrap().0;
    let frame = ObjectType::Frame.raw();
    call(untyped, Method::UntypedRetype, &[slot::CNODE], &[frame, 14, 0, 0, free, 2]).unwrap();
    let place = TEXT + 16 * PAGE;
    call(free, Method::FrameMap, &[slot::VSPACE], &[place, 3, 1]).unwrap();
    call(info.archive_slots.start, Method::FrameUnmap, &[], &[]).unwrap();
    assert!(booted.page(place).is_some());
    assert_eq!(booted.page(ARCHIVE_ADDRESS), None, "the archive's capabilities know where it is mapped");
}

#[test]
fn a_start_that_cannot_be_says_why() {
    let tiny = [Range { start: FREE[1].start, end: FREE[1].start + 16 * PAGE }];
    assert!(matches!(start(&tiny, DATA), Err(BootError::OutOfMemory)));
    let overlapping = start(&FREE, ARCHIVE_ADDRESS - PAGE);
    assert!(matches!(overlapping, Err(BootError::Overlap(ARCHIVE_ADDRESS))));
    let ranges = vec![Range { start: MEMORY_BASE, end: MEMORY_BASE + PAGE }; 65];
    assert!(matches!(BootMemory::new(&ranges), Err(BootError::TooManyRanges)));
}
