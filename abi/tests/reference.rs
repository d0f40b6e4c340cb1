//! Locks every number, size and offset of the ABI: `abi/REFERENCE.md` is written from the tables, and this
//! test fails when the two differ. `BIXI_UPDATE=1 cargo test -p abi` writes it anew.

use std::fmt::Write as _;
use std::mem::offset_of;

use abi::boot_info::{self, BootInfo, SelfTests, SlotRange, UntypedDescription};
use abi::context::{self, Context, Width};
use abi::mapping::{self, Access, MapEntry, Operation};
use abi::message::{self, IpcBuffer};
use abi::object::ObjectSize;
use abi::ring::{self, ConsoleEntry, RingHeader};
use abi::server::{self, ChannelGrant, DeviceGrant, ImageSegment, ServerInfo, UntypedGrant};
use abi::upper::{self, HostHeader, HostInfo, Mapped};
use abi::{Error, MessageInfo, ObjectType, Rights, Syscall};

macro_rules! syscall_rows {
    ($($name:ident = $number:literal, $doc:literal;)*) => { &[$((stringify!($name), $number, $doc)),*] };
}
macro_rules! fault_rows {
    ($($name:ident = $number:literal, $words:literal, $doc:literal;)*) => {
        &[$((stringify!($name), $number, $words, $doc)),*]
    };
}
macro_rules! object_rows {
    ($($name:ident = $number:literal, $size:ident $(($($arg:literal),*))?, $doc:literal;)*) => {
        &[$((ObjectType::$name, $doc)),*]
    };
}

const SYSCALLS: &[(&str, u64, &str)] = abi::for_each_syscall!(syscall_rows);
const FAULTS: &[(&str, u64, u8, &str)] = abi::for_each_fault!(fault_rows);
const OBJECTS: &[(ObjectType, &str)] = abi::for_each_object_type!(object_rows);

fn reference() -> Result<String, std::fmt::Error> {
    let mut text = String::from(
        "# The ABI\n\nWritten from the tables of this crate; `abi/tests/reference.rs` fails when they differ.\n",
    );
    let out = &mut text;
    calls(out)?;
    invocations(out)?;
    writeln!(out, "\n## Errors\n\n| label | error | meaning |\n| --- | --- | --- |")?;
    for error in Error::ALL {
        writeln!(out, "| {} | {error:?} | {} |", error.label(), error.meaning())?;
    }
    writeln!(out, "\n## Faults\n\n| label | fault | words | meaning |\n| --- | --- | --- | --- |")?;
    for (name, label, words, doc) in FAULTS {
        writeln!(out, "| {label} | {name} | {words} | {doc} |")?;
    }
    layouts(out)?;
    Ok(text)
}

fn calls(out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "\n## Calls (`syscall 0`, operation in `$a7`)\n\n| `$a7` | call | does |\n| --- | --- | --- |"
    )?;
    for (name, number, doc) in SYSCALLS {
        writeln!(out, "| {number} | {name} | {doc} |")?;
    }
    writeln!(out, "\nMessage words 0 to 7 travel in general registers {:?}.", message::REGISTERS)?;
    writeln!(
        out,
        "\n## Objects\n\n| type | object | size in bits of bytes | is |\n| --- | --- | --- | --- |"
    )?;
    for (object, doc) in OBJECTS {
        let size = match object.size() {
            ObjectSize::Fixed(bits) => bits.to_string(),
            ObjectSize::Variable(least, most) => format!("{least} to {most}"),
            ObjectSize::None => "not retyped".to_owned(),
        };
        writeln!(out, "| {} | {object:?} | {size} | {doc} |", object.raw())?;
    }
    let rights = [
        ("READ", Rights::READ),
        ("WRITE", Rights::WRITE),
        ("GRANT", Rights::GRANT),
        ("GRANT_REPLY", Rights::GRANT_REPLY),
    ];
    writeln!(out, "\nRights: {}.", rights.map(|(name, right)| format!("{name} {}", right.raw())).join(", "))
}

fn invocations(out: &mut String) -> std::fmt::Result {
    writeln!(out, "\n## Invocations (Call, method in the message's label)\n")?;
    writeln!(out, "| label | method | capabilities | words | answer | errors of its own | does |")?;
    writeln!(out, "| --- | --- | --- | --- | --- | --- | --- |")?;
    for row in abi::invocation::TABLE {
        let errors: Vec<_> = row.errors.iter().map(|error| format!("{error:?}")).collect();
        writeln!(
            out,
            "| {:#x} | {}{} | {} | {} | {} | {} | {} |",
            row.method.label(),
            row.name,
            if row.built { "" } else { " (not built yet)" },
            row.caps.join(", "),
            row.words.join(", "),
            row.values.join(", "),
            errors.join(", "),
            row.doc
        )?;
    }
    Ok(())
}

