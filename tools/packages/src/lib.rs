//! Takes Debian's packages: for this machine, and unpacked for LoongArch, from the mirror that its apt uses.
//!
//! Reading order: [`shell`] (how other programs are started), [`say`] (what is told), [`host`] (what may be done to this machine),
//! [`apt_source`] (which mirror it uses), [`apt`] (an apt with a state of its own), [`loong64`] (packages unpacked for
//! LoongArch), [`compiler`] (C programs for it).
//!
//! Nothing here runs a package command unless something is missing, and the user's apt stays as it is.

#![deny(clippy::print_stdout, clippy::print_stderr, reason = "they panic where nobody reads: `say`")]

pub mod apt;
mod apt_source;
pub mod compiler;
pub mod host;
pub mod loong64;
pub mod progress;
pub mod say;
pub mod shell;
#[cfg(any(test, feature = "stand-in"))]
pub mod stand_in;
pub mod version;
