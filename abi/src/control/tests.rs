//! Tests of the control line's records: what is written is read back, and nothing else is.

use std::string::{String, ToString};

use super::*;

fn line(record: Record<'_>) -> String {
    record.to_string()
}

#[test]
fn records_have_their_documented_form() {
    let name = Text::new("revoke, twice");
    assert_eq!(line(Record::Exit { code: 3 }), "exit code=3");
    let passed = Record::Test { name, result: TestResult::Passed, reason: Text::new("") };
    assert_eq!(line(passed), "test name=revoke,%20twice result=passed");
    let skipped = Record::Test { name, result: TestResult::Skipped, reason: Text::new("no PLV2") };
    assert_eq!(line(skipped), "test name=revoke,%20twice result=skipped reason=no%20PLV2");
    let selftest = Record::SelfTest {
        name: Text::new("stlbps"),
        result: SelfTestResult::Missing,
        detail: Text::new("16 KiB"),
    };
    assert_eq!(line(selftest), "selftest name=stlbps result=missing detail=16%20KiB");
    assert_eq!(line(Record::Bench { name: Text::new("rt0"), n: 1000 }), "bench name=rt0 n=1000");
    assert_eq!(line(Record::Panic { place: Text::new("kernel") }), "panic where=kernel");
    assert_eq!(line(Record::InputReady), "input-ready");
    assert_eq!(line(Record::Strace { text: Text::new("exit(0)") }), "strace text=exit(0)");
    let program = Record::Program { number: 2, status: 139, output: 10, errors: 0, frames: 9, left: 1 };
    assert_eq!(line(program), "program number=2 status=139 output=10 errors=0 frames=9 left=1");
    for record in [Record::InputReady, program] {
        assert_eq!(Record::parse(&line(record)), Ok(record));
    }
}

#[test]
fn requests_have_their_documented_form() {
    let request = Request::InputEnds { after: 70_000 };
    assert_eq!(request.to_string(), "input-ends after=70000");
    assert_eq!(Request::parse("input-ends after=70000\n"), Ok(request));
    assert_eq!(Request::parse("input-ends"), Err(RecordError::MissingKey("after")));
    assert_eq!(Request::parse("exit code=0"), Err(RecordError::UnknownKind));
    assert!(u64::MAX.to_string().len() + "input-ends after=".len() < Request::BYTES);
    let request = Request::Window { rows: u16::MAX, columns: u16::MAX };
    assert_eq!(Request::parse(&request.to_string()), Ok(request));
    assert!(request.to_string().len() <= crate::ring::ENTRY_TEXT_BYTES, "it goes on in one entry");
    assert_eq!(Request::parse("window rows=24 columns=-1"), Err(RecordError::BadValue("columns")));
}

#[test]
fn what_is_written_is_read_back() {
    for text in ["", "plain", "with space", "100 % sure", "two\nexit code=0", "Größe ≤ 5", "a=b"] {
        let record =
            Record::Test { name: Text::new("n"), result: TestResult::Failed, reason: Text::new(text) };
        let written = line(record);
        assert_eq!(written.lines().count(), 1, "no text makes a second record");
        assert_eq!(Record::parse(&written), Ok(record));
        let Ok(Record::Test { reason, .. }) = Record::parse(&written) else { panic!("{written}") };
        assert_eq!(reason.to_string(), text);
        assert_eq!(line(Record::parse(&written).unwrap()), written, "a read record can be written again");
    }
}

#[test]
fn a_records_line_end_is_no_part_of_it() {
    assert_eq!(Record::parse("exit code=0\r\n"), Ok(Record::Exit { code: 0 }));
}

#[test]
fn what_is_no_record_is_refused_with_the_reason() {
    assert_eq!(Record::parse(""), Err(RecordError::UnknownKind));
    assert_eq!(Record::parse("exits code=0"), Err(RecordError::UnknownKind));
    assert_eq!(Record::parse("exit"), Err(RecordError::MissingKey("code")));
    assert_eq!(Record::parse("exit code=256"), Err(RecordError::BadValue("code")));
    assert_eq!(Record::parse("test name=x"), Err(RecordError::MissingKey("result")));
    assert_eq!(Record::parse("test name=x result=fine"), Err(RecordError::BadValue("result")));
    assert_eq!(Record::parse("panic where=%2"), Err(RecordError::BadValue("where")));
    assert_eq!(Record::parse("panic where=%zz"), Err(RecordError::BadValue("where")));
}

#[test]
fn bytes_that_are_no_text_are_shown_as_such() {
    let Ok(Record::Panic { place }) = Record::parse("panic where=%ff%c3") else { panic!("a record") };
    assert_eq!(place.to_string(), "\u{fffd}\u{fffd}");
}
