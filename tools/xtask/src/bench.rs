//! Owns `cargo xtask bench`: boot the benchmarks under the counter, print their figures, hold them to the budgets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use abi::control::Record;
use clap::{Args, ValueEnum};
use hosted::figures::FIGURES;
use image::LoadAddress;
use machine::{Counting, Run};
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use packages::host::Host;
use packages::loong64::Loong64;
use report::{Beside, Budgets, Column, Report, Sample};

use crate::boot;
use crate::build::{self, Image, Programs};
use crate::profile;
use crate::workspace::Workspace;
use packages::shell::Shell;

/// How long a counted run may take; one-instruction blocks make it some fifty times slower than an ordinary one.
const TIMEOUT: Duration = Duration::from_secs(600);

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// The benchmarks to run.
    #[arg(value_enum, default_value_t = Suite::Ipc)]
    suite: Suite,
    /// Write the figures to this file too, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Run everything twice, and fail unless minimum and median are equal.
    #[arg(long)]
    repeat: bool,
    /// Write how often each instruction was executed to this file, with the kernel's functions.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
}

/// A set of benchmarks that one image runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Suite {
    /// Call, reply and round trip between two address spaces, with 0, 4 and 8 words.
    Ipc,
    /// A hosted program's call, fault and turn: kernel and a minimal host.
    Hosting,
    /// Mapping, protecting and unmapping pages: in runs, in lists, and alone.
    Map,
    /// Operations of Linux programs: kernel and POSIX server, with Linux's figures beside.
    Hosted,
}

impl Suite {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ipc => "ipc",
            Self::Hosting => "hosting",
            Self::Map => "map",
            Self::Hosted => "hosted",
        }
    }

    fn image(self) -> &'static str {
        match self {
            Self::Ipc => "bench",
            Self::Hosting => "hosting",
            Self::Map => "map",
            Self::Hosted => "posix",
        }
    }

    /// The figures as people read them.
    pub(crate) fn table(self, report: &Report) -> String {
        if self != Self::Hosted {
            return report.to_table();
        }
        let figures: Vec<(&str, u64)> =
            FIGURES.iter().filter_map(|figure| Some((figure.label, figure.linux?))).collect();
        report.to_table_beside(Beside { name: "Linux's kernel", figures: &figures })
    }
}