macro_rules! layout {
    ($out:ident, $type:ty, $($field:ident),*) => {
        writeln!($out, "| {} | {} | {} |", stringify!($type), size_of::<$type>(),
            [$((stringify!($field), offset_of!($type, $field))),*].map(|(name, at)| format!("{name} {at}")).join(", "))?;
    };
}

fn layouts(out: &mut String) -> std::fmt::Result {
    writeln!(out, "\n## Layouts\n\n| type | bytes | offsets |\n| --- | --- | --- |")?;
    layout!(out, IpcBuffer, words, caps, receive, local, list);
    layout!(
        out,
        BootInfo,
        magic,
        untyped_slots,
        archive_slots,
        initrd_slots,
        free_slots,
        archive_bytes,
        initrd_address,
        initrd_bytes,
        timer_hz,
        cores,
        rng_seed_bytes,
        rng_seed,
        self_tests,
        lost_bytes,
        untypeds
    );
    layout!(out, UntypedDescription, physical_address, size_bits, is_device);
    layout!(out, SlotRange, start, end);
    layout!(
        out,
        SelfTests,
        plv2_denied,
        canonical_checked,
        no_execute,
        no_read,
        restricted_plv,
        stlb_page_size,
        save_registers,
        physical_bits,
        hypervisor
    );
    layout!(
        out,
        Context,
        registers,
        flags,
        cause,
        fault_address,
        fault_instruction,
        vector_live,
        width,
        fcc,
        fcsr,
        vector
    );
    layout!(out, MapEntry, first, second);
    layout!(out, RingHeader, head, producer_sleeps, tail, consumer_sleeps);
    layout!(out, ConsoleEntry, line, length, text);
    writeln!(
        out,
        "\nHost: {} bytes a context. EnterFull: vector changed {}. Width: {}.",
        1 << context::ENTRY_BITS,
        context::enter::VECTOR_CHANGED,
        Width::ALL.map(|width| format!("{width:?} {}", width as u64)).join(", ")
    )?;
    let operations =
        [Operation::Map, Operation::Protect, Operation::Unmap].map(|it| format!("{it:?} {}", it as u64));
    let access =
        [("READ", Access::READ), ("READ_WRITE", Access::READ_WRITE), ("READ_EXECUTE", Access::READ_EXECUTE)];
    writeln!(
        out,
        "MapEntry: page 39:0, count 55:40, operation 57:56 ({}), access 60:58 ({}); page in the window 55:0, window 63:56. At most {} in a list; {} windows.",
        operations.join(", "),
        access.map(|(name, access)| format!("{name} {}", access.bits())).join(", "),
        mapping::MAX_ENTRIES,
        mapping::WINDOWS
    )?;
    writeln!(out, "Ring entries: {} bytes, {} of text.", ring::ENTRY_BYTES, ring::ENTRY_TEXT_BYTES)?;
    writeln!(
        out,
        "Root: boot information at {:#x}, IPC buffer at {:#x}, archive at {:#x}, stack below {:#x}, CNode of 2^{} slots.",
        boot_info::BOOT_INFO_ADDRESS,
        boot_info::IPC_BUFFER_ADDRESS,
        boot_info::ARCHIVE_ADDRESS,
        boot_info::STACK_TOP,
        boot_info::ROOT_CNODE_RADIX
    )?;
    server_layouts(out)
}

