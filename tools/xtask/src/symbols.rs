//! Owns giving names to the addresses of a kernel's crash report.
//!
//! The kernel prints addresses as they are in its ELF file (it is linked at 0), one `  at 0x…` line a frame.

use std::path::Path;

use addr2line::Loader;
use addr2line::fallible_iterator::FallibleIterator as _;

/// Adds function, file and line to each frame of a crash report; anything else stays as it is.
pub(crate) fn name_addresses(log: &str, kernel: &Path) -> String {
    if !log.lines().any(|line| frame_address(line).is_some()) {
        return log.to_owned();
    }
    let Ok(symbols) = Loader::new(kernel) else { return log.to_owned() };
    let named = log.lines().map(|line| match frame_address(line) {
        Some(address) => format!("{line}{}", names(&symbols, address)),
        None => line.to_owned(),
    });
    named.collect::<Vec<_>>().join("\n")
}

/// Returns the function that an address of the kernel's file lies in.
pub(crate) fn function_at(symbols: &Loader, address: u64) -> Option<String> {
    let mut frames = symbols.find_frames(address).ok()?;
    let frame = frames.next().ok()??;
    let name = frame.function.and_then(|function| function.demangle().ok().map(|name| name.into_owned()));
    name.or_else(|| {
        symbols.find_symbol(address).map(|name| addr2line::demangle_auto(name.into(), None).into_owned())
    })
}

/// Reads `  at 0x1234`.
fn frame_address(line: &str) -> Option<u64> {
    let digits = line.trim_end().strip_prefix("  at 0x")?;
    u64::from_str_radix(digits, 16).ok()
}

/// Writes the functions at an address, the innermost first: one that was inlined stands before who took it in.
fn names(symbols: &Loader, address: u64) -> String {
    let Ok(frames) = symbols.find_frames(address) else { return String::new() };
    let of_frame = |frame: addr2line::Frame<'_, _>| {
        let name = frame.function.and_then(|function| function.demangle().ok().map(|name| name.into_owned()));
        let place =
            frame.location.and_then(|place| Some(format!(" ({}:{})", short(place.file?), place.line?)));
        Ok(format!(" {}{}", name.unwrap_or_default(), place.unwrap_or_default()))
    };
    let named: Vec<String> = frames.map(of_frame).collect().unwrap_or_default();
    let named: Vec<String> = named.into_iter().filter(|text| text.trim() != "").collect();
    if !named.is_empty() {
        return named.join("\n      inlined in");
    }
    // Assembly has no debug information, but its symbols have names.
    symbols.find_symbol(address).map(|name| format!(" {name}")).unwrap_or_default()
}

/// Shows a path from the folder of the source tree on; the rest is the same for all of them.
fn short(file: &str) -> &str {
    let folders = ["microkernel/src/", "servers/", "library/"];
    folders.iter().find_map(|folder| file.find(folder).and_then(|place| file.get(place..))).unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        use object::{Object as _, ObjectSymbol as _};
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
        assert!(function_at(&Loader::new(&own).unwrap(), address).unwrap().ends_with("marker"));
    }

    #[test]
    fn a_log_without_frames_or_a_kernel_without_file_changes_nothing() {
        assert_eq!(name_addresses("a\nb\n", Path::new("/nonexistent")), "a\nb\n");
        assert_eq!(name_addresses("  at 0x10", Path::new("/nonexistent")), "  at 0x10");
    }
}
