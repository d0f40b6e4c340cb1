//! Owns minimum, median and maximum.

use std::fmt;

use serde::Serialize;

/// What many values come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// The smallest.
    pub min: u64,
    /// The one in the middle; of two in the middle the smaller, so that it is a value that occurred.
    pub median: u64,
    /// The largest.
    pub max: u64,
}

impl Figures {
    /// Returns the figures of at least one value.
    pub(crate) fn of(mut values: Vec<u64>) -> Option<Self> {
        values.sort_unstable();
        let middle = values.len().checked_sub(1)? / 2;
        Some(Self { min: *values.first()?, median: *values.get(middle)?, max: *values.last()? })
    }
}

impl fmt::Display for Figures {
    /// One number where all are equal, else all three.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = if self.min == self.max {
            self.min.to_string()
        } else {
            format!("{}/{}/{}", self.min, self.median, self.max)
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_a_value_that_occurred() {
        assert_eq!(Figures::of(vec![]), None);
        assert_eq!(Figures::of(vec![7]), Some(Figures { min: 7, median: 7, max: 7 }));
        assert_eq!(Figures::of(vec![9, 1, 2, 3]), Some(Figures { min: 1, median: 2, max: 9 }));
        assert_eq!(Figures::of(vec![9, 1, 5]), Some(Figures { min: 1, median: 5, max: 9 }));
    }

    #[test]
    fn equal_figures_are_shown_once() {
        assert_eq!(Figures { min: 7, median: 7, max: 7 }.to_string(), "7");
        assert_eq!(Figures { min: 7, median: 7, max: 8 }.to_string(), "7/7/8");
    }
}
