//! Owns what is started: the machine's parts as QEMU's command line names them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::emulator::{Acceleration, Emulator};
use crate::initrd;
use crate::lines::Line;

/// Counting of executed instructions.
#[derive(Clone, Debug)]
pub struct Counting {
    /// The counter, a shared library.
    pub plugin: PathBuf,
    /// The file that it adds one line a pair of marks to.
    pub output: PathBuf,
    /// The file for a profile by address, if one is wanted; it costs time.
    pub histogram: Option<PathBuf>,
}

/// Memory is added in steps, so that a few bytes more or less in a file change nothing for the guest.
const MEMORY_STEP_MIB: u64 = 64;

/// A machine to run.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The bootable image: an ELF file, or Linux's kernel as an EFI program.
    pub image: PathBuf,
    /// The kernel's command line; Bixi reads none, Linux does.
    pub command_line: Option<String>,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Files to hand to the guest.
    pub initrd: Option<PathBuf>,
    /// Count what is executed; makes time, too, the same in every run. Such a machine gets no input, and what it prints
    /// is heard when it has ended.
    pub counting: Option<Counting>,
    /// How long the guest may take, in the user's time; [`Duration::MAX`] for as long as it likes.
    pub timeout: Duration,
}

impl Machine {
    /// Returns a machine with 1 GiB of memory that may run for a minute.
    #[must_use]
    pub fn new(image: impl Into<PathBuf>) -> Self {
        Self {
            image: image.into(),
            command_line: None,
            memory_mib: 1024,
            initrd: None,
            counting: None,
            timeout: Duration::from_secs(60),
        }
    }

    /// Hands a file to the guest, and gives the machine so much more memory that the guest has what it had, and that
    /// QEMU places the file. A large file needs an image that is loaded at [`initrd::load_address`].
    pub fn add_initrd(&mut self, initrd: &Path) {
        let bytes = initrd.metadata().map_or(0, |data| data.len());
        let more = bytes.div_ceil(1 << 20).next_multiple_of(MEMORY_STEP_MIB);
        let least = if initrd::load_address(bytes).is_some() {
            initrd::least_memory_mib(&self.image, bytes).next_multiple_of(MEMORY_STEP_MIB)
        } else {
            0
        };
        self.memory_mib = (self.memory_mib + more).max(least);
        self.initrd = Some(initrd.to_path_buf());
    }

    /// Returns QEMU's command line, to be shown: the sockets' folder is made new for each run.
    #[must_use]
    pub fn command(&self, emulator: &Emulator) -> Command {
        let mut command = Command::new(&emulator.program);
        command.args(self.arguments(emulator, Path::new("SOCKETS")));
        command
    }

    /// Returns QEMU's arguments; the serial lines connect to sockets in the given folder, or are files there.
    pub(crate) fn arguments(&self, emulator: &Emulator, folder: &Path) -> Vec<OsString> {
        let mut arguments = Arguments::default();
        arguments.add("-machine", "virt");
        // Nothing but what is named here: no network card, no monitor on a line.
        arguments.flag("-nodefaults").flag("-no-user-config").flag("-no-reboot");
        arguments.add("-display", "none").add("-m", format!("{}M", self.memory_mib));
        self.add_execution(emulator, &mut arguments);
        let kind = if self.counting.is_some() { "file" } else { "socket" };
        for line in Line::ALL {
            let path = doubled_commas(&line.place(folder));
            let name = line.name();
            arguments.add("-chardev", with_path(&format!("{kind},id={name},path="), &path, ""));
            arguments.add("-serial", format!("chardev:{name}"));
        }
        arguments.add("-kernel", self.image.as_os_str());
        if let Some(initrd) = &self.initrd {
            arguments.add("-initrd", initrd.as_os_str());
        }
        if let Some(command_line) = &self.command_line {
            arguments.add("-append", command_line);
        }
        arguments.0
    }

    fn add_execution(&self, emulator: &Emulator, arguments: &mut Arguments) {
        match (&self.counting, emulator.acceleration) {
            (Some(counting), _) => {
                // One instruction a translation block and virtual time by instructions: equal counts in every run.
                arguments.add("-cpu", "la464").add("-accel", "tcg,one-insn-per-tb=on");
                arguments.add("-icount", "shift=0,sleep=off");
                // The same seed and the same time of day, too.
                arguments.add("-seed", "1").add("-rtc", "base=2026-01-01T00:00:00,clock=vm");
                let plugin = doubled_commas(&counting.plugin);
                let mut option = with_path("", &plugin, ",out=");
                option.push(doubled_commas(&counting.output));
                if let Some(histogram) = &counting.histogram {
                    option.push(",hist=");
                    option.push(doubled_commas(histogram));
                }
                arguments.add("-plugin", option);
            }
            (None, Acceleration::Kvm) => {
                arguments.add("-cpu", "host").add("-accel", "kvm");
            }
            (None, Acceleration::Tcg) => {
                arguments.add("-cpu", "la464").add("-accel", "tcg");
            }
        }
    }
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn flag(&mut self, name: &str) -> &mut Self {
        self.0.push(name.into());
        self
    }

    fn add(&mut self, name: &str, value: impl Into<OsString>) -> &mut Self {
        self.0.push(name.into());
        self.0.push(value.into());
        self
    }
}

fn with_path(before: &str, path: &OsString, after: &str) -> OsString {
    let mut text = OsString::from(before);
    text.push(path);
    text.push(after);
    text
}

/// Writes a path as a value in QEMU's lists, where a comma ends a value unless it is doubled.
fn doubled_commas(path: &Path) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let double = |&byte: &u8| if byte == b',' { vec![b',', b','] } else { vec![byte] };
    OsString::from_vec(path.as_os_str().as_bytes().iter().flat_map(double).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(machine: &Machine) -> String {
        let emulator = Emulator { program: "qemu".into(), acceleration: Acceleration::Tcg };
        let words = machine.arguments(&emulator, Path::new("/s"));
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_four_lines_are_in_their_order() {
        let line = arguments(&Machine::new("kernel.elf"));
        let places: Vec<_> = ["log", "output", "errors", "control"]
            .iter()
            .map(|n| line.find(&format!("chardev:{n}")))
            .collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{line}");
        assert!(line.contains("-accel tcg -chardev") && line.ends_with("-kernel kernel.elf"), "{line}");
    }

    #[test]
    fn counting_fixes_time_and_translation() {
        let mut machine = Machine::new("kernel.elf");
        machine.counting =
            Some(Counting { plugin: "/a,b/c.so".into(), output: "/o".into(), histogram: Some("/h".into()) });
        let line = arguments(&machine);
        assert!(
            line.contains("-accel tcg,one-insn-per-tb=on -icount shift=0,sleep=off -seed 1 -rtc"),
            "{line}"
        );
        assert!(line.contains("-plugin /a,,b/c.so,out=/o,hist=/h"), "{line}");
        assert!(line.contains("-chardev file,id=control,path=/s/control "), "{line}");
    }
}
