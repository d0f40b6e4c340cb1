//! A server's first instruction, and how it becomes a call of its `main`.
//!
//! Root starts a server with `$a0` = the address of its [`abi::server::ServerInfo`], `$sp` at the top of its
//! stack and `$tp` at its IPC buffer; the kernel starts root likewise, with its boot information and without
//! `$tp`. The BSS is zero, and there is nothing else to set up.

#![cfg_attr(target_os = "none", expect(unsafe_code, reason = "the first instruction"))]

/// Makes `main(server: Server) -> u8` the server's beginning; what it answers is the server's status.
///
/// A panic becomes the server's last words to root ([`crate::panic`]).
#[macro_export]
macro_rules! server_main {
    ($main:path) => {
        #[cfg(target_os = "none")]
        #[panic_handler]
        fn panic(information: &core::panic::PanicInfo<'_>) -> ! {
            $crate::panic::last_words(format_args!("{information}"))
        }

        #[expect(unsafe_code, reason = "the entry point calls it by name")]
        #[unsafe(no_mangle)]
        extern "C" fn bixi_server_main(argument: u64) -> ! {
            let main: fn($crate::server::Server) -> u8 = $main;
            match $crate::server::Server::at_start(argument) {
                Some(server) => $crate::server::exit(main(server)),
                None => $crate::panic::last_words(format_args!("no server information at {argument:#x}")),
            }
        }
    };
}

/// Makes `main(argument: u64) -> !` root's beginning, and `panicked` what its panics become: it has no parent.
#[macro_export]
macro_rules! root_main {
    ($main:path, $panicked:path) => {
        #[cfg(target_os = "none")]
        #[panic_handler]
        fn panic(information: &core::panic::PanicInfo<'_>) -> ! {
            let panicked: fn(core::fmt::Arguments<'_>) -> ! = $panicked;
            panicked(format_args!("{information}"))
        }

        #[expect(unsafe_code, reason = "the entry point calls it by name")]
        #[unsafe(no_mangle)]
        extern "C" fn bixi_server_main(argument: u64) -> ! {
            let main: fn(u64) -> ! = $main;
            main(argument)
        }
    };
}

#[cfg(target_os = "none")]
core::arch::global_asm!(
    ".pushsection .text.bixi_start, \"ax\", @progbits",
    ".globl _start",
    "_start:",
    // A backtrace ends where both are zero.
    "move $ra, $zero",
    "move $fp, $zero",
    "b bixi_server_main",
    ".popsection",
);
