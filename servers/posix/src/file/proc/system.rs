//! Files in /proc about the system.

use super::super::super::process::system as names;
use super::{System, Text};
use crate::address::PAGE_BYTES;
use crate::host::Host;
use crate::process::Status;
use crate::server::Server;
use core::fmt::Write;

const KIB: u64 = 1024;
/// A tick of what programs count time in (USER_HZ 100), in nanoseconds.
pub(super) const TICK_NS: u64 = 10_000_000;
const SECOND_NS: u64 = 1_000_000_000;

impl<H: Host> Server<H> {
    /// Writes a file about the system.
    pub(super) fn write_system(&mut self, system: System, text: &mut Text) {
        // Appending to bytes cannot fail.
        let _ = match system {
            System::Cpuinfo => self.write_cpuinfo(text),
            System::Cmdline => text.write_str("bixi\n"),
            System::Devices => text
                .write_str("Character devices:\n  1 mem\n  5 /dev/tty\n  5 /dev/console\n\nBlock devices:\n"),
            System::Filesystems => text.write_str("nodev\ttmpfs\nnodev\tproc\nnodev\tpipefs\n"),
            System::Loadavg => self.write_load(text),
            System::Meminfo => self.write_memory(text),
            System::Stat => self.write_time(text),
            System::Swaps => text.write_str("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"),
            System::Uptime => self.write_uptime(text),
            System::Version => {
                writeln!(text, "Linux version {} (bixi) {}", names::RELEASE, names::VERSION)
            }
            System::OsType => text.write_str("Linux\n"),
            System::OsRelease => writeln!(text, "{}", names::RELEASE),
            System::OsVersion => writeln!(text, "{}", names::VERSION),
            System::HostName => writeln!(text, "{}", names::NODE),
            System::DomainName => writeln!(text, "{}", names::DOMAIN),
            System::PidMax => text.write_str("32768\n"),
            System::ThreadsMax => writeln!(text, "{}", self.threads.most()),
            System::NgroupsMax => text.write_str("65536\n"),
            System::CapLastCap => text.write_str("40\n"),
            System::Overflow => text.write_str("65534\n"),
            System::BootId => {
                let id = *self.files.boot_id.get_or_insert_with(|| {
                    let mut id = [0; 16];
                    self.random.fill(&mut id);
                    id
                });
                write_uuid(text, id)
            }
            System::Uuid => {
                let mut id = [0; 16];
                self.random.fill(&mut id);
                write_uuid(text, id)
            }
            System::EntropyAvailable => text.write_str(if self.random.is_seeded() { "256\n" } else { "0\n" }),
            System::FileMax => text.write_str("65536\n"),
            System::NrOpen => text.write_str("1048576\n"),
            System::PipeMaxSize => text.write_str("1048576\n"),
            System::OvercommitMemory => text.write_str("0\n"),
            System::MaxMapCount => text.write_str("65530\n"),
        };
    }

    fn write_cpuinfo(&self, text: &mut Text) -> core::fmt::Result {
        let bits = self.host.hardware_capabilities();
        // HWCAP's bits of LoongArch and Linux's words for them, in Linux's order.
        let words =
            [(0, "cpucfg"), (1, "lam"), (2, "ual"), (3, "fpu"), (4, "lsx"), (5, "lasx"), (6, "crc32")];
        write!(
            text,
            "system type\t\t: generic-loongson-machine\n\nprocessor\t\t: 0\npackage\t\t\t: 0\ncore\t\t\t: 0\n\
             CPU Family\t\t: Loongson-64bit\nModel Name\t\t: Bixi\nAddress Sizes\t\t: 48 bits physical, 48 bits virtual\n\
             ISA\t\t\t: loongarch32 loongarch64\nFeatures\t\t:"
        )?;
        for (bit, word) in words {
            if bits & (1 << bit) != 0 {
                write!(text, " {word}")?;
            }
        }
        text.write_str("\n\n")
    }

    fn write_load(&self, text: &mut Text) -> core::fmt::Result {
        let running = self.running();
        let last = self.numbers.last().0;
        writeln!(text, "0.00 0.00 0.00 {running}/{} {last}", self.threads.len())
    }

    /// Threads that run or could.
    fn running(&self) -> usize {
        self.threads.iter().filter(|(_, thread)| thread.call.is_none()).count()
    }

    fn write_memory(&self, text: &mut Text) -> core::fmt::Result {
        let frames = &self.memory.frames;
        let (total, free) = (frames.total() * PAGE_BYTES / KIB, frames.free_count() * PAGE_BYTES / KIB);
        let cached = self.memory.objects.all_own_pages() * PAGE_BYTES / KIB;
        for (name, value) in [
            ("MemTotal:", total),
            ("MemFree:", free),
            ("MemAvailable:", free),
            ("Buffers:", 0),
            ("Cached:", cached),
            ("SwapCached:", 0),
            ("Active:", 0),
            ("Inactive:", 0),
            ("SwapTotal:", 0),
            ("SwapFree:", 0),
            ("Dirty:", 0),
            ("Shmem:", cached),
            ("Slab:", 0),
            ("SReclaimable:", 0),
            ("Committed_AS:", total - free),
        ] {
            writeln!(text, "{name:<16}{value:>8} kB")?;
        }
        Ok(())
    }

    fn write_time(&self, text: &mut Text) -> core::fmt::Result {
        let now = self.host.monotonic_ns();
        let busy: u64 = self.processes.iter().map(|(_, process)| process.cpu_ns).sum();
        let (busy, idle) = (busy / TICK_NS, now.saturating_sub(busy) / TICK_NS);
        for name in ["cpu ", "cpu0"] {
            writeln!(text, "{name} {busy} 0 0 {idle} 0 0 0 0 0 0")?;
        }
        let begun = self.host.realtime_offset_ns() / SECOND_NS;
        let (last, running) = (self.numbers.last().0, self.running());
        write!(
            text,
            "intr 0\nctxt 0\nbtime {begun}\nprocesses {last}\nprocs_running {running}\nprocs_blocked 0\n"
        )
    }

    fn write_uptime(&self, text: &mut Text) -> core::fmt::Result {
        let now = self.host.monotonic_ns();
        let living = |status: &Option<Status>| status.is_none();
        let busy: u64 =
            self.processes.iter().filter(|(_, p)| living(&p.status)).map(|(_, process)| process.cpu_ns).sum();
        let hundredths = |ns: u64| (ns / SECOND_NS, ns % SECOND_NS / TICK_NS);
        let ((up, up_part), (idle, idle_part)) = (hundredths(now), hundredths(now.saturating_sub(busy)));
        writeln!(text, "{up}.{up_part:02} {idle}.{idle_part:02}")
    }
}

/// A random number as RFC 4122's version 4 writes it.
fn write_uuid(text: &mut Text, id: [u8; 16]) -> core::fmt::Result {
    let number = u128::from_be_bytes(id);
    let number = number & !(0xf << 76 | 0b11 << 62) | (4 << 76) | (0b10 << 62);
    let part = |from: u32, bits: u32| number >> from & ((1 << bits) - 1);
    writeln!(
        text,
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        part(96, 32),
        part(80, 16),
        part(64, 16),
        part(48, 16),
        part(0, 48)
    )
}
