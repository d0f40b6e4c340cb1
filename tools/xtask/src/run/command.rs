//! Owns what a guest is handed to run one command: its files, the command itself, its environment.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use initrd::job::{self, Program, Strace, Window, Wishes};
use initrd::program::{self, Kind};
use initrd::root;
use initrd::tree::{Node, Take, Tree, permissions};
use miette::{IntoDiagnostic, Report, Result, miette};
use packages::host::Host;
use packages::loong64::Loong64;
use packages::shell::Shell;

use super::{RunArguments, SHELL};
use crate::workspace::Workspace;

/// A shell's status for a command that is not there.
pub(super) const NOT_FOUND: u8 = 127;

/// Where the guest's programs are looked up.
const PATH: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// What a command came to before anything was booted.
pub(super) enum Prepared {
    /// The archive for the guest.
    Archive(Vec<u8>),
    /// There is no such program, here or there.
    NotFound(Report),
}

/// Gathers the guest's files, finds the command and packs everything.
pub(super) fn prepare(
    shell: &Shell,
    workspace: &Workspace,
    host: &Host,
    arguments: &RunArguments,
    terminal: Option<Window>,
) -> Result<Prepared> {
    let mut files = gather(shell, workspace, host, arguments)?;
    let words = command_words(arguments);
    let name = words.first().map_or(OsStr::new(SHELL), |word| OsStr::from_bytes(word));
    match place(&mut files, name)? {
        Found::Program => {}
        Found::Nothing(report) => return Ok(Prepared::NotFound(report)),
    }
    let program = Program { arguments: words.clone(), environment: environment(&arguments.env) };
    let strace = if arguments.strace { Strace::Yes } else { Strace::No };
    let wishes = Wishes { strace, terminal };
    Ok(Prepared::Archive(job::archive(&[vec![program]], wishes, &files)?))
}

/// Packs the guest's files alone, for an image that says itself what runs.
pub(super) fn files(
    shell: &Shell,
    workspace: &Workspace,
    host: &Host,
    arguments: &RunArguments,
) -> Result<Vec<u8>> {
    Ok(job::archive_without_job(&gather(shell, workspace, host, arguments)?)?)
}

/// The guest's root file system.
fn gather(shell: &Shell, workspace: &Workspace, host: &Host, arguments: &RunArguments) -> Result<Tree> {
    let loong64 = Loong64::new(shell, host, &workspace.setup_folder());
    let mut files = root::of_packages(&loong64, &arguments.package)?;
    for folder in &arguments.root {
        if !folder.is_dir() {
            return Err(miette!("--root: there is no folder {}", folder.display()));
        }
        files.add_folder(folder, Take::All)?;
    }
    for file in files.left_out() {
        packages::tell!("note: {} is a device, socket or pipe: it is left out", file.display());
    }
    Ok(files)
}

fn command_words(arguments: &RunArguments) -> Vec<Vec<u8>> {
    let words: Vec<_> = arguments.command.iter().map(|word| word.as_bytes().to_vec()).collect();
    // Without a command: a login shell, which reads /etc/profile.
    if words.is_empty() { vec![SHELL.into(), b"-l".to_vec()] } else { words }
}

/// The variables that a program finds; later ones replace earlier ones.
fn environment(further: &[String]) -> Vec<Vec<u8>> {
    let term = std::env::var("TERM").unwrap_or_else(|_| "dumb".into());
    let mut variables: Vec<String> = vec![
        format!("PATH={}", PATH.join(":")),
        "HOME=/root".into(),
        "PWD=/".into(),
        "SHELL=/bin/sh".into(),
        "USER=root".into(),
        "LOGNAME=root".into(),
        format!("TERM={term}"),
    ];
    let name = |variable: &str| variable.split('=').next().unwrap_or_default().to_owned();
    for variable in further {
        variables.retain(|other| name(other) != name(variable));
        variables.push(variable.clone());
    }
    variables.into_iter().map(String::into_bytes).collect()
}

/// Whether the guest has the command.
enum Found {
    Program,
    Nothing(Report),
}

