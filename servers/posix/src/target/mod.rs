//! On the machine: the host's entries, and what its ground is made of.

#![expect(unsafe_code, reason = "the memory that root has mapped is touched to see that it is there")]

use core::fmt;

use abi::upper::{HostInfo, Mapped};
use runtime::host::Next;
use runtime::server::{Server, shut_down};

runtime::host_main!(main);

runtime::host_entries! {
    fault: stopped,
    interrupted: stopped,
    attention: attention,
    resolve: resolve,
    refused: refused,
}

fn main(server: Server, host: &'static HostInfo) -> ! {
    let Some(mut console) = server.console() else { panicked(format_args!("no channel to the console")) };
    let slots = |range: abi::boot_info::SlotRange| range.end - range.start;
    console.log(format_args!(
        "{server}: {} contexts, {} spaces, {} page tables, {} windows",
        host.contexts,
        slots(host.spaces),
        slots(host.tables),
        host.window_count
    ));
    let windows = usize::try_from(host.window_count).ok().and_then(|count| host.windows.get(..count));
    for window in windows.unwrap_or_default().iter().chain([&host.heap]) {
        touch(window);
        console.log(format_args!("{server}: {:#x} bytes at {:#x}", window.bytes, window.address));
    }
    console.log(format_args!("{server}: initrd {:#x} bytes", host.initrd.bytes));
    for argument in server.arguments() {
        console.log(format_args!("{server}: argument `{argument}`"));
    }
    console.flush();
    shut_down(0)
}

/// Writes and reads the first and last words of a range, which is mapped if this does not fault.
fn touch(range: &Mapped) {
    let last = range.bytes.checked_sub(8).map(|offset| range.address + offset);
    for address in [Some(range.address), last].into_iter().flatten() {
        let word = core::ptr::with_exposed_provenance_mut::<u64>(usize::try_from(address).unwrap_or(0));
        // SAFETY: root maps the range for the host alone, and nothing was put into it.
        unsafe { word.write_volatile(0) };
    }
}

extern "C" fn stopped() -> Next {
    panicked(format_args!("no program runs here"))
}

extern "C" fn attention(_result: u64) -> Next {
    stopped()
}

extern "C" fn resolve(_pc: u64, address: u64, _access: u64, _cause: u64) -> u64 {
    panicked(format_args!("no program's memory is touched here: {address:#x}"))
}

extern "C" fn refused(information: u64) -> ! {
    panicked(format_args!("the kernel refused: {information:#x}"))
}

fn panicked(what: fmt::Arguments<'_>) -> ! {
    runtime::panic::last_words(what)
}
