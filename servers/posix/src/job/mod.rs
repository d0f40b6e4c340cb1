//! The programs that the server itself starts: read from the initrd's job ([`abi::job`]) or from the description,
//! started one after the other or together, and what is told of their ends.
//!
//! Invariant: programs start in order, a group (programs that run together) at a time; the next group starts only
//! when nothing of the one before lives. [`crate::process::schedule`] calls [`run`], and says `Finished` when all is over;
//! the machine then ends with [`Jobs::status`].

pub mod holdings;
pub mod run;

#[cfg(test)]
mod tests;

use crate::file::cpio::{self, Damaged};
use crate::process::Pid;
use abi::control::{Command, RecordError};
use abi::job::{Line, MEMBER};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;
use holdings::Holdings;

/// One program to start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Its arguments; the first names it.
    pub arguments: Vec<Vec<u8>>,
    /// Its environment.
    pub environment: Vec<Vec<u8>>,
    /// The folder that it starts in; empty: `/`.
    pub directory: Vec<u8>,
}

/// Whether the job's calls are to be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Traced {
    /// They are.
    Yes,
    /// They are not.
    #[default]
    No,
}

/// All that is to run, and what became of it so far.
#[derive(Debug, Default)]
pub struct Jobs {
    /// Groups to start, the next one first.
    waiting: VecDeque<Vec<Program>>,
    /// Programs of the group that runs, with their numbers.
    running: Vec<(Pid, u64)>,
    /// Those of the group that have ended, with their statuses.
    ended: Vec<(u64, u8)>,
    /// Programs that were started, or could not be.
    started: u64,
    /// The first program's status.
    status: Option<u8>,
    /// What there was before the group was started.
    before: Option<Holdings>,
    /// Whether calls are to be told.
    pub traced: Traced,
    /// Rows and columns of the terminal that somebody sits at, if programs are to have one.
    pub terminal: Option<(u16, u16)>,
}

/// Why there is no job to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobError {
    /// The archive is damaged.
    Archive(Damaged),
    /// A line of the job, counted from 1, is none.
    Line(usize, RecordError),
    /// The job is no text.
    NoText,
    /// A program, counted from 1, has no arguments, not even its name.
    NoName(usize),
    /// A command of the description, counted from 1, is not well encoded.
    Command(usize),
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive(damaged) => damaged.fmt(f),
            Self::Line(line, why) => write!(f, "line {line} of the job: {why}"),
            Self::NoText => f.write_str("the job is no text"),
            Self::NoName(program) => write!(f, "program {program} of the job has no name"),
            Self::Command(program) => write!(f, "the command of program {program} is not well encoded"),
        }
    }
}

impl core::error::Error for JobError {}

impl Jobs {
    /// Takes the job off an archive, if it begins with one; returns the archive's rest too.
    ///
    /// # Errors
    /// The job cannot be read.
    pub fn of_archive(archive: &'static [u8]) -> Result<(Option<Self>, &'static [u8]), JobError> {
        let mut entries = cpio::entries(archive);
        match entries.next() {
            Some(Ok(first)) if first.path == MEMBER.as_bytes() => {
                Ok((Some(Self::parse(first.data)?), entries.rest()))
            }
            Some(Err(damaged)) => Err(JobError::Archive(damaged)),
            _ => Ok((None, archive)),
        }
    }

    /// The programs that a description asks for: each argument that is a [`Command`] is one, and all of them run
    /// together.
    ///
    /// # Errors
    /// A command is not well encoded, or has no name.
    pub fn of_description<'a>(arguments: impl Iterator<Item = &'a str>) -> Result<Self, JobError> {
        let mut group = Vec::new();
        for (words, number) in arguments.filter_map(Command::words).zip(1..) {
            let words = words.map(|word| Some(word?.plain_bytes().collect()));
            let arguments: Option<Vec<Vec<u8>>> = words.collect();
            let arguments = arguments.ok_or(JobError::Command(number))?;
            if arguments.first().is_none_or(Vec::is_empty) {
                return Err(JobError::NoName(number));
            }
            group.push(Program { arguments, ..Program::default() });
        }
        let waiting = if group.is_empty() { VecDeque::new() } else { VecDeque::from([group]) };
        Ok(Self { waiting, ..Self::default() })
    }

    /// Reads a job's text.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &[u8]) -> Result<Self, JobError> {
        let text = core::str::from_utf8(text).map_err(|_| JobError::NoText)?;
        let mut jobs = Self::default();
        let mut group = Vec::new();
        let mut program = Program::default();
        let mut count = 0;
        let mut take = |program: &mut Program, group: &mut Vec<Program>| {
            count += 1;
            let program = core::mem::take(program);
            if program.arguments.is_empty() {
                return Err(JobError::NoName(count));
            }
            group.push(program);
            Ok(())
        };
        for (line, number) in abi::job::lines(text).zip(1..) {
            match line.map_err(|why| JobError::Line(number, why))? {
                Line::Argument(value) => program.arguments.push(value.plain_bytes().collect()),
                Line::Environment(value) => program.environment.push(value.plain_bytes().collect()),
                Line::Directory(value) => program.directory = value.plain_bytes().collect(),
                Line::Strace => jobs.traced = Traced::Yes,
                Line::Terminal { rows, columns } => jobs.terminal = Some((rows, columns)),
                Line::Beside => take(&mut program, &mut group)?,
                Line::Next => {
                    take(&mut program, &mut group)?;
                    jobs.waiting.push_back(core::mem::take(&mut group));
                }
            }
        }
        take(&mut program, &mut group)?;
        jobs.waiting.push_back(group);
        Ok(jobs)
    }

    /// The job's status, once it is over: that of its first program.
    pub fn status(&self) -> Option<u8> {
        self.status.filter(|_| self.waiting.is_empty() && self.running.is_empty())
    }
}
