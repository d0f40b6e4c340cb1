//! What kinds of characters there are: Latin-1's, as Linux's terminals take them.

/// Whether it is a control character.
pub(super) const fn is_control(character: u8) -> bool {
    character.is_ascii_control()
}

/// Whether it is a letter or a digit, for erasing words.
pub(super) const fn is_word(character: u8) -> bool {
    character.is_ascii_digit() || character == b'_' || is_upper(character) || is_lower(character)
}

/// Whether it is not the first byte of a character in UTF-8.
pub(super) const fn continues(character: u8) -> bool {
    character & 0xc0 == 0x80
}

/// In upper case.
pub(super) const fn to_upper(character: u8) -> u8 {
    if is_lower(character) { character - 0x20 } else { character }
}

/// In lower case.
pub(super) const fn to_lower(character: u8) -> u8 {
    if is_upper(character) { character + 0x20 } else { character }
}

const fn is_upper(character: u8) -> bool {
    character.is_ascii_uppercase() || matches!(character, 0xc0..=0xde if character != 0xd7)
}

const fn is_lower(character: u8) -> bool {
    character.is_ascii_lowercase() || matches!(character, 0xdf..=0xff if character != 0xf7)
}
