//! The random generator: ChaCha20, seeded by the machine and by nothing else.
//!
//! Invariant: what it gives before a seed came is for placement and GRND_INSECURE only, which say that they
//! do not need secrets.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The generator.
#[derive(Debug)]
pub struct Random {
    generator: ChaCha20Rng,
    seeded: bool,
}

impl Random {
    /// With the machine's seed, if there is one.
    pub fn new(seed: Option<[u8; 32]>) -> Self {
        Self { generator: ChaCha20Rng::from_seed(seed.unwrap_or_default()), seeded: seed.is_some() }
    }

    /// Whether it was seeded.
    pub const fn is_seeded(&self) -> bool {
        self.seeded
    }

    /// Fills bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.generator.fill_bytes(bytes);
    }

    /// A number below `end`, or 0 if that is 0; even enough for placing things.
    pub fn below(&mut self, end: u64) -> u64 {
        self.generator.next_u64().checked_rem(end).unwrap_or(0)
    }
}
