//! Owns the profile of a benchmark: how often each instruction was executed, with the kernel's functions by name.

use std::collections::BTreeMap;
use std::path::Path;

use counter::class::Class;
use miette::{IntoDiagnostic, Result, WrapErr};

use crate::build::Image;
use crate::symbols::Symbols;

/// Writes `label address count function`, summed over all samples of a label, in the order of addresses.
pub(crate) fn write(histogram: &Path, image: &Image, to: &Path) -> Result<()> {
    let text =
        std::fs::read_to_string(histogram).into_diagnostic().wrap_err("the counter wrote no histogram")?;
    let kernel = std::fs::read(&image.kernel).into_diagnostic().wrap_err("cannot read the kernel")?;
    let symbols = Symbols::of(&kernel)?;
    let mut lines = String::new();
    for ((label, address), count) in sums(&text) {
        let linked = address.wrapping_sub(image.load_address.in_window());
        let function = match Class::of(address) {
            Class::Kernel => symbols.function(linked).unwrap_or_default(),
            Class::Physical => "(TLB refill)".to_owned(),
            Class::Host | Class::User => String::new(),
        };
        lines += &format!("{label} {address:#x} {count} {function}\n");
    }
    std::fs::write(to, lines).into_diagnostic().wrap_err_with(|| format!("cannot write {}", to.display()))
}

/// Adds up the counter's lines, `label address count`.
fn sums(text: &str) -> BTreeMap<(String, u64), u64> {
    let mut sums = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let (Some(label), Some(address), Some(count)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let (Ok(address), Ok(count)) = (u64::from_str_radix(address, 16), count.parse::<u64>()) else {
            continue;
        };
        *sums.entry((label.to_owned(), address)).or_default() += count;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_a_label_are_added_up_by_address() {
        let sums = sums("rt0 900000000020a000 2\nrt0 120000000 1\nrt0 900000000020a000 3\nrt4 120000000 1\n");
        let rows: Vec<_> = sums.iter().map(|((label, pc), n)| (label.as_str(), *pc, *n)).collect();
        assert_eq!(
            rows,
            [("rt0", 0x1_2000_0000, 1), ("rt0", 0x9000_0000_0020_a000, 5), ("rt4", 0x1_2000_0000, 1)]
        );
    }
}
