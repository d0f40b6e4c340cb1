//! Owns giving names to the addresses of a kernel's crash report and of a server's fault.
//!
//! The kernel prints addresses as they are in its ELF file (it is linked at 0), one `  at 0x…` line a frame. Its debug
//! information is read as it stands: the file carries relocations too, for the image tool, and they are applied already.

use std::path::Path;

use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use addr2line::{Context, Frame};
use miette::{IntoDiagnostic, Result};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
use rustc_demangle::demangle;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The names in an ELF file.
pub(crate) struct Symbols<'a> {
    lines: Context<Bytes<'a>>,
    /// Where each function or label of assembly begins, in ascending order.
    beginnings: Vec<(u64, String)>,
}

impl<'a> Symbols<'a> {
    /// Reads them from an ELF file's bytes.
    pub(crate) fn of(bytes: &'a [u8]) -> Result<Self> {
        let elf = object::File::parse(bytes).into_diagnostic()?;
        let section = |id: SectionId| -> Result<Bytes<'a>> {
            let found = elf.section_by_name(id.name());
            let data = found.map(|section| section.data()).transpose().into_diagnostic()?;
            Ok(EndianSlice::new(data.unwrap_or_default(), LittleEndian))
        };
        let lines = Context::from_dwarf(Dwarf::load(section)?).into_diagnostic()?;
        let named = |symbol: &object::Symbol<'_, '_>| {
            let name = symbol.name().ok().filter(|name| !name.is_empty() && !name.starts_with(".L"))?;
            symbol.section_index().map(|_| (symbol.address(), format!("{:#}", demangle(name))))
        };
        let mut beginnings: Vec<_> = elf.symbols().filter_map(|symbol| named(&symbol)).collect();
        beginnings.sort();
        Ok(Self { lines, beginnings })
    }

    /// Returns the function that an address lies in; of one that was taken into another, itself.
    pub(crate) fn function(&self, address: u64) -> Option<String> {
        self.frames(address).into_iter().find_map(|(name, _)| name).or_else(|| self.beginning(address))
    }

    /// Returns the functions at an address, each with its place: one that was inlined stands before who took it in.
    fn frames(&self, address: u64) -> Vec<(Option<String>, Option<String>)> {
        let Ok(mut frames) = self.lines.find_frames(address).skip_all_loads() else { return Vec::new() };
        let mut named = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            named.push((function_name(&frame), place(&frame)));
        }
        named
    }

    /// Returns the last name that begins at or before an address: assembly has no debug information.
    fn beginning(&self, address: u64) -> Option<String> {
        let after = self.beginnings.partition_point(|(beginning, _)| *beginning <= address);
        self.beginnings.get(after.checked_sub(1)?).map(|(_, name)| name.clone())
    }

    /// Writes all that is known of an address.
    fn describe(&self, address: u64) -> String {
        let frames = self.frames(address);
        if frames.is_empty() {
            return self.beginning(address).unwrap_or_default();
        }
        let texts = frames.into_iter().map(|(name, place)| {
            // Assembly, and what is compiled with line tables only, has a place and no name.
            let name = name.or_else(|| self.beginning(address)).unwrap_or_default();
            name + &place.map(|place| format!(" ({place})")).unwrap_or_default()
        });
        texts.collect::<Vec<_>>().join("\n      inlined in ")
    }
}

fn function_name(frame: &Frame<'_, Bytes<'_>>) -> Option<String> {
    let name = frame.function.as_ref()?.raw_name().ok()?;
    Some(format!("{:#}", demangle(&name)))
}

fn place(frame: &Frame<'_, Bytes<'_>>) -> Option<String> {
    let location = frame.location.as_ref()?;
    Some(format!("{}:{}", short(location.file?), location.line?))
}

/// Shows a path from the folder of the source tree on; the rest is the same for all of them.
fn short(file: &str) -> &str {
    let folders = ["microkernel/src/", "servers/", "library/"];
    folders.iter().find_map(|folder| file.find(folder).and_then(|place| file.get(place..))).unwrap_or(file)
}

