//! A new program's stack, exactly as Linux lays it: strings, random bytes, auxiliary vector, pointers.
//!
//! From the top down: a null word, the path of the program, the environment's strings, the arguments'; then,
//! aligned to 16, the platform's name and 16 random bytes; then auxiliary vector, environment, arguments, and
//! their count, at which `$sp` points, aligned to 16.

use super::layout::Layout;
use super::load::Loaded;
use super::words::Words;
use crate::Errno;
use crate::address::{PAGE_BYTES, Page, PageRange};
use crate::host::Host;
use crate::memory::area::{Area, Protection, Role};
use crate::memory::space::{StringRanges, View};
use crate::process::credentials::Credentials;
use crate::user::UserSlice;
use alloc::vec::Vec;
use arrayvec::ArrayVec;

/// Bytes of stack that are there at once; the rest comes as it grows (setup_arg_pages: 128 KiB).
const AT_ONCE: u64 = 128 << 10;
/// Longest single string (MAX_ARG_STRLEN: 32 pages).
pub const STRING_MOST: usize = 32 << 14;
/// What lies on the stack beside strings and the pointers to them, at most.
const OTHERS_BYTES: usize = 1024;
/// Bytes that are turned round at once on their way to the stack.
const PIECE: usize = 4096;
const CLOCK_TICKS: u64 = 100;
const HEADER_BYTES: u64 = 56;
const PLATFORM: &[u8] = b"loongarch\0";

/// What a program is started with.
#[derive(Clone, Debug, Default)]
pub struct Strings {
    /// The path that was executed.
    pub path: Vec<u8>,
    /// Arguments, without their zeros.
    pub arguments: Words,
    /// Environment, without zeros.
    pub environment: Words,
}

/// What the auxiliary vector says.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The program.
    pub program: Loaded,
    /// How many program headers it has.
    pub header_count: u16,
    /// Where the interpreter lies; 0 without one.
    pub interpreter: u64,
    /// HWCAP.
    pub capabilities: u64,
    /// 16 random bytes.
    pub random: [u8; 16],
    /// Users and groups.
    pub credentials: &'a Credentials,
}

mod kind {
    pub(super) const NULL: u64 = 0;
    pub(super) const PHDR: u64 = 3;
    pub(super) const PHENT: u64 = 4;
    pub(super) const PHNUM: u64 = 5;
    pub(super) const PAGESZ: u64 = 6;
    pub(super) const BASE: u64 = 7;
    pub(super) const FLAGS: u64 = 8;
    pub(super) const ENTRY: u64 = 9;
    pub(super) const UID: u64 = 11;
    pub(super) const EUID: u64 = 12;
    pub(super) const GID: u64 = 13;
    pub(super) const EGID: u64 = 14;
    pub(super) const PLATFORM: u64 = 15;
    pub(super) const HWCAP: u64 = 16;
    pub(super) const CLKTCK: u64 = 17;
    pub(super) const SECURE: u64 = 23;
    pub(super) const RANDOM: u64 = 25;
    pub(super) const HWCAP2: u64 = 26;
    pub(super) const EXECFN: u64 = 31;
    pub(super) const SYSINFO_EHDR: u64 = 33;
}

impl Strings {
    /// Checks the strings against the limits on them.
    ///
    /// # Errors
    /// E2BIG beyond a quarter of RLIMIT_STACK, or 6 MiB, or for a single string that is too long.
    pub fn check(&self, stack_limit: u64) -> Result<(), Errno> {
        let long = self.arguments.iter().chain(self.environment.iter()).any(|word| word.len() >= STRING_MOST);
        let bytes = self.arguments.counted() + self.environment.counted();
        if long || bytes as u64 > Self::most(stack_limit) { Err(Errno::E2BIG) } else { Ok(()) }
    }

    /// How much arguments and environment may be together, as [`Words::counted`] has it: Linux's three quarters of
    /// 8 MiB at most, 32 pages at least.
    pub fn most(stack_limit: u64) -> u64 {
        (stack_limit / 4).clamp(32 * PAGE_BYTES, (8 << 20) / 4 * 3)
    }
}

