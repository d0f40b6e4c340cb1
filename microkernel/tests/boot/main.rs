//! Host tests of the core's boot: a mock is started, and what root has is compared with what there was.

#[cfg(test)]
mod archive;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod stories;
