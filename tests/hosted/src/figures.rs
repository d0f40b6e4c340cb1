//! What operations of hosted programs cost (DESIGN §5): the program that measures them, and what they take on Linux.

use std::path::{Path, PathBuf};

use initrd::job::{self, Program, Strace};
use initrd::root;
use initrd::tree::Node;
use miette::{Result, WrapErr};
use packages::compiler::{Compiler, Linking, Recipe};
use packages::loong64::Loong64;

use crate::manifest::GUEST_FOLDER;

/// An operation that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Its label between the counter's marks, and its name in `benchmarks/figures.c`.
    pub label: &'static str,
    /// How often it is measured.
    pub samples: u64,
    /// How many operations lie between two marks.
    pub operations: u64,
    /// What one takes on Linux 7.2.12 in the same emulator, in instructions of the kernel; `None` where nobody has
    /// measured it there.
    pub linux: Option<u64>,
}

const fn figure(label: &'static str, samples: u64, linux: Option<u64>) -> Figure {
    Figure { label, samples, operations: 1, linux }
}

/// Every figure, in the order in which they are taken.
pub const FIGURES: &[Figure] = &[
    figure("getpid", 200, Some(272)),
    figure("getuid", 200, Some(299)),
    figure("nothing", 200, None),
    figure("umask", 200, Some(226)),
    figure("enosys", 200, Some(198)),
    figure("mask", 200, Some(313)),
    figure("kill", 200, Some(1351)),
    figure("clock", 200, Some(455)),
    figure("yield", 200, Some(950)),
    figure("yield2", 200, Some(5433)),
    figure("wake", 200, Some(623)),
    figure("futex", 100, Some(12_913)),
    Figure { label: "touch", samples: 5, operations: 256, linux: Some(7381) },
    figure("map", 100, Some(15_038)),
    figure("maptouch", 100, Some(31_844)),
    figure("fstat", 100, Some(1451)),
    figure("stat", 100, Some(3515)),
    figure("open", 100, Some(5592)),
    figure("dup", 100, Some(886)),
    figure("seek", 100, Some(329)),
    figure("read1", 100, Some(1343)),
    figure("read4k", 100, Some(2574)),
    figure("pipe", 100, Some(1983)),
    figure("pipe2", 100, Some(13_882)),
    figure("thread", 50, Some(75_000)),
    figure("fork", 50, Some(153_000)),
    figure("exec", 30, Some(325_000)),
];

/// Builds the program and packs what the guest is handed: the program as its job.
///
/// # Errors
/// It does not compile, or the guest's files cannot be had.
pub fn archive(loong64: &Loong64<'_>, folder: &Path) -> Result<Vec<u8>> {
    let from = crate::folder().join("benchmarks");
    let compiler = Compiler::provide(loong64)?;
    let (sources, headers) = ([from.join("figures.c")], [from.join("figures.h")]);
    // Where Debian links its own programs; the counter takes what lies lower for the kernel's.
    let options = ["-Wl,--image-base=0x120000000".to_owned()];
    let recipe = Recipe { sources: &sources, headers: &headers, options: &options, linking: Linking::Static };
    let built = folder.join("figures");
    compiler
        .build(loong64.shell(), &recipe, &built)
        .wrap_err("cannot build the program that measures hosted operations")?;
    let place = PathBuf::from(GUEST_FOLDER).join("figures");
    let mut files = root::of_packages(loong64, &[])?;
    files.put(&place, Node::File(0o755, built))?;
    let mut arguments = vec![place.into_os_string().into_encoded_bytes()];
    arguments
        .extend(FIGURES.iter().map(|figure| format!("{}={}", figure.label, figure.samples).into_bytes()));
    let environment = crate::ENVIRONMENT.iter().map(|variable| variable.as_bytes().to_vec()).collect();
    Ok(job::archive(&[vec![Program { arguments, environment }]], Strace::No, &files)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_has_every_figure() {
        let source = std::fs::read_to_string(crate::folder().join("benchmarks/figures.c")).unwrap();
        for figure in FIGURES {
            assert!(figure.label.len() <= 8, "{}: a label has eight letters", figure.label);
            assert!(source.contains(&format!("FIGURE({})", figure.label)), "{}", figure.label);
        }
        let listed = source.matches("FIGURE(").count();
        assert_eq!(listed, FIGURES.len() + 1, "all of the program's figures are taken");
    }
}
