//! Owns reading what the guest's first process tells: frames, each a line of words and then perhaps bytes.
//!
//! The writer is `init/init.c`, where the frames are described. A line that ends too early is read as far as it goes.

use crate::program::{End, Outcome};

/// Returns the outcomes of so many programs, in the plan's order.
pub(crate) fn outcomes(mut frames: &[u8], programs: usize) -> Vec<Outcome> {
    let untold = Outcome { output: Vec::new(), errors: Vec::new(), end: End::Never };
    let mut outcomes = vec![untold; programs];
    while let Some((line, rest)) = split_line(frames) {
        frames = rest;
        let words: Vec<&str> = line.split(' ').collect();
        let number = words.get(1).and_then(|word| word.parse::<usize>().ok());
        let Some(outcome) = number.and_then(|number| outcomes.get_mut(number)) else { continue };
        match (words.as_slice(), outcome) {
            (["X", _, how, number], outcome) => outcome.end = end(how, number),
            ([stream @ ("O" | "E"), _, length], outcome) => {
                let length = length.parse().unwrap_or(0_usize).min(frames.len());
                let (bytes, rest) = frames.split_at(length);
                frames = rest;
                let to = if *stream == "O" { &mut outcome.output } else { &mut outcome.errors };
                to.extend_from_slice(bytes);
            }
            _ => {}
        }
    }
    outcomes
}

fn split_line(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    let (line, rest) = bytes.split_at_checked(end)?;
    Some((std::str::from_utf8(line).unwrap_or_default(), rest.get(1..)?))
}

fn end(how: &str, number: &str) -> End {
    let number = number.parse().unwrap_or(u8::MAX);
    match how {
        "exited" => End::Exited(number),
        "killed" => End::Killed(number),
        "late" => End::Late,
        "unstarted" => End::Unstarted(number),
        _ => End::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_go_to_their_programs() {
        let frames = b"O 0 3\na\nbE 0 2\n\xff\0O 1 1\nxO 0 1\ncX 0 exited 7\nX 1 killed 11\nX 9 exited 0\n";
        let outcomes = outcomes(frames, 2);
        assert_eq!(outcomes[0].output, b"a\nbc");
        assert_eq!(outcomes[0].errors, b"\xff\0");
        assert_eq!(outcomes[0].end, End::Exited(7));
        assert_eq!((outcomes[1].output.as_slice(), outcomes[1].end), (b"x".as_slice(), End::Killed(11)));
    }

    #[test]
    fn a_cut_off_report_is_read_as_far_as_it_goes() {
        let outcomes = outcomes(b"O 0 10\nabc", 2);
        assert_eq!((outcomes[0].output.as_slice(), outcomes[0].end), (b"abc".as_slice(), End::Never));
        assert_eq!(outcomes[1].end, End::Never);
    }

    #[test]
    fn what_a_program_prints_is_no_frame() {
        let outcomes = outcomes(b"O 0 12\nX 0 exited 0X 0 killed 9\n", 1);
        assert_eq!(outcomes[0].end, End::Killed(9));
    }
}
