//! Why an operation of the core did not complete: a named error with details, or preemption.

use abi::Error;

/// What stands in the answer's words 0 and 1 when the kernel refuses (C-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The named error.
    pub error: Error,
    /// Which argument, by its index in the method's row, capabilities first.
    pub argument: u64,
    /// Bits of a lookup that were left, or the limit that was passed.
    pub detail: u64,
}

/// Why an operation stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Refused; nothing was changed.
    Refused(Refusal),
    /// An interrupt is pending; the call is made again from its beginning and finds its progress (C-3).
    Preempted,
}

impl Failure {
    /// Refused with `error`, about no argument in particular.
    pub const fn new(error: Error) -> Self {
        Self::about(error, 0, 0)
    }

    /// Refused because of `argument`; `detail` as the error's meaning says.
    pub const fn about(error: Error, argument: u64, detail: u64) -> Self {
        Self::Refused(Refusal { error, argument, detail })
    }

    /// The same refusal said of another argument.
    pub const fn of_argument(self, argument: u64) -> Self {
        match self {
            Self::Refused(refusal) => Self::Refused(Refusal { argument, ..refusal }),
            Self::Preempted => Self::Preempted,
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self { error, argument: 0, detail: 0 }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(error)
    }
}