fn server_layouts(out: &mut String) -> std::fmt::Result {
    writeln!(out, "\n## What a server starts with\n\n| type | bytes | offsets |\n| --- | --- | --- |")?;
    layout!(
        out,
        ServerInfo,
        magic,
        name,
        restarts,
        free_slots,
        priority,
        timer_hz,
        self_tests,
        untyped_count,
        channel_count,
        device_count,
        segment_count,
        argument_bytes,
        untypeds,
        channels,
        devices,
        segments,
        arguments
    );
    layout!(out, UntypedGrant, slot, size_bits);
    layout!(out, ChannelGrant, name, peer, address, entries, signal_slot, end);
    layout!(out, DeviceGrant, name, address, bytes, irq_slot);
    layout!(out, ImageSegment, address, pages, first_slot, access);
    writeln!(
        out,
        "\nSlots beside root's own: {} the endpoint to root, {} the notification, {} the first that root fills as it needs.",
        server::slot::PARENT,
        server::slot::NOTIFICATION,
        server::slot::FIRST_FREE
    )?;
    writeln!(
        out,
        "Labels to root: {:#x} exit, {:#x} panic, {:#x} shut down. Badge bits: channels from 0, devices from {}, the server's own from {}.",
        server::parent::EXIT,
        server::parent::PANIC,
        server::parent::SHUT_DOWN,
        server::FIRST_DEVICE_BIT,
        server::FIRST_FREE_BIT
    )?;
    writeln!(
        out,
        "Addresses: information {:#x}, IPC buffer {:#x}, stack of {:#x} below {:#x}, devices {:#x}, rings {:#x} every {:#x}, free {:#x}.",
        server::SERVER_INFO_ADDRESS,
        server::IPC_BUFFER_ADDRESS,
        server::STACK_BYTES,
        server::STACK_TOP,
        server::DEVICES_ADDRESS,
        server::RINGS_ADDRESS,
        server::RING_STRIDE,
        server::FREE_ADDRESS
    )?;
    upper_layouts(out)
}

fn upper_layouts(out: &mut String) -> std::fmt::Result {
    writeln!(out, "\n## A host's upper half\n\n| type | bytes | offsets |\n| --- | --- | --- |")?;
    layout!(out, HostHeader, magic, start, system_call, fault, interrupted, own_fault);
    layout!(out, Mapped, address, bytes);
    layout!(
        out,
        HostInfo,
        magic,
        host_slot,
        timer_slot,
        timer_notification_slot,
        contexts,
        spaces,
        tables,
        window_count,
        windows,
        heap,
        initrd,
        realtime_offset_ns,
        seed_bytes,
        seed
    );
    writeln!(
        out,
        "\nAddresses: text {:#x}, read-only data {:#x}, data {:#x}, server information {:#x}, host information {:#x}, IPC buffer {:#x}, stack of {:#x} below {:#x}, contexts {:#x}, rings {:#x}, windows {:#x} every {:#x}, initrd {:#x}.",
        upper::TEXT,
        upper::RODATA,
        upper::DATA,
        upper::SERVER_INFO,
        upper::HOST_INFO,
        upper::IPC_BUFFER,
        upper::STACK_BYTES,
        upper::STACK_TOP,
        upper::CONTEXTS,
        upper::RINGS,
        upper::WINDOWS,
        upper::PART_BYTES,
        upper::INITRD
    )
}

#[test]
fn the_reference_is_what_the_tables_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/REFERENCE.md");
    let now = reference().unwrap();
    if std::env::var_os("BIXI_UPDATE").is_some() {
        std::fs::write(path, &now).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap();
    assert_eq!(now, written, "an ABI number changed; if it should, run BIXI_UPDATE=1 cargo test -p abi");
}

#[test]
fn numbers_are_used_once_and_lead_back() {
    for syscall in Syscall::ALL {
        assert_eq!(Syscall::from_raw(syscall.raw()), Some(*syscall));
    }
    for error in Error::ALL {
        assert_eq!(Error::from_label(error.label()), Some(*error));
    }
    for row in abi::invocation::TABLE {
        assert_eq!(abi::Method::from_label(row.method.label()), Some(row.method));
        assert_eq!(row.method.label() >> 8, row.object.raw(), "{}: the label names its object", row.name);
        assert!(row.caps.len() <= message::MAX_CAPS, "{}", row.name);
        assert!(row.built || row.errors == [Error::NotImplemented], "{}", row.name);
    }
    assert_eq!(Syscall::from_raw(0), None);
    assert_eq!(Error::from_label(0), None);
}

#[test]
fn message_information_keeps_its_parts() {
    let info = MessageInfo::new(0xffff_ffff_ffff, 120).with_caps(3).with_unwrapped(5);
    assert_eq!((info.label(), info.length(), info.caps(), info.unwrapped()), (0xffff_ffff_ffff, 120, 3, 5));
    assert!(!info.is_from_kernel());
    let kernel = MessageInfo::from_kernel(7, 2);
    assert!(kernel.is_from_kernel());
    assert!(!MessageInfo::from_sender(kernel.raw()).is_from_kernel(), "a sender cannot speak as the kernel");
    assert!(MessageInfo::new(5, 8).raw() & 0xffff < 9, "register messages pass the hot path's one test");
}