/// Adds function, file and line to each frame of the kernel's crash report, and to what root says of a server's fault
/// if the server's program, which lies beside the kernel, is named as it is; anything else stays as it is.
pub(crate) fn name_addresses(log: &str, kernel: &Path) -> String {
    if !log.lines().any(|line| frame_address(line).is_some() || fault_address(line).is_some()) {
        return log.to_owned();
    }
    let named = log.lines().map(|line| {
        let place = frame_address(line).map(|address| (address, kernel.to_path_buf())).or_else(|| {
            let (server, address) = fault_address(line)?;
            Some((address, kernel.with_file_name(server)))
        });
        match place.and_then(|(address, file)| describe(&file, address)) {
            Some(description) => format!("{} {description}", line.trim_end()),
            None => line.to_owned(),
        }
    });
    named.collect::<Vec<_>>().join("\n")
}

/// All that an ELF file says of an address.
fn describe(file: &Path, address: u64) -> Option<String> {
    let bytes = std::fs::read(file).ok()?;
    let symbols = Symbols::of(&bytes).ok()?;
    Some(symbols.describe(address))
}

/// Reads `root: SERVER: … at pc 0x1234, …`.
fn fault_address(line: &str) -> Option<(&str, u64)> {
    let (server, rest) = line.strip_prefix("root: ")?.split_once(": ")?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let (_, digits) = rest.split_once(" at pc 0x")?;
    let (digits, _) = digits.split_once(',')?;
    let address = u64::from_str_radix(digits, 16).ok()?;
    server.bytes().all(is_name).then_some((server, address))
}

/// Reads `  at 0x1234`.
fn frame_address(line: &str) -> Option<u64> {
    let digits = line.trim_end().strip_prefix("  at 0x")?;
    u64::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_fault_has_its_name_and_its_address() {
        let line =
            "root: posix: page fault at pc 0xffff800000001234, address 0x0, cause 0x1, instruction 0x0";
        assert_eq!(fault_address(line), Some(("posix", 0xffff_8000_0000_1234)));
        assert_eq!(fault_address("root: ../posix: page fault at pc 0x1, address 0x0"), None);
        assert_eq!(fault_address("root: posix: panic: at pc 1, 2"), None);
        assert_eq!(fault_address("posix: page fault at pc 0x1, address 0x0"), None);
    }

    #[test]
    fn frames_are_the_indented_addresses() {
        assert_eq!(frame_address("  at 0x1a2c"), Some(0x1a2c));
        assert_eq!(frame_address("at 0x1a2c"), None);
        assert_eq!(frame_address("  at 0x"), None);
        assert_eq!(frame_address("PANIC: at 0x1"), None);
    }

    /// A function to be found in this test's own file.
    #[inline(never)]
    fn marker() -> u64 {
        std::hint::black_box(17)
    }

    #[test]
    fn a_frame_gets_the_name_of_its_function() {
        assert_eq!(marker(), 17);
        let own = std::env::current_exe().unwrap();
        let bytes = std::fs::read(&own).unwrap();
        let file = object::File::parse(bytes.as_slice()).unwrap();
        let is_marker =
            |name: &str| name.contains("symbols") && name.contains("tests") && name.contains("marker");
        let address = file.symbols().find(|symbol| symbol.name().is_ok_and(is_marker)).unwrap().address();
        let named = name_addresses(&format!("PANIC: test\n  at {address:#x}\nr0 0"), &own);
        assert!(named.contains("symbols::tests::marker (") && named.contains("symbols.rs:"), "{named}");
        assert!(named.starts_with("PANIC: test\n") && named.ends_with("\nr0 0"), "{named}");
        assert!(Symbols::of(&bytes).unwrap().function(address).unwrap().ends_with("marker"));
    }

    #[test]
    fn a_log_without_frames_or_a_kernel_without_file_changes_nothing() {
        assert_eq!(name_addresses("a\nb\n", Path::new("/nonexistent")), "a\nb\n");
        assert_eq!(name_addresses("  at 0x10", Path::new("/nonexistent")), "  at 0x10");
    }
}
