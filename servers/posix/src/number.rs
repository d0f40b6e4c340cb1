//! Conversions between the widths that the ABI and Rust's containers use, none of which loses a bit.

const _: () =
    assert!(usize::BITS == 64, "addresses and lengths are 64 bits wide on every machine this runs on");

/// A length or index from a register.
#[expect(clippy::cast_possible_truncation, reason = "usize has 64 bits, asserted above")]
pub const fn to_usize(value: u64) -> usize {
    value as usize
}

/// A length or index as a register's value.
pub const fn to_u64(value: usize) -> u64 {
    value as u64
}

/// A 32-bit index into a table.
pub const fn index(value: u32) -> usize {
    value as usize
}

/// The low 32 bits of a register: how Linux reads an `int` or `unsigned int` argument.
#[expect(clippy::cast_possible_truncation, reason = "Linux ignores an int argument's upper half")]
pub const fn low_u32(value: u64) -> u32 {
    value as u32
}

/// The low 32 bits of a register as a signed number.
pub const fn low_i32(value: u64) -> i32 {
    low_u32(value).cast_signed()
}
