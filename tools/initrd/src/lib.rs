//! Makes what a guest is handed beside its image: files, and what is to be done with them.
//!
//! Reading order: [`tree`] (a root file system of packages, folders and single files), [`root`] (what is always in
//! it), [`busybox`] (which commands its busybox has), [`program`] (whether a file is a program that the guest can
//! run), [`job`] (what is run), [`cpio`] (the archive that all of it travels in).

pub mod busybox;
pub mod cpio;
pub mod job;
pub mod program;
pub mod root;
pub mod tree;
