//! Decoding and invoking.
