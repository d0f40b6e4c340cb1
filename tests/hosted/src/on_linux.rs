//! Owns running tests on Linux, all in one boot.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use initrd::cpio::Archive;
use linux::{End, Group, Oracle, Outcome};
use miette::{IntoDiagnostic, Result, WrapErr, miette};

use crate::ENVIRONMENT;
use crate::build::{Content, GuestFile};
use crate::manifest::{Call, Manifest, Test};

/// Runs tests and returns what the judged program of each did, in order.
///
/// # Errors
/// Linux did not come to its end, or a file cannot be read.
pub fn run(
    oracle: &Oracle,
    manifest: &Manifest,
    files: &[GuestFile],
    tests: &[&Test],
) -> Result<Vec<Outcome>> {
    let groups = tests.iter().map(|test| group(manifest, test)).collect::<Result<Vec<_>>>()?;
    let outcomes = oracle.run(&archive(files)?, &groups)?;
    let mut rest = outcomes.as_slice();
    Ok(groups
        .iter()
        .filter_map(|group| {
            let (of_group, after) = rest.split_at_checked(group.programs.len())?;
            rest = after;
            judged(of_group)
        })
        .collect())
}

/// Returns the first program's outcome; that of another stands for it if that one did not end well.
fn judged(outcomes: &[Outcome]) -> Option<Outcome> {
    let (first, others) = outcomes.split_first()?;
    let bad = others.iter().find(|other| other.end != End::Exited(0));
    Some(bad.unwrap_or(first).clone())
}

fn group(manifest: &Manifest, test: &Test) -> Result<Group> {
    let mut programs = vec![program(manifest, &test.call, &test.input)?];
    for call in &test.together {
        programs.push(program(manifest, call, &[])?);
    }
    Ok(Group { programs, time_limit: test.time_limit })
}

fn program(manifest: &Manifest, call: &Call, input: &[u8]) -> Result<linux::Program> {
    let program = manifest.program(&call.program);
    let path = program.map(|program| program.place.clone());
    let path = path.ok_or_else(|| miette!("there is no program {:?}", call.program))?;
    let mut arguments = vec![path.clone()];
    arguments.extend(call.words.iter().cloned());
    let environment = ENVIRONMENT.map(str::to_owned).to_vec();
    Ok(linux::Program { path, arguments, environment, input: input.to_vec() })
}

/// Packs files, the folders that they lie in first; one that comes twice is the same.
fn archive(files: &[GuestFile]) -> Result<Archive> {
    let mut archive = Archive::new();
    let mut there = BTreeSet::from([PathBuf::from("/")]);
    for file in files {
        let above: Vec<&Path> = file.place.ancestors().skip(1).collect();
        for folder in above.into_iter().rev() {
            if there.insert(folder.to_path_buf()) {
                archive.folder(name(folder), 0o755);
            }
        }
        if there.insert(file.place.clone()) {
            add(&mut archive, file)?;
        }
    }
    Ok(archive)
}

fn add(archive: &mut Archive, file: &GuestFile) -> Result<()> {
    let name = name(&file.place);
    match &file.content {
        Content::Link(target) => {
            archive.link(&name, target.as_os_str().as_encoded_bytes());
        }
        Content::File(source) => {
            let explain = || format!("cannot read {}", source.display());
            let content = std::fs::read(source).into_diagnostic().wrap_err_with(explain)?;
            let mode = source.metadata().into_diagnostic()?.permissions().mode();
            archive.file(&name, if mode & 0o111 == 0 { 0o644 } else { 0o755 }, &content);
        }
    }
    Ok(())
}

/// Returns a path as an archive has it, without the `/` in front.
fn name(path: &Path) -> String {
    path.to_string_lossy().trim_start_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_before_what_lies_in_them_and_the_first_file_of_a_place_is_meant() {
        let link = |place: &str, target: &str| GuestFile {
            place: place.into(),
            content: Content::Link(target.into()),
        };
        let files = [link("/usr/bin/sh", "dash"), link("/usr/bin/sh", "busybox"), link("/bin", "usr/bin")];
        let bytes = archive(&files).unwrap().finish();
        let text = String::from_utf8(bytes).unwrap();
        let at = |name: &str| text.find(&format!("{name}\0")).unwrap();
        assert!(at("usr") < at("usr/bin") && at("usr/bin") < at("usr/bin/sh"));
        assert!(text.contains("dash") && !text.contains("busybox"));
    }

    #[test]
    fn a_program_beside_the_judged_one_that_fails_is_shown_instead() {
        let ended = |end| Outcome { output: Vec::new(), errors: Vec::new(), end };
        let (good, bad) = (ended(End::Exited(0)), ended(End::Killed(11)));
        assert_eq!(judged(&[ended(End::Exited(3)), good.clone()]).unwrap().end, End::Exited(3));
        assert_eq!(judged(&[good.clone(), good, bad]).unwrap().end, End::Killed(11));
    }
}
