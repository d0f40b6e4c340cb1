//! The errors of the description's reader.

use core::fmt;

/// Which table an error is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Part {
    /// The servers.
    Server,
    /// The channels between servers.
    Channel,
    /// The devices given to servers.
    Device,
    /// The servers' arguments.
    Argument,
}

impl Part {
    /// The word for one record of the table.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Channel => "channel",
            Self::Device => "device",
            Self::Argument => "argument",
        }
    }
}

/// Which rule of the layout a compiled description breaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum DescriptionError {
    /// There are fewer bytes than the header or the stated size need.
    Truncated,
    /// The first word is not [`DESCRIPTION_MAGIC`](super::DESCRIPTION_MAGIC).
    BadMagic,
    /// A layout that this reader does not know.
    BadVersion(u32),
    /// The system's name is no name.
    SystemName,
    /// A table lies outside the description.
    Table(Part),
    /// A table has more records than a system may have.
    TooMany(Part),
    /// Record n of a table: this field has no permitted value.
    Record(Part, usize, &'static str),
    /// Record n of a table: its name, interrupt or address is taken by an earlier one.
    Twice(Part, usize),
    /// Record n of the servers is a second host.
    TwoHosts(usize),
}

impl fmt::Display for DescriptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("description: ")?;
        match self {
            Self::Truncated => f.write_str("truncated"),
            Self::BadMagic => f.write_str("does not begin with BIXIDESC"),
            Self::BadVersion(version) => write!(f, "unknown version {version}"),
            Self::SystemName => f.write_str("malformed name of the system"),
            Self::Table(part) => write!(f, "table of {}s lies outside", part.word()),
            Self::TooMany(part) => write!(f, "too many {}s", part.word()),
            Self::Record(part, index, field) => {
                write!(f, "{} {index}: no permitted value of `{field}`", part.word())
            }
            Self::Twice(part, index) => {
                write!(f, "{} {index}: name, interrupt or address taken by an earlier one", part.word())
            }
            Self::TwoHosts(index) => write!(f, "server {index}: another host, and there can be one"),
        }
    }
}

impl core::error::Error for DescriptionError {}
