//! Owns building the programs.

use std::path::{Path, PathBuf};

use miette::{IntoDiagnostic, Result, WrapErr};
use packages::compiler::{Compiler, Recipe};
use packages::shell::Shell;

use crate::manifest::{Manifest, Program};

/// The programs of a manifest, built.
#[derive(Clone, Debug)]
pub struct Built {
    folder: PathBuf,
}

impl Built {
    /// Returns where a program lies.
    #[must_use]
    pub fn path(&self, program: &str) -> PathBuf {
        self.folder.join(program)
    }
}

/// Builds the manifest's programs into a folder; what is there and has not changed is kept.
///
/// # Errors
/// A program does not compile.
pub fn build(shell: &Shell, compiler: &Compiler, manifest: &Manifest, folder: &Path) -> Result<Built> {
    let sources = crate::folder().join("programs");
    let headers = headers(&sources)?;
    let built = Built { folder: folder.to_path_buf() };
    for program in &manifest.programs {
        build_one(shell, compiler, program, &sources, &headers, &built)
            .wrap_err_with(|| format!("cannot build the hosted program {}", program.name))?;
    }
    Ok(built)
}

fn build_one(
    shell: &Shell,
    compiler: &Compiler,
    program: &Program,
    folder: &Path,
    headers: &[PathBuf],
    built: &Built,
) -> Result<()> {
    let sources: Vec<PathBuf> = program.sources.iter().map(|source| folder.join(source)).collect();
    let recipe = Recipe { sources: &sources, headers, options: &program.options, linking: program.linking };
    compiler.build(shell, &recipe, &built.path(&program.name))
}

/// Returns what any program may include.
fn headers(folder: &Path) -> Result<Vec<PathBuf>> {
    let files = std::fs::read_dir(folder).into_diagnostic()?.flatten().map(|entry| entry.path());
    let mut headers: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|extension| extension == "h")).collect();
    headers.sort();
    Ok(headers)
}
