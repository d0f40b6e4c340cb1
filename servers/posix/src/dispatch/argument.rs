//! What the arguments of calls are: for the decoder of `--strace`, and for tests that make good and bad ones.

/// One argument.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Its name in the manual.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
}

/// What an argument is. Pointers say how much they point at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A descriptor.
    Fd,
    /// A descriptor of a directory, or AT_FDCWD.
    DirFd,
    /// A signed number.
    Int,
    /// An unsigned number.
    Uint,
    /// A size or offset of 64 bits.
    Size,
    /// Bits.
    Hex,
    /// A file mode.
    Octal,
    /// A clock.
    Clock,
    /// A signal's number.
    Signal,
    /// An address that the call does not look behind.
    Address,
    /// A path, read up to its zero.
    Path,
    /// So many bytes are read.
    In(u64),
    /// So many bytes are read, unless it is null.
    InOptional(u64),
    /// So many bytes are written.
    Out(u64),
    /// So many bytes are written, unless it is null.
    OutOptional(u64),
    /// An aligned word is read and perhaps written.
    Word,
    /// As many bytes are read as the argument of that number says.
    BufferIn(u8),
    /// As many bytes are written as the argument of that number says.
    BufferOut(u8),
    /// As many `struct iovec` as the argument of that number says, whose bytes are read.
    VectorIn(u8),
    /// As many `struct iovec` as the argument of that number says, whose bytes are written.
    VectorOut(u8),
    /// A list of strings, ended by null.
    Strings,
}

impl Kind {
    /// Whether the call looks behind it.
    pub const fn is_pointer(self) -> bool {
        !matches!(
            self,
            Self::Fd
                | Self::DirFd
                | Self::Int
                | Self::Uint
                | Self::Size
                | Self::Hex
                | Self::Octal
                | Self::Clock
                | Self::Signal
                | Self::Address
        )
    }

    /// Whether the call writes behind it; of a vector of buffers only the buffers are written.
    pub const fn is_written(self) -> bool {
        matches!(self, Self::Out(_) | Self::OutOptional(_) | Self::BufferOut(_))
    }

    /// Whether null is none rather than a bad address.
    pub const fn is_optional(self) -> bool {
        matches!(self, Self::InOptional(_) | Self::OutOptional(_))
    }
}
