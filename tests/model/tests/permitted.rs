//! C-12 on the kernel that was built, and planted violations that the check must find.

use model::permitted::{Violation, violations};
use model::section::{HotSection, SectionError, default_kernel};

fn hot_section() -> Result<HotSection, SectionError> {
    HotSection::read(&default_kernel())
}

#[test]
fn the_hot_path_causes_no_exit() {
    let section = hot_section().unwrap();
    assert!(section.words.len() > 100, "the section is there");
    assert_eq!(violations(&section).unwrap(), Vec::new());
}

#[test]
fn planted_violations_are_found() {
    let planted = [
        0x0648_0885, // iocsrrd.w
        0x0000_6c85, // cpucfg
        0x0600_0000, // cacop
        0x0648_8000, // idle
        0x002b_8100, // hvcl
        0x0406_0004, // csrrd $a0, DMW0
        0x5400_0400, // bl
        0x5000_0200, // b far away
    ];
    for word in planted {
        let mut section = hot_section().unwrap();
        let address = section.symbol("bixi_hot_call").unwrap() + 8;
        let index = usize::try_from((address - section.address) / 4).unwrap();
        section.words[index] = word;
        let found = violations(&section).unwrap();
        assert!(
            matches!(
                found.as_slice(),
                [Violation::Instruction(at, _) | Violation::Register(at, _) | Violation::Target(at, _)] if *at == address
            ),
            "{word:#010x}: {found:?}"
        );
    }
}
