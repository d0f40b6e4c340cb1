//! Owns writing a job ([`abi::job`]): the programs that the guest starts.

use abi::control::Text;
use abi::job::{Line, MEMBER};

use crate::cpio::Archive;
use crate::tree::{Tree, TreeError};

/// One program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Its arguments; the first names it.
    pub arguments: Vec<Vec<u8>>,
    /// Its environment, `NAME=VALUE` each.
    pub environment: Vec<Vec<u8>>,
}

/// Whether the programs' calls are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strace {
    /// They are.
    Yes,
    /// They are not.
    #[default]
    No,
}

/// A window of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Lines.
    pub rows: u16,
    /// Characters in a line.
    pub columns: u16,
}

/// What holds for all of a job's programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Whether their calls are told.
    pub strace: Strace,
    /// The window of their terminal; without one their streams are plain.
    pub terminal: Option<Window>,
}

impl From<Strace> for Wishes {
    fn from(strace: Strace) -> Self {
        Self { strace, terminal: None }
    }
}

/// Returns the archive that a guest is handed: the job, then the files.
///
/// Each group's programs run together, one group after the other.
///
/// # Errors
/// A file cannot be read.
pub fn archive(
    groups: &[Vec<Program>],
    wishes: impl Into<Wishes>,
    files: &Tree,
) -> Result<Vec<u8>, TreeError> {
    let mut archive = Archive::new();
    archive.file(MEMBER, 0o644, text(groups, wishes.into()).as_bytes());
    files.pack(&mut archive)?;
    Ok(archive.finish())
}

/// Returns an archive of the files alone: the guest starts what its description says.
///
/// # Errors
/// A file cannot be read.
pub fn archive_without_job(files: &Tree) -> Result<Vec<u8>, TreeError> {
    let mut archive = Archive::new();
    files.pack(&mut archive)?;
    Ok(archive.finish())
}

fn text(groups: &[Vec<Program>], wishes: Wishes) -> String {
    let mut lines = String::new();
    let mut add = |line: Line<'_>| lines.push_str(&format!("{line}\n"));
    if wishes.strace == Strace::Yes {
        add(Line::Strace);
    }
    if let Some(Window { rows, columns }) = wishes.terminal {
        add(Line::Terminal { rows, columns });
    }
    for (number, group) in groups.iter().enumerate() {
        if number > 0 {
            add(Line::Next);
        }
        for (place, program) in group.iter().enumerate() {
            if place > 0 {
                add(Line::Beside);
            }
            program.arguments.iter().for_each(|word| add(Line::Argument(Text::of_bytes(word))));
            program.environment.iter().for_each(|string| add(Line::Environment(Text::of_bytes(string))));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(words: &[&str]) -> Program {
        let arguments = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        Program { arguments, environment: vec![b"A=b c".to_vec()] }
    }

    #[test]
    fn the_job_is_the_first_member_and_says_who_runs_with_whom() {
        let groups = [vec![program(&["one", ""]), program(&["two"])], vec![program(&["three"])]];
        let wishes = Wishes { strace: Strace::Yes, terminal: Some(Window { rows: 24, columns: 80 }) };
        let bytes = archive(&groups, wishes, &Tree::default()).unwrap();
        let bytes = String::from_utf8(bytes).unwrap();
        assert_eq!(bytes.find(MEMBER), Some(110));
        let expected = "strace value=yes\nterminal value=yes rows=24 columns=80\n\
            argument value=one\nargument value=\nenvironment value=A=b%20c\n\
            beside\nargument value=two\nenvironment value=A=b%20c\n\
            next\nargument value=three\nenvironment value=A=b%20c\n";
        assert!(bytes.contains(expected), "{bytes}");
        let bytes = archive_without_job(&Tree::default()).unwrap();
        assert!(!String::from_utf8(bytes).unwrap().contains(MEMBER));
    }
}
