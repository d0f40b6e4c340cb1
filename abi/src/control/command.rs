//! A hosted program's command line as one argument of its host: `program=`, then the words in a record's form with
//! one space between them, so that neither spaces nor empty words are lost.

use core::fmt;

use super::Text;

/// What such an argument begins with.
const PREFIX: &str = "program=";

/// Command lines that are written: see [`Command::words`] for the way back.
#[derive(Clone, Copy, Debug)]
pub struct Command<I>(pub I);

impl<'a, I: Iterator<Item = Text<'a>> + Clone> fmt::Display for Command<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        for (index, word) in self.0.clone().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{}", word.encoded())?;
        }
        Ok(())
    }
}

impl Command<()> {
    /// The words of an argument that is a command line, the program's name first; a word that is not well encoded
    /// is nothing. `None` for any other argument.
    pub fn words(argument: &str) -> Option<impl Iterator<Item = Option<Text<'_>>>> {
        Some(argument.strip_prefix(PREFIX)?.split(' ').map(Text::of_encoded))
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn words_come_back_as_they_were() {
        for words in [&["/bin/true"][..], &["sh", "-c", "echo  two words", "", "%20", "ünï\n"], &[""]] {
            let line = Command(words.iter().map(|word| Text::new(word))).to_string();
            let read: Option<Vec<_>> = Command::words(&line).unwrap().collect();
            assert_eq!(read.unwrap(), words.iter().map(|word| Text::new(word)).collect::<Vec<_>>(), "{line}");
        }
    }

    #[test]
    fn other_arguments_are_no_command_and_bad_words_are_said() {
        assert!(Command::words("--fast").is_none());
        assert_eq!(
            Command::words("program=a %2").unwrap().map(|word| word.is_some()).collect::<Vec<_>>(),
            [true, false]
        );
    }
}
