//! From a clock's date to seconds since 1970, in UTC and the Gregorian calendar.

use core::time::Duration;

/// A date and a time of day as a machine's clock says them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CivilTime {
    /// Of our era.
    pub year: u32,
    /// 1 to 12.
    pub month: u32,
    /// 1 to 31.
    pub day: u32,
    /// 0 to 23.
    pub hour: u32,
    /// 0 to 59.
    pub minute: u32,
    /// 0 to 60.
    pub second: u32,
    /// Tenths of a second, 0 to 9.
    pub tenths: u32,
}

const SECONDS_PER_DAY: u64 = 86_400;
/// Days of each month but February, which has a day more in leap years.
const MONTHS: [u32; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

const fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// Leap days in the years before this one.
const fn leap_days_before(year: u32) -> u32 {
    let last = year - 1;
    last / 4 - last / 100 + last / 400
}

impl CivilTime {
    /// The time since 1970, or nothing if it is no time at all or before that.
    pub fn since_1970(self) -> Option<Duration> {
        let Self { year, month, day, hour, minute, second, tenths } = self;
        let february = u32::from(month == 2 && is_leap(year));
        let before = usize::try_from(month.checked_sub(1)?).ok()?;
        let days_in_month = MONTHS.get(before)? + february;
        let fits = (1970..=9999).contains(&year) && (1..=days_in_month).contains(&day);
        if !fits || hour > 23 || minute > 59 || second > 60 || tenths > 9 {
            return None;
        }
        let in_year =
            MONTHS.iter().take(before).sum::<u32>() + u32::from(month > 2 && is_leap(year)) + day - 1;
        let days = (year - 1970) * 365 + leap_days_before(year) - leap_days_before(1970) + in_year;
        let seconds = u64::from(days) * SECONDS_PER_DAY + u64::from(hour * 3600 + minute * 60 + second);
        Some(Duration::new(seconds, tenths * 100_000_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(year: u32, month: u32, day: u32) -> Option<u64> {
        let date = CivilTime { year, month, day, hour: 0, minute: 0, second: 0, tenths: 0 };
        date.since_1970().map(|time| time.as_secs())
    }

    #[test]
    fn days_are_counted_from_1970_on() {
        // As `date -u -d … +%s` says.
        for (date, wanted) in [
            ((1970, 1, 1), 0),
            ((1972, 2, 29), 68_169_600),
            ((1972, 3, 1), 68_256_000),
            ((2000, 3, 1), 951_868_800),
            ((2026, 12, 1), 1_796_083_200),
            ((2100, 3, 1), 4_107_542_400),
        ] {
            assert_eq!(seconds(date.0, date.1, date.2), Some(wanted), "{date:?}");
        }
        let last = CivilTime { year: 2024, month: 12, day: 31, hour: 23, minute: 59, second: 59, tenths: 9 };
        assert_eq!(last.since_1970(), Some(Duration::new(1_735_689_599, 900_000_000)));
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut wanted = 0;
        for year in 1970..2500 {
            for month in 1..=12 {
                for day in (1..=31).filter(|day| seconds(year, month, *day).is_some()) {
                    assert_eq!(seconds(year, month, day), Some(wanted), "{year}-{month}-{day}");
                    wanted += SECONDS_PER_DAY;
                }
            }
        }
    }

    #[test]
    fn what_is_no_date_is_nothing() {
        for (year, month, day) in [
            (1969, 12, 31),
            (2026, 0, 1),
            (2026, 13, 1),
            (2026, 2, 29),
            (2100, 2, 29),
            (2026, 4, 31),
            (2026, 4, 0),
        ] {
            assert_eq!(seconds(year, month, day), None, "{year}-{month}-{day}");
        }
        let noon = CivilTime { year: 2026, month: 1, day: 1, hour: 12, minute: 0, second: 0, tenths: 0 };
        assert_eq!(CivilTime { hour: 24, ..noon }.since_1970(), None);
        assert_eq!(CivilTime { tenths: 10, ..noon }.since_1970(), None);
    }
}
