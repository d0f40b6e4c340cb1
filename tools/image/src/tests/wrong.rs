//! One tiny wrong description a file, named after the mistake, and what is said of it.
//!
//! `tests/wrong/NAME.toml` is built, and the message compared with `tests/wrong/NAME.txt`. With
//! `BLESS=1 cargo test -p image` the messages are written instead, to be read before they are committed.

use super::fixture;
use crate::{LoadAddress, build};
use miette::{GraphicalReportHandler, GraphicalTheme, Report};
use std::fs;
use std::path::{Path, PathBuf};

/// Wide enough that no line is folded, since a folder's length differs from machine to machine.
const WIDTH: usize = 1000;

fn render(report: &Report, folder: &Path) -> String {
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(WIDTH);
    let mut text = String::new();
    handler.render_report(&mut text, report.as_ref()).unwrap();
    text.replace(&folder.display().to_string(), "FOLDER")
}

fn wrong_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    files
}

#[test]
fn each_wrong_description_has_its_message() {
    let folder = fixture::folder();
    let mut differing = Vec::new();
    for path in wrong_files() {
        // Copied, so that messages name no folder of this machine.
        let copy = folder.path().join(path.file_name().unwrap());
        fs::copy(&path, &copy).unwrap();
        let message = match build(&fixture::request(folder.path(), &copy)) {
            Ok(_) => format!("{} was accepted", path.display()),
            Err(report) => render(&report, folder.path()),
        };
        let expected = path.with_extension("txt");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&expected, &message).unwrap();
        }
        if fs::read_to_string(&expected).unwrap_or_default() != message {
            differing.push(message);
        }
    }
    assert!(differing.is_empty(), "not what tests/wrong/*.txt say:\n{}", differing.join("\n"));
    assert!(wrong_files().len() > 50, "the wrong descriptions were not found");
}

#[test]
fn a_load_address_is_refused_where_there_is_no_memory() {
    let folder = fixture::folder();
    let description = folder.path().join("right.toml");
    fs::write(&description, "[system]\nname = \"right\"\nmemory = \"512MiB\"\n").unwrap();
    let refused = |address: u64| {
        let mut request = fixture::request(folder.path(), &description);
        request.load_address = LoadAddress::new(address).unwrap();
        render(&build(&request).unwrap_err(), folder.path())
    };
    assert!(refused(0x4000).contains("the lowest is 0x200000"));
    let text = refused(0x1fe0_0000);
    assert!(text.contains("memory is 0x0 to 0x10000000 and 0x80000000 to 0x90000000"), "{text}");
    assert!(refused(0x9000_0000).contains("does not fit into memory at 0x90000000"));
    assert_eq!(LoadAddress::new(0x20_0001), None);
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let folder = fixture::folder();
    let description = folder.path().join("none.toml");
    let request = fixture::request(folder.path(), &description);
    assert!(render(&build(&request).unwrap_err(), folder.path()).contains("FOLDER/none.toml"));
    fs::write(&description, b"\xff\xfe").unwrap();
    assert!(render(&build(&request).unwrap_err(), folder.path()).contains("is not UTF-8 text"));
}

#[test]
fn the_firmware_form_says_that_it_is_not_there() {
    let folder = fixture::folder();
    let mut request = fixture::request(folder.path(), Path::new("none.toml"));
    request.form = crate::Form::Efi;
    assert!(render(&build(&request).unwrap_err(), folder.path()).contains("are not there yet"));
}

#[test]
fn the_shipped_descriptions_are_accepted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../images");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "toml") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let compiled = crate::compile_description(&path, &text);
        assert!(compiled.is_ok(), "{}", render(&compiled.unwrap_err(), Path::new("images")));
        count += 1;
    }
    assert!(count >= 2);
}
