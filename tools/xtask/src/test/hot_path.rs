//! Owns the check of C-12 and of the hot path's other promises, on the instructions of the kernel's file.
//!
//! Under KVM the section causes no exit: no IOCSR, CPUCFG, CACOP, idle or hypercall, and only CSRs that are the guest's
//! own. It takes no lock (no atomic instruction) and calls nothing; MMIO cannot be seen here, it would be a load.

use std::path::Path;

use miette::{IntoDiagnostic, Result, WrapErr, miette};
use object::{Object as _, ObjectSection as _};

use super::{Selection, Tally};
use crate::build::Programs;

/// The section that has the hot path and nothing else.
const SECTION: &str = ".hot_path";

/// The CSRs that a guest owns under KVM (C-12), by number.
const OWN_CSRS: [std::ops::RangeInclusive<u32>; 8] = [
    0x00..=0x02, // CRMD, PRMD, EUEN
    0x04..=0x06, // ECFG, ESTAT, ERA
    0x0c..=0x0c, // EENTRY
    0x18..=0x1a, // ASID, PGDL, PGDH
    0x30..=0x37, // KS0 to KS7
    0x41..=0x41, // TCFG
    0x44..=0x44, // TICLR
    0x60..=0x60, // LLBCTL
];

/// Checks the kernel's file.
pub(crate) fn run(programs: &Programs, selection: &Selection, tally: &mut Tally) {
    let name = "hot path causes no exit under KVM (C-12)";
    if !selection.has(name) {
        return;
    }
    tally.section("hot path");
    tally.add(name, check_file(&programs.kernel()));
}

fn check_file(kernel: &Path) -> Result<()> {
    let bytes = std::fs::read(kernel).into_diagnostic().wrap_err("cannot read the kernel")?;
    let file = object::File::parse(bytes.as_slice()).into_diagnostic()?;
    let section =
        file.section_by_name(SECTION).ok_or_else(|| miette!("the kernel has no section {SECTION}"))?;
    let code = section.data().into_diagnostic()?;
    let wrong = violations(code);
    if code.is_empty() {
        return Err(miette!("the section {SECTION} is empty: nothing was checked"));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let lines =
        wrong.iter().map(|(offset, what)| format!("{:#x}: {what}", section.address() + *offset as u64));
    Err(miette!(help = lines.collect::<Vec<_>>().join("\n"), "instructions in {SECTION} that C-12 forbids"))
}

/// Returns offset and fault of each instruction that does not belong on a hot path.
fn violations(code: &[u8]) -> Vec<(usize, String)> {
    let words =
        code.chunks_exact(4).map(|bytes| bytes.iter().rev().fold(0, |word, &b| word << 8 | u32::from(b)));
    words.enumerate().filter_map(|(index, word)| Some((4 * index, violation(word)?))).collect()
}

/// Returns what is wrong with an instruction, by the encodings of the manual's volume 1, appendix B.
fn violation(instruction: u32) -> Option<String> {
    let csr = instruction >> 10 & 0x3fff;
    let what = match instruction {
        _ if instruction >> 24 == 0x04 => {
            let own = OWN_CSRS.iter().any(|numbers| numbers.contains(&csr));
            return (!own).then(|| format!("access to CSR {csr:#x}, which is not the guest's own under KVM"));
        }
        _ if instruction >> 13 == 0x0648_0000 >> 13 => "iocsrrd or iocsrwr",
        _ if instruction >> 10 == 0x0000_6c00 >> 10 => "cpucfg",
        _ if instruction >> 22 == 0x0600_0000 >> 22 => "cacop",
        _ if instruction >> 15 == 0x0648_8000 >> 15 => "idle",
        _ if instruction >> 15 == 0x002b_8000 >> 15 => "hypercall",
        _ if instruction >> 15 == 0x002a_8000 >> 15 => "dbcl",
        _ if instruction >> 26 == 0x08 => "ll or sc: the hot path takes no lock",
        _ if (0x70ae..=0x70e3).contains(&(instruction >> 15)) => "an atomic: the hot path takes no lock",
        _ if instruction >> 26 == 0x15 => "bl: the hot path calls nothing",
        _ if instruction >> 26 == 0x13 && instruction & 0x1f != 0 => {
            "jirl with a link: the hot path calls nothing"
        }
        _ => return None,
    };
    Some(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(words: &[u32]) -> Vec<String> {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        violations(&code).into_iter().map(|(offset, what)| format!("{offset}: {what}")).collect()
    }

    #[test]
    fn what_the_hot_path_needs_is_allowed() {
        // csrrd KS0, csrwr PGDL, csrwr ASID, csrwr EUEN, csrrd ERA; ld.d, st.d, addi.d, beq, b, ertn, ldptr.d
        let needed = [
            0x0400_c00c,
            0x0400_642c,
            0x0400_602c,
            0x0400_082c,
            0x0400_180c,
            0x28c0_04a4,
            0x29c0_04a4,
            0x02c0_04a4,
            0x5800_0885,
            0x5000_0800,
            0x0648_3800,
            0x2600_00a4,
            0x0015_0000,
        ];
        assert_eq!(faults(&needed), Vec::<String>::new());
    }

    #[test]
    fn each_planted_fault_is_caught() {
        let planted = [
            (0x0648_08a4, "iocsrrd"),
            (0x0648_1ca4, "iocsrwr"),
            (0x0000_6ca4, "cpucfg"),
            (0x0600_00a0, "cacop"),
            (0x0648_8000, "idle"),
            (0x002b_8000, "hypercall"),
            (0x2200_00a4, "ll or sc"),
            (0x3861_98a4, "atomic"),
            (0x5400_0800, "bl:"),
            (0x4c00_0081, "jirl with a link"),
            // csrrd of BADV (0x7), of the timer's value (0x42), and of TLBRENTRY (0x88)
            (0x0400_1c0c, "CSR 0x7"),
            (0x0401_080c, "CSR 0x42"),
            (0x0402_200c, "CSR 0x88"),
        ];
        for (word, fault) in planted {
            let faults = faults(&[0x02c0_04a4, word]);
            assert!(
                faults.len() == 1 && faults[0].starts_with("4: ") && faults[0].contains(fault),
                "{faults:?}"
            );
        }
    }
}