/// Measures, prints, and checks.
pub(crate) fn run(
    shell: &Shell,
    workspace: &Workspace,
    host: &Host,
    arguments: &BenchArguments,
) -> Result<ExitCode> {
    for file in arguments.json.iter().chain(&arguments.profile) {
        // Told now, not after minutes of measuring; what is there stays until there is something new.
        let opened = std::fs::OpenOptions::new().append(true).create(true).open(file);
        opened.into_diagnostic().wrap_err_with(|| format!("cannot write {}", file.display()))?;
    }
    let programs = Programs::later(shell, workspace);
    let bench = Bench::build(shell, workspace, host, &programs, arguments.suite)?;
    let report = bench.measure(shell, arguments.profile.as_deref())?;
    packages::say::output(format_args!("{}", arguments.suite.table(&report)));
    if let Some(file) = &arguments.json {
        std::fs::write(file, report.to_json())
            .into_diagnostic()
            .wrap_err_with(|| format!("cannot write {}", file.display()))?;
    }
    if arguments.repeat {
        same_minimum_and_median(&report, &bench.measure(shell, None)?)?;
        packages::say!("A second run gave the same minimum and median everywhere.");
    }
    let within = check_budgets(workspace, &report)?;
    Ok(if within { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Everything that is needed to measure a suite.
pub(crate) struct Bench {
    suite: Suite,
    image: Image,
    plugin: PathBuf,
    folder: PathBuf,
    /// What the guest is handed.
    initrd: Option<PathBuf>,
}

impl Bench {
    /// Builds the suite's image and the counter.
    pub(crate) fn build(
        shell: &Shell,
        workspace: &Workspace,
        host: &Host,
        programs: &Programs,
        suite: Suite,
    ) -> Result<Self> {
        let plugin = build::counter(shell, workspace)?;
        let image = build::named_image(workspace, programs, suite.image(), LoadAddress::DEFAULT)?;
        let folder = workspace.target().join("bench");
        std::fs::create_dir_all(&folder).into_diagnostic()?;
        let initrd = match suite {
            Suite::Hosted => {
                let loong64 = Loong64::new(shell, host, &workspace.setup_folder());
                let archive = hosted::figures::archive(&loong64, &workspace.target().join("hosted"))?;
                let file = folder.join("initrd");
                std::fs::write(&file, archive).into_diagnostic()?;
                Some(file)
            }
            Suite::Ipc | Suite::Hosting | Suite::Map => None,
        };
        Ok(Self { suite, image, plugin, folder, initrd })
    }

    /// Runs the suite once.
    pub(crate) fn measure(&self, shell: &Shell, profile: Option<&Path>) -> Result<Report> {
        let output = fresh(self.folder.join("pairs"))?;
        let histogram = profile.map(|_| fresh(self.folder.join("histogram"))).transpose()?;
        let counting =
            Counting { plugin: self.plugin.clone(), output: output.clone(), histogram: histogram.clone() };
        let mut machine = boot::machine(&self.image, TIMEOUT);
        machine.counting = Some(counting);
        if let Some(initrd) = &self.initrd {
            machine.add_initrd(initrd);
        }
        let run = boot::boot_machine_to_success(shell, &self.image, &machine)?;
        let samples = read_samples(&output)?;
        match self.suite {
            Suite::Hosted => all_taken(&samples)?,
            Suite::Ipc | Suite::Hosting | Suite::Map => complete(&run, &samples)?,
        }
        if let Some((to, histogram)) = profile.zip(histogram) {
            profile::write(&histogram, &self.image, to)?;
        }
        Ok(Report::new(self.suite.name(), &samples))
    }
}

/// Returns a path at which there is no file: the counter adds to what it finds.
fn fresh(file: PathBuf) -> Result<PathBuf> {
    if file.exists() {
        std::fs::remove_file(&file).into_diagnostic()?;
    }
    Ok(file)
}

fn read_samples(file: &Path) -> Result<Vec<Sample>> {
    let text = std::fs::read_to_string(file)
        .into_diagnostic()
        .wrap_err("the counter wrote nothing: the guest set no mark")?;
    text.lines()
        .map(|line| {
            Sample::parse(line).ok_or_else(|| miette!("the counter wrote a line that is none: {line:?}"))
        })
        .collect()
}

/// Holds what was counted against what the guest says it ran.
fn complete(run: &Run, samples: &[Sample]) -> Result<()> {
    let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
    for sample in samples {
        *counted.entry(&sample.label).or_default() += 1;
    }
    for record in run.records() {
        let Record::Bench { name, n } = record else { continue };
        let got = counted.remove(name.to_string().as_str()).unwrap_or(0);
        if got != n {
            return Err(miette!("the guest says that it took {n} samples of {name}, the counter saw {got}"));
        }
    }
    match counted.keys().next() {
        None => Ok(()),
        Some(label) => Err(miette!("the counter saw {label}, of which the guest has no record")),
    }
}

/// Holds what was counted against what the program was asked for; of a turn between two processes both count theirs.
fn all_taken(samples: &[Sample]) -> Result<()> {
    for figure in FIGURES {
        let of_figure = |sample: &&Sample| sample.label == figure.label && sample.ops == figure.operations;
        let got = samples.iter().filter(of_figure).count() as u64;
        if got < figure.samples {
            return Err(miette!(
                "{} samples of {} were asked for, the counter saw {got}",
                figure.samples,
                figure.label
            ));
        }
    }
    Ok(())
}

/// Demands that two runs agree (DESIGN, what is counted): only the maximum may differ.
pub(crate) fn same_minimum_and_median(first: &Report, second: &Report) -> Result<()> {
    let labels = |report: &Report| report.rows.iter().map(|row| row.label.clone()).collect::<Vec<_>>();
    if labels(first) != labels(second) {
        return Err(miette!("two runs measured different things: {:?}, {:?}", labels(first), labels(second)));
    }
    for (row, other) in first.rows.iter().zip(&second.rows) {
        for column in Column::ALL {
            let (Some(one), Some(two)) = (row.figures(column), other.figures(column)) else { continue };
            if (one.min, one.median) != (two.min, two.median) {
                return Err(miette!(
                    "{}: {} differs between two runs: {one}, {two}",
                    row.label,
                    column.name()
                ));
            }
        }
    }
    Ok(())
}

/// Prints what is off the budgets; returns whether the report is within them.
pub(crate) fn check_budgets(workspace: &Workspace, report: &Report) -> Result<bool> {
    let file = workspace.budgets();
    let text = std::fs::read_to_string(&file)
        .into_diagnostic()
        .wrap_err_with(|| format!("cannot read the budgets, {}", file.display()))?;
    let findings = Budgets::parse("budgets.toml", &text)?.check(report);
    for finding in &findings {
        let kind = if finding.is_failure() { "error" } else { "note" };
        packages::tell!("{kind}: {finding}");
    }
    Ok(!findings.iter().any(report::Finding::is_failure))
}

#[cfg(test)]
mod tests {
    use machine::Verdict;

    use super::*;

    fn samples(label: &str, kernel: &[u64]) -> Vec<Sample> {
        let sample = |&kernel| Sample { label: label.into(), ops: 1, kernel, ..Sample::default() };
        kernel.iter().map(sample).collect()
    }

    fn run(control: &str) -> Run {
        Run {
            verdict: Verdict::Passed { exit_code: 0 },
            log: String::new(),
            output: vec![],
            errors: vec![],
            control: control.into(),
            emulator: machine::Answers::Yes,
        }
    }

    #[test]
    fn every_sample_must_be_accounted_for() {
        let two = samples("rt0", &[1, 1]);
        assert!(complete(&run("bench name=rt0 n=2\nexit code=0\n"), &two).is_ok());
        let error = complete(&run("bench name=rt0 n=3\n"), &two).unwrap_err();
        assert!(error.to_string().contains("took 3 samples of rt0, the counter saw 2"), "{error}");
        let error = complete(&run("exit code=0\n"), &two).unwrap_err();
        assert!(error.to_string().contains("saw rt0"), "{error}");
        assert!(complete(&run("bench name=rt4 n=1\n"), &[]).is_err());
    }

    #[test]
    fn two_runs_must_agree_but_for_the_maximum() {
        let report = |kernel: &[u64]| Report::new("ipc", &samples("rt0", kernel));
        assert!(same_minimum_and_median(&report(&[5, 5, 9]), &report(&[5, 5, 70])).is_ok());
        let error = same_minimum_and_median(&report(&[5, 5, 9]), &report(&[5, 6, 9])).unwrap_err();
        assert!(error.to_string().contains("rt0: kernel differs"), "{error}");
        let other = Report::new("ipc", &samples("rt4", &[5, 5, 9]));
        assert!(same_minimum_and_median(&report(&[5, 5, 9]), &other).is_err());
    }
}
