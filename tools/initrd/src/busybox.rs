//! Owns which commands a busybox has.
//!
//! It keeps their names in its read-only data, one after the other in alphabetical order, each ended by a zero byte, the
//! list by an empty name. So `--install` needs no run of the program.

/// How the list begins: `[` and `[[` come before every letter.
const BEGINNING: &[u8] = b"[\0[[\0";
/// Fewer commands than any busybox of a distribution has: what is shorter is no such list.
const LEAST: usize = 20;

/// Returns the commands that a busybox knows, or nothing if the program has no such list.
#[must_use]
pub fn commands(program: &[u8]) -> Option<Vec<String>> {
    let places = program.windows(BEGINNING.len()).enumerate();
    let mut lists =
        places.filter(|(_, window)| *window == BEGINNING).filter_map(|(at, _)| list(program.get(at..)?));
    lists.next()
}

fn list(from: &[u8]) -> Option<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for name in from.split(|byte| *byte == 0).take_while(|name| !name.is_empty()) {
        let name = str::from_utf8(name).ok()?.to_owned();
        if names.last().is_some_and(|before| *before >= name) {
            return None;
        }
        names.push(name);
    }
    (names.len() >= LEAST).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_found_among_other_bytes() {
        let names: Vec<String> = (b'a'..=b'z').map(|letter| char::from(letter).to_string()).collect();
        let mut program = b"\x7fELF[\0[[\0short\0\0 x".to_vec();
        program.extend_from_slice(BEGINNING);
        names.iter().for_each(|name| program.extend_from_slice(format!("{name}\0").as_bytes()));
        program.extend_from_slice(b"\0/bin/sh\0");
        let found = commands(&program).unwrap();
        assert_eq!(found[..3], ["[", "[[", "a"]);
        assert_eq!(found.len(), 28);
        assert_eq!(commands(b"\x7fELF"), None);
    }
}
