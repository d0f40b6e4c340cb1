//! How a story ends when it does not pass.

use core::fmt::{self, Write};
use core::panic::Location;

use heapless::String;
use runtime::{Error, InvocationError};

/// A story's end that is not its happy one.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The machine or the kernel lacks what it is about.
    Skipped(&'static str),
    /// A check did not hold.
    Failed {
        /// Where, and what was seen.
        reason: String<240>,
    },
}

/// What a story answers.
pub(crate) type Outcome = Result<(), Failure>;

impl Failure {
    /// A check that did not hold.
    #[track_caller]
    pub(crate) fn new(what: fmt::Arguments<'_>) -> Self {
        let place = Location::caller();
        let file = place.file().rsplit('/').next().unwrap_or_default();
        let mut reason = String::new();
        // What does not fit is cut off.
        let _ = write!(reason, "{file}:{}: {what}", place.line());
        Self::Failed { reason }
    }
}

impl From<InvocationError> for Failure {
    #[track_caller]
    fn from(refusal: InvocationError) -> Self {
        Self::new(format_args!("the kernel refused: {refusal}"))
    }
}

impl From<Error> for Failure {
    #[track_caller]
    fn from(error: Error) -> Self {
        Self::new(format_args!("the kernel refused: {error:?}"))
    }
}

/// Fails unless both are equal.
#[track_caller]
pub(crate) fn equal<T: PartialEq + fmt::Debug>(what: &str, seen: T, wanted: T) -> Outcome {
    if seen == wanted { Ok(()) } else { Err(Failure::new(format_args!("{what}: {seen:?}, not {wanted:?}"))) }
}

/// Fails unless the condition holds.
#[track_caller]
pub(crate) fn holds(what: &str, condition: bool) -> Outcome {
    if condition { Ok(()) } else { Err(Failure::new(format_args!("not so: {what}"))) }
}

/// Fails unless the kernel refused with this error.
#[track_caller]
pub(crate) fn refused<T: fmt::Debug>(what: &str, seen: Result<T, InvocationError>, wanted: Error) -> Outcome {
    match seen {
        Err(refusal) if refusal.error == wanted => Ok(()),
        Err(refusal) => Err(Failure::new(format_args!("{what}: refused with {refusal}, not {wanted:?}"))),
        Ok(value) => Err(Failure::new(format_args!("{what}: answered {value:?}, not {wanted:?}"))),
    }
}