impl<H: Host> View<'_, H> {
    /// Makes the stack; returns what `$sp` is.
    ///
    /// # Errors
    /// ENOMEM when there is no room or no memory for it.
    pub fn make_stack(
        &mut self,
        strings: &Strings,
        facts: &Facts<'_>,
        layout: &Layout,
        protection: Protection,
    ) -> Result<u64, Errno> {
        let strings_bytes = strings.path.len() + strings.arguments.counted() + strings.environment.counted();
        let mut image =
            Image { top: layout.stack_top, bytes: Vec::with_capacity(strings_bytes + OTHERS_BYTES) };
        image.push(&[0; 8]);
        let path = image.push_string(&strings.path);
        let environment_end = image.at();
        let environment = image.push_strings(&strings.environment);
        let arguments_end = image.at();
        let arguments = image.push_strings(&strings.arguments);
        self.space.strings = StringRanges {
            arguments: (image.at(), arguments_end),
            environment: (arguments_end, environment_end),
        };
        image.align();
        let platform = image.push(PLATFORM);
        let random = image.push(&facts.random);
        image.align();
        let auxiliary = auxiliary(facts, layout, path, platform, random);
        let words = 1 + arguments.len() + 1 + environment.len() + 1 + auxiliary.len() * 2;
        // The count must end up at a multiple of 16.
        if !words.is_multiple_of(2) {
            image.push(&[0; 8]);
        }
        image.push_words(auxiliary.iter().rev().flat_map(|(kind, value)| [*value, *kind]));
        image.push_words([0].into_iter().chain(environment.iter().rev().copied()));
        image.push_words([0].into_iter().chain(arguments.iter().rev().copied()));
        image.push_words([arguments.len() as u64].into_iter());
        self.write_stack(&image, layout, protection)
    }

    fn write_stack(&mut self, image: &Image, layout: &Layout, protection: Protection) -> Result<u64, Errno> {
        let sp = image.at();
        let lowest = Page::of(sp.min(layout.stack_top - AT_ONCE));
        let range = PageRange { start: lowest, end: Page::of(layout.stack_top) };
        if !self.space.areas.is_free(range) {
            return Err(Errno::ENOMEM);
        }
        self.add_area(Area::zeros(range, protection, Role::Stack))?;
        let mut at = sp;
        for piece in image.bytes.rchunks(PIECE) {
            let mut turned: ArrayVec<u8, PIECE> = ArrayVec::new();
            turned.extend(piece.iter().rev().copied());
            let to = UserSlice::new(at, turned.len() as u64)?;
            self.write_other(&turned, to).map_err(|_| Errno::ENOMEM)?;
            at += turned.len() as u64;
        }
        Ok(sp)
    }
}

fn auxiliary(facts: &Facts<'_>, layout: &Layout, path: u64, platform: u64, random: u64) -> [(u64, u64); 20] {
    let Credentials { user, group, .. } = facts.credentials;
    let secure = user.real != user.effective || group.real != group.effective;
    [
        (kind::SYSINFO_EHDR, layout.vdso.address()),
        (kind::HWCAP, facts.capabilities),
        (kind::PAGESZ, PAGE_BYTES),
        (kind::CLKTCK, CLOCK_TICKS),
        (kind::PHDR, facts.program.headers),
        (kind::PHENT, HEADER_BYTES),
        (kind::PHNUM, u64::from(facts.header_count)),
        (kind::BASE, facts.interpreter),
        (kind::FLAGS, 0),
        (kind::ENTRY, facts.program.entry),
        (kind::UID, u64::from(user.real)),
        (kind::EUID, u64::from(user.effective)),
        (kind::GID, u64::from(group.real)),
        (kind::EGID, u64::from(group.effective)),
        (kind::SECURE, u64::from(secure)),
        (kind::RANDOM, random),
        (kind::HWCAP2, 0),
        (kind::EXECFN, path),
        (kind::PLATFORM, platform),
        (kind::NULL, 0),
    ]
}

/// A stack under construction: its bytes from the top down.
#[derive(Debug)]
struct Image {
    top: u64,
    bytes: Vec<u8>,
}

impl Image {
    fn at(&self) -> u64 {
        self.top.saturating_sub(self.bytes.len() as u64)
    }

    fn push(&mut self, bytes: &[u8]) -> u64 {
        self.bytes.extend(bytes.iter().rev());
        self.at()
    }

    fn push_string(&mut self, string: &[u8]) -> u64 {
        self.bytes.push(0);
        self.push(string)
    }

    /// The last string lies highest; the addresses come in the strings' order.
    fn push_strings(&mut self, strings: &Words) -> Vec<u64> {
        let mut addresses = Vec::with_capacity(strings.len());
        addresses.extend(strings.iter().rev().map(|string| self.push_string(string)));
        addresses.reverse();
        addresses
    }

    /// Words from the highest to the lowest.
    fn push_words(&mut self, words: impl Iterator<Item = u64>) {
        for word in words {
            self.push(&word.to_le_bytes());
        }
    }

    fn align(&mut self) {
        while !self.at().is_multiple_of(16) {
            self.bytes.push(0);
        }
    }
}
