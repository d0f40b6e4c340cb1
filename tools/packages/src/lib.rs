//! Takes Debian's packages: for this machine, and unpacked for LoongArch, from the mirror that its apt uses.
//!
//! Reading order: [`shell`] (how other programs are started), [`host`] (what may be done to this machine),
//! [`apt_source`] (which mirror it uses), [`apt`] (an apt with a state of its own).
//!
//! Nothing here runs a package command unless something is missing, and the user's apt stays as it is.

pub mod apt;
mod apt_source;
pub mod host;
pub mod progress;
pub mod shell;
pub mod version;
