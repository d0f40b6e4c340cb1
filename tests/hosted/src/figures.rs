//! What operations of hosted programs cost (DESIGN §5): the program that measures them, and what they take on Linux.

use std::path::{Path, PathBuf};

use initrd::job::{self, Program, Strace};
use initrd::root;
use initrd::tree::Node;
use miette::{Result, WrapErr};
use packages::compiler::{Compiler, Linking, Recipe};
use packages::loong64::Loong64;

use crate::manifest::GUEST_FOLDER;

/// A program that measures, and what it is made of in `benchmarks/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measurer {
    /// Most operations, with a C library.
    Figures,
    /// Signals, without one: its functions use the vector unit.
    Signals,
}

impl Measurer {
    const ALL: [Self; 2] = [Self::Figures, Self::Signals];

    const fn name(self) -> &'static str {
        match self {
            Self::Figures => "figures",
            Self::Signals => "signals",
        }
    }

    const fn sources(self) -> &'static [&'static str] {
        match self {
            Self::Figures => &["figures.c"],
            Self::Signals => &["signals.c", "signals.S"],
        }
    }

    const fn linking(self) -> Linking {
        match self {
            Self::Figures => Linking::Static,
            Self::Signals => Linking::Alone,
        }
    }
}

/// An operation that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Who measures it.
    pub measurer: Measurer,
    /// Its label between the counter's marks, and its name in the measurer's source.
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
    Figure { measurer: Measurer::Figures, label, samples, operations: 1, linux }
}

const fn signal(label: &'static str, samples: u64, linux: Option<u64>) -> Figure {
    Figure { measurer: Measurer::Signals, label, samples, operations: 1, linux }
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
    Figure { operations: 256, ..figure("touch", 5, Some(7381)) },
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
    // Those without the vector unit come before it is used.
    signal("tgkill", 100, Some(4667)),
    signal("raise", 100, Some(5242)),
    signal("sigbrk", 100, Some(3984)),
    signal("sigsegv", 100, Some(4405)),
    signal("sigpp", 100, Some(19_141)),
    signal("tgfp", 100, None),
    signal("tglsx", 100, None),
    signal("tglasx", 100, Some(4911)),
];

/// Builds the programs and packs what the guest is handed: one after the other as its jobs.
///
/// # Errors
/// One does not compile, or the guest's files cannot be had.
pub fn archive(loong64: &Loong64<'_>, folder: &Path) -> Result<Vec<u8>> {
    let compiler = Compiler::provide(loong64)?;
    let mut files = root::of_packages(loong64, &[])?;
    let mut jobs = Vec::new();
    for measurer in Measurer::ALL {
        let place = PathBuf::from(GUEST_FOLDER).join(measurer.name());
        files.put(&place, Node::File(0o755, build(loong64, &compiler, measurer, folder)?))?;
        let taken = FIGURES.iter().filter(|figure| figure.measurer == measurer);
        let words = taken.map(|figure| format!("{}={}", figure.label, figure.samples).into_bytes());
        let arguments = std::iter::once(place.into_os_string().into_encoded_bytes()).chain(words).collect();
        let environment = crate::ENVIRONMENT.iter().map(|variable| variable.as_bytes().to_vec()).collect();
        jobs.push(vec![Program { arguments, environment }]);
    }
    Ok(job::archive(&jobs, Strace::No, &files)?)
}

fn build(loong64: &Loong64<'_>, compiler: &Compiler, measurer: Measurer, folder: &Path) -> Result<PathBuf> {
    let from = crate::folder().join("benchmarks");
    let sources: Vec<PathBuf> = measurer.sources().iter().map(|source| from.join(source)).collect();
    let headers = [from.join("figures.h"), crate::folder().join("programs/bare.h")];
    // Where Debian links its own programs; the counter takes what lies lower for the kernel's.
    let mut options = vec!["-Wl,--image-base=0x120000000".to_owned()];
    if measurer.linking() == Linking::Alone {
        options.extend(["-ffreestanding", "-mno-lsx"].map(str::to_owned));
    }
    let recipe =
        Recipe { sources: &sources, headers: &headers, options: &options, linking: measurer.linking() };
    let built = folder.join(measurer.name());
    compiler
        .build(loong64.shell(), &recipe, &built)
        .wrap_err("cannot build a program that measures hosted operations")?;
    Ok(built)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_has_every_figure() {
        for measurer in Measurer::ALL {
            let file = format!("benchmarks/{}.c", measurer.name());
            let source = std::fs::read_to_string(crate::folder().join(file)).unwrap();
            let taken: Vec<_> = FIGURES.iter().filter(|figure| figure.measurer == measurer).collect();
            for figure in &taken {
                assert!(figure.label.len() <= 8, "{}: a label has eight letters", figure.label);
                assert!(source.contains(&format!("FIGURE({})", figure.label)), "{}", figure.label);
            }
            let listed = source.matches("FIGURE(").count();
            assert_eq!(listed, taken.len() + 1, "all of the program's figures are taken");
        }
    }
}
