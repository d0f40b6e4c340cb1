//! C-24 and C-30 on the posix server that was built, and planted instructions that the check must find.

use std::error::Error;

use model::host_text::{HostText, Stray, default_host};

fn text() -> Result<HostText, Box<dyn Error>> {
    Ok(HostText::read(&default_host())?)
}

#[test]
fn there_is_one_break_and_the_unit_is_the_vector_files() {
    let text = text().unwrap();
    assert!(text.words.len() > 10_000, "the text is there");
    assert!(!text.vector_file.is_empty());
    assert_eq!(text.strays(), Vec::new());
}

#[test]
fn planted_instructions_are_found() {
    let at = text().unwrap().address + 400;
    for (word, stray) in [
        (0x002a_0000, Stray::Break(at)),     // break 0
        (0x002a_0005, Stray::Break(at)),     // break 5
        (0x2b80_0080, Stray::Vector(at, 0)), // fld.d $f0, $a0, 0
        (0x2bc0_0080, Stray::Vector(at, 0)), // fst.d
        (0x2c00_0080, Stray::Vector(at, 0)), // vld
        (0x2cc0_0080, Stray::Vector(at, 0)), // xvst
        (0x0114_a880, Stray::Vector(at, 0)), // movgr2fr.d
        (0x0114_c000, Stray::Vector(at, 0)), // movgr2fcsr
        (0x0101_0000, Stray::Vector(at, 0)), // fadd.d
        (0x3834_0080, Stray::Vector(at, 0)), // fldx.d
        (0x4800_0000, Stray::Vector(at, 0)), // bceqz
        (0x700a_0000, Stray::Vector(at, 0)), // vadd.b
        (0x740a_0000, Stray::Vector(at, 0)), // xvadd.b
    ] {
        let mut text = text().unwrap();
        // Behind the assembly of the entries, in which the break is.
        text.words[100] = word;
        let stray = if let Stray::Vector(at, _) = stray { Stray::Vector(at, word) } else { stray };
        // The planted break may stand before or behind the only other one.
        let found = text.strays();
        match (stray, found.as_slice()) {
            (Stray::Break(_), [Stray::Break(_)]) => {}
            _ => assert_eq!(found, [stray], "{word:#010x}"),
        }
    }
    let mut text = text().unwrap();
    let index = text.words.iter().position(|word| *word == 0x002a_0000).unwrap();
    text.words[index] = 0x0340_0000;
    assert_eq!(text.strays(), [Stray::NoBreak]);
}
