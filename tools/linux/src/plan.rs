//! Owns the plan: how the guest's first process is told what to run, and the time. Its reader is `init/init.c`.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::program::{Group, Program};
use initrd::cpio::Archive;

/// The folder for the plan and the programs' inputs.
const FOLDER: &str = "bixi";

/// Adds the plan, the programs' inputs and the time to an archive.
pub(crate) fn add(archive: &mut Archive, groups: &[Group]) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    archive.folder(FOLDER, 0o755).file(format!("{FOLDER}/time"), 0o644, now.as_secs().to_string().as_bytes());
    let mut plan = Strings::default();
    let mut number = 0_usize;
    for group in groups {
        plan.add(&group.programs.len().to_string()).add(&group.time_limit.as_millis().to_string());
        for program in &group.programs {
            let input = format!("{FOLDER}/input{number}");
            archive.file(&input, 0o644, &program.input);
            plan.add_program(program, &format!("/{input}"));
            number += 1;
        }
    }
    archive.file(format!("{FOLDER}/plan"), 0o644, &plan.0);
}

/// Strings, each ended by a zero byte.
#[derive(Default)]
struct Strings(Vec<u8>);

impl Strings {
    fn add(&mut self, text: &str) -> &mut Self {
        self.0.extend(text.bytes().filter(|&byte| byte != 0));
        self.0.push(0);
        self
    }

    fn add_program(&mut self, program: &Program, input: &str) {
        self.add(&program.path).add(input);
        for list in [&program.arguments, &program.environment] {
            self.add(&list.len().to_string());
            for word in list {
                self.add(word);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_group_is_a_list_of_strings() {
        let program = Program {
            path: "/bin/echo".into(),
            arguments: vec!["echo".into(), "a b".into()],
            environment: vec!["HOME=/".into()],
            input: b"in".to_vec(),
        };
        let group = Group { programs: vec![program], time_limit: Duration::from_secs(2) };
        let mut archive = Archive::new();
        add(&mut archive, &[group.clone(), group]);
        let text = String::from_utf8(archive.finish()).unwrap();
        let one =
            |number| format!("1\x002000\0/bin/echo\0/bixi/input{number}\x002\0echo\0a b\x001\0HOME=/\0");
        assert!(text.contains(&format!("{}{}", one(0), one(1))), "{text:?}");
    }
}
