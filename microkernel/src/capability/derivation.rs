//! How capabilities derive from each other.
