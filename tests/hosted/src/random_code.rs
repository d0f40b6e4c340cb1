//! Owns the rounds of random bytes that are run as programs: whatever they do, the host lives, and every page comes
//! back.
//!
//! A round is a seed, from which the program makes its own code; so it can be repeated alone.

use std::time::Duration;

use packages::compiler::Linking;

use crate::manifest::{Call, EmulatorMay, GUEST_FOLDER, Origin, Program, Systems, Test};

pub(crate) const PROGRAM: &str = "random-code";

/// How long a round may take: the program's own alarm comes much sooner.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// The program that runs them.
#[must_use]
pub fn program() -> Program {
    Program {
        name: PROGRAM.into(),
        origin: Origin::Sources {
            sources: vec![format!("{PROGRAM}.c")],
            linking: Linking::Static,
            options: Vec::new(),
        },
        place: format!("{GUEST_FOLDER}/{PROGRAM}"),
        links: Vec::new(),
        needs: Vec::new(),
    }
}

/// The round of a seed, which may end as it likes.
#[must_use]
pub fn test(seed: u64) -> Test {
    Test {
        name: format!("seed {seed}"),
        call: Call { program: PROGRAM.into(), words: vec![seed.to_string()] },
        together: Vec::new(),
        input: Vec::new(),
        time_limit: TIME_LIMIT,
        step: String::new(),
        cases: Vec::new(),
        on: Systems::Bixi,
        expected: None,
        emulator: EmulatorMay::Run,
    }
}
