//! Amounts of memory: "16MiB" in a description, "16 MiB" in a message.

const UNITS: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// Reads a whole number with a unit, or answers what is wrong with it.
pub(super) fn read_bytes(text: &str) -> Result<u64, &'static str> {
    let (digits, factor) = UNITS
        .into_iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))
        .ok_or("has no unit")?;
    let number: u64 = digits.trim_end().parse().map_err(|_| "is not a whole number with a unit")?;
    number.checked_mul(factor).ok_or("is too large")
}

/// An amount as people read it: in the largest unit in which it has at most two decimals.
pub(crate) fn show_bytes(bytes: u64) -> String {
    for (unit, factor) in UNITS {
        if bytes >= factor && bytes.is_multiple_of(factor) {
            return format!("{} {unit}", bytes / factor);
        }
        if bytes >= factor && factor > 1 {
            let hundredths = u128::from(bytes) * 100 / u128::from(factor);
            return format!("{}.{:02} {unit}", hundredths / 100, hundredths % 100);
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests {
    use super::{read_bytes, show_bytes};

    #[test]
    fn amounts_are_read() {
        assert_eq!(read_bytes("16MiB"), Ok(16 << 20));
        assert_eq!(read_bytes("16 KiB"), Ok(16 << 10));
        assert_eq!(read_bytes("0B"), Ok(0));
        assert_eq!(read_bytes("16"), Err("has no unit"));
        assert_eq!(read_bytes("16MB"), Err("is not a whole number with a unit"));
        assert_eq!(read_bytes("-1MiB"), Err("is not a whole number with a unit"));
        assert_eq!(read_bytes("99999999999GiB"), Err("is too large"));
    }

    #[test]
    fn amounts_are_shown() {
        assert_eq!(show_bytes(0), "0 B");
        assert_eq!(show_bytes(512 << 20), "512 MiB");
        assert_eq!(show_bytes((1 << 20) + (1 << 19)), "1.50 MiB");
        assert_eq!(show_bytes(u64::MAX), "17179869183.99 GiB");
    }
}
