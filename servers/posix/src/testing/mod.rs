//! What the tests of several modules share: files, programs, and a stand-in for the processor.

pub(crate) mod archive;
pub(crate) mod driver;
pub(crate) mod program;
