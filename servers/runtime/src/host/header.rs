//! How a host's image begins: the [`HostHeader`], the first instruction, and how it becomes a call of `main`.
//!
//! The header stands at the start of the text (`upper.ld` puts it there), so that root finds the start and the
//! four entries without symbols. Root starts the thread as [`abi::upper`] says; the BSS and the heap are zero.

use abi::upper::{HostInfo, INFO_MAGIC};

/// Reads what root mapped at `address`; None if it is not there.
#[expect(unsafe_code, reason = "information that root has mapped")]
pub fn information(address: u64) -> Option<&'static HostInfo> {
    let address = core::ptr::with_exposed_provenance_mut::<HostInfo>(usize::try_from(address).ok()?);
    let info = core::ptr::NonNull::new(address).filter(|info| info.is_aligned())?;
    // SAFETY: root maps the page read-only before the host starts and never changes it; any bytes are a value of
    // the type.
    let info = unsafe { info.as_ref() };
    (info.magic == INFO_MAGIC).then_some(info)
}

/// Makes `main(server: Server, host: &'static HostInfo) -> !` the host's beginning, beside one
/// [`crate::host_entries!`] in the same program, and its panics the host's last words to root.
///
/// A `main` that has a program to run ends in [`crate::host::calls::enter_full`]; at every entry after it the stack is
/// empty again.
#[macro_export]
macro_rules! host_main {
    ($main:path) => {
        #[cfg(target_os = "none")]
        #[panic_handler]
        fn panic(information: &core::panic::PanicInfo<'_>) -> ! {
            $crate::panic::last_words(format_args!("{information}"))
        }

        #[expect(unsafe_code, reason = "the entry point calls it by name")]
        #[unsafe(no_mangle)]
        extern "C" fn bixi_host_main(server: u64, host: u64) -> ! {
            let main: fn($crate::server::Server, &'static $crate::abi::upper::HostInfo) -> ! = $main;
            match ($crate::server::Server::at_start(server), $crate::host::header::information(host)) {
                (Some(server), Some(host)) => main(server, host),
                (None, _) => $crate::panic::last_words(format_args!("no server information at {server:#x}")),
                (_, None) => $crate::panic::last_words(format_args!("no host information at {host:#x}")),
            }
        }

        core::arch::global_asm!(
            ".pushsection .text.bixi_host_header, \"ax\", @progbits",
            ".globl bixi_host_header",
            "bixi_host_header:",
            ".dword {magic}",
            ".dword bixi_host_start",
            ".dword bixi_host_system_call",
            ".dword bixi_host_fault",
            ".dword bixi_host_interrupted",
            ".dword bixi_host_own_fault",
            ".globl bixi_host_start",
            "bixi_host_start:",
            // A backtrace ends where both are zero.
            "move $ra, $zero",
            "move $fp, $zero",
            "b bixi_host_main",
            ".popsection",
            magic = const $crate::abi::upper::HEADER_MAGIC,
        );
    };
}

/// The order of the words that [`crate::host_main!`] writes.
const _: () = {
    use abi::upper::HostHeader;
    use core::mem::offset_of;
    assert!(offset_of!(HostHeader, magic) == 0);
    assert!(offset_of!(HostHeader, start) == 8);
    assert!(offset_of!(HostHeader, system_call) == 16);
    assert!(offset_of!(HostHeader, fault) == 24);
    assert!(offset_of!(HostHeader, interrupted) == 32);
    assert!(offset_of!(HostHeader, own_fault) == 40);
    assert!(size_of::<HostHeader>() == 48);
};
