//! How a check ends when it does not hold.

use core::fmt::{self, Write};
use core::panic::Location;

use heapless::String;
use runtime::InvocationError;

/// Its end.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What it is about was not given.
    Skipped(&'static str),
    /// Where it did not hold, and what was seen.
    Failed(String<104>),
}

impl Failure {
    /// It did not hold.
    #[track_caller]
    pub(crate) fn new(what: fmt::Arguments<'_>) -> Self {
        let place = Location::caller();
        let mut reason = String::new();
        // What does not fit is cut off.
        let _ = write!(
            reason,
            "{}:{}: {what}",
            place.file().rsplit('/').next().unwrap_or_default(),
            place.line()
        );
        Self::Failed(reason)
    }
}

impl From<InvocationError> for Failure {
    #[track_caller]
    fn from(refusal: InvocationError) -> Self {
        Self::new(format_args!("the kernel refused: {refusal}"))
    }
}

/// Fails unless both are equal.
#[track_caller]
pub(crate) fn equal<T: PartialEq + fmt::Debug>(what: &str, seen: T, wanted: T) -> Result<(), Failure> {
    if seen == wanted { Ok(()) } else { Err(Failure::new(format_args!("{what}: {seen:?}, not {wanted:?}"))) }
}

/// Fails unless the condition holds.
#[track_caller]
pub(crate) fn holds(what: &str, condition: bool) -> Result<(), Failure> {
    if condition { Ok(()) } else { Err(Failure::new(format_args!("not so: {what}"))) }
}