/// Carries a command in if it is a file of this machine's, and looks whether the guest has it.
fn place(files: &mut Tree, name: &OsStr) -> Result<Found> {
    let shown = if name.is_empty() { "''".into() } else { name.to_string_lossy() };
    if !name.as_bytes().contains(&b'/') {
        let is_there =
            PATH.iter().any(|folder| !name.is_empty() && is_file(files, &Path::new(folder).join(name)));
        if is_there {
            return Ok(Found::Program);
        }
        let here = Path::new(name).is_file();
        let help = if here {
            format!("to run the file that is here, write ./{shown}")
        } else {
            "--package NAME adds a package of Debian's, --root DIR files of your own".into()
        };
        return Ok(Found::Nothing(miette!(help = help, "{shown}: not found in the guest's PATH")));
    }
    let here = PathBuf::from(name);
    if here.is_dir() {
        return Err(miette!("{shown} is a folder"));
    }
    if here.exists() {
        carry_in(files, &here)?;
        return Ok(Found::Program);
    }
    if is_file(files, &here) {
        return Ok(Found::Program);
    }
    Ok(Found::Nothing(miette!("{shown}: there is no such file, neither here nor in the guest")))
}

fn carry_in(files: &mut Tree, here: &Path) -> Result<()> {
    let kind = program::check(here)?;
    let mode = permissions(&here.metadata().into_diagnostic()?);
    // It is meant to be run: whoever built it may have lost the right on the way.
    files.put(guest_place(here), Node::File(mode | 0o111, here.to_path_buf()))?;
    let (what, interpreter) = match kind {
        Kind::Static => return Ok(()),
        Kind::Dynamic(path) => ("is linked dynamically and needs", path),
        Kind::Script(line) => ("is a script for", line),
    };
    let interpreter = interpreter.split(|byte| *byte == b' ' || *byte == b'\t').next().unwrap_or_default();
    let interpreter = Path::new(OsStr::from_bytes(interpreter));
    if is_file(files, interpreter) {
        return Ok(());
    }
    Err(miette!(
        help = "--package NAME adds a package of Debian's (libc6 has the loader of most programs), --root DIR files of your own",
        "{} {what} {}, which the guest does not have",
        here.display(),
        interpreter.display()
    ))
}

/// Where a file of this machine's lies in the guest: where its path leads from the root.
fn guest_place(here: &Path) -> PathBuf {
    let mut place = PathBuf::new();
    for part in here.components() {
        match part {
            std::path::Component::Normal(name) => place.push(name),
            std::path::Component::ParentDir => drop(place.pop()),
            _ => {}
        }
    }
    place
}

fn is_file(files: &Tree, path: &Path) -> bool {
    matches!(files.find(path), Some(Node::File(..) | Node::Bytes(..)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guest() -> Tree {
        let mut files = Tree::default();
        files.put("bin", Node::Link(b"usr/bin".to_vec())).unwrap();
        files.put("usr/bin/tool", Node::Bytes(0o755, Vec::new())).unwrap();
        files
    }

    fn told(name: &str) -> String {
        match place(&mut guest(), OsStr::new(name)) {
            Ok(Found::Program) => "found".into(),
            Ok(Found::Nothing(report)) => format!("nothing: {report}"),
            Err(report) => format!("error: {report}"),
        }
    }

    #[test]
    fn a_command_is_looked_up_here_and_there() {
        assert_eq!(told("tool"), "found");
        assert_eq!(told("/bin/tool"), "found");
        assert_eq!(told("none"), "nothing: none: not found in the guest's PATH");
        assert_eq!(told(""), "nothing: '': not found in the guest's PATH");
        assert_eq!(told("./none"), "nothing: ./none: there is no such file, neither here nor in the guest");
        assert_eq!(told("/"), "error: / is a folder");
        assert!(told("/proc/self/exe").starts_with("error: /proc/self/exe is a program for"));
    }

    #[test]
    fn a_file_here_lies_where_its_path_leads_from_the_guests_root() {
        for (here, there) in
            [("./a", "a"), ("a/b", "a/b"), ("../../a", "a"), ("/x/../y/a", "y/a"), ("/tmp/./a", "tmp/a")]
        {
            assert_eq!(guest_place(Path::new(here)), Path::new(there), "{here}");
        }
    }

    #[test]
    fn a_script_without_its_shell_is_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "#! /bin/other -e\n").unwrap();
        let error = carry_in(&mut guest(), file.path()).unwrap_err().to_string();
        assert!(error.contains("is a script for /bin/other, which the guest does not have"), "{error}");
        std::fs::write(file.path(), "#!/bin/tool\n").unwrap();
        let mut files = guest();
        carry_in(&mut files, file.path()).unwrap();
        assert!(is_file(&files, file.path()));
    }

    #[test]
    fn a_variable_of_the_users_replaces_ours() {
        let variables = environment(&["HOME=/tmp".into(), "A=1".into(), "A=2".into()]);
        let count = |text: &str| variables.iter().filter(|one| one.starts_with(text.as_bytes())).count();
        assert_eq!((count("HOME="), count("HOME=/tmp"), count("A="), count("A=2")), (1, 1, 1, 1));
    }
}
