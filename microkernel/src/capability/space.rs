//! How an address finds a slot.
