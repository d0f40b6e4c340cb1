//! One table of a description, read key by key.
//!
//! Every key is known to [`Keys::new`], so that an unknown one is refused before anything is read.

use super::units::{read_bytes, show_bytes};
use crate::mistake::{At, Mistake, Span, meant_or_list};
use std::ops::RangeInclusive;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

type Read<T> = Result<T, Mistake>;

/// A table, what it is called in messages, and where it stands.
pub(crate) struct Keys<'t> {
    what: &'static str,
    span: Span,
    table: &'t DeTable<'t>,
}

impl<'t> Keys<'t> {
    /// Refuses a table with a key that is not in the list.
    pub(crate) fn new(what: &'static str, span: Span, table: &'t DeTable<'t>, known: &[&str]) -> Read<Self> {
        let unknown = table.keys().filter(|key| !known.contains(&key.get_ref().as_ref()));
        if let Some(key) = unknown.min_by_key(|key| key.span().start) {
            let name = key.get_ref();
            return Err(Mistake::new(format!("unknown key `{name}` in {what}"))
                .at(&key.span(), "not a key of this table")
                .help(meant_or_list(name, known)));
        }
        Ok(Self { what, span, table })
    }

    /// The table's own place: its head.
    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.table.get(key)
    }

    /// A value that must be there.
    pub(crate) fn required<T>(&self, key: &str, value: Option<T>) -> Read<T> {
        value.ok_or_else(|| {
            Mistake::new(format!("{} has no `{key}`", self.what))
                .at(&self.span, format!("add a line `{key} = …` here"))
        })
    }

    pub(crate) fn text(&self, key: &str) -> Read<Option<At<String>>> {
        self.get(key).map(|value| text(key, value)).transpose()
    }

    /// A name: it ends up in messages, and root finds capabilities by it.
    pub(crate) fn name(&self, key: &str) -> Read<Option<At<String>>> {
        self.text(key)?.map(|name| check_name(key, name)).transpose()
    }

    pub(crate) fn names(&self, key: &str) -> Read<Vec<At<String>>> {
        self.texts(key)?.into_iter().map(|name| check_name(key, name)).collect()
    }

    pub(crate) fn texts(&self, key: &str) -> Read<Vec<At<String>>> {
        let Some(list) = self.get(key) else { return Ok(Vec::new()) };
        items(key, list)?.iter().map(|value| text(key, value)).collect()
    }

    pub(crate) fn number(&self, key: &str, range: RangeInclusive<u64>) -> Read<Option<At<u64>>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let DeValue::Integer(integer) = value.get_ref() else {
            return Err(wrong_type(key, value, "a whole number"));
        };
        let parsed = i128::from_str_radix(&integer.as_str().replace('_', ""), integer.radix());
        let (from, to) = range.clone().into_inner();
        match parsed.ok().and_then(|number| u64::try_from(number).ok()) {
            Some(number) if range.contains(&number) => Ok(Some(At { value: number, span: value.span() })),
            _ => Err(Mistake::new(format!("`{key}` is out of range"))
                .at(&value.span(), format!("must be from {from} to {}", Limit(to)))),
        }
    }

    pub(crate) fn bytes(&self, key: &str) -> Read<Option<At<u64>>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let help = format!("write a text with a unit, such as `{key} = \"16MiB\"` (B, KiB, MiB or GiB)");
        let DeValue::String(text) = value.get_ref() else {
            return Err(wrong_type(key, value, "an amount of memory").help(help));
        };
        let bytes = read_bytes(text).map_err(|fault| {
            Mistake::new(format!("`{key}` is no amount of memory"))
                .at(&value.span(), format!("`{text}` {fault}"))
                .help(help)
        })?;
        Ok(Some(At { value: bytes, span: value.span() }))
    }

    /// Bytes that root takes from one Untyped: a power of two, at least a page.
    pub(crate) fn power_of_two_bytes(&self, key: &str, least: u64) -> Read<Option<At<u64>>> {
        let Some(bytes) = self.bytes(key)? else { return Ok(None) };
        if bytes.value >= least && bytes.value.is_power_of_two() {
            return Ok(Some(bytes));
        }
        let next = bytes.value.max(least).checked_next_power_of_two().unwrap_or(1 << 63);
        Err(Mistake::new(format!("`{key}` is not a power of two of at least {}", show_bytes(least)))
            .at(&bytes.span, "given as one Untyped, which has such a size")
            .help(format!("the next larger one is {}", show_bytes(next))))
    }

    /// One word of a list of words.
    pub(crate) fn choice<T: Copy>(&self, key: &str, words: &[(&'static str, T)]) -> Read<Option<At<T>>> {
        let Some(word) = self.text(key)? else { return Ok(None) };
        Ok(Some(At { value: choose(key, &word, words)?, span: word.span }))
    }

    /// A table in this one, all of whose keys may be left out.
    pub(crate) fn table(&self, key: &'static str, known: &[&str]) -> Read<Option<Self>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let DeValue::Table(table) = value.get_ref() else {
            return Err(
                wrong_type(key, value, "a table").help(format!("write `{key} = {{}}`, or its keys within"))
            );
        };
        Self::new(key, value.span(), table, known).map(Some)
    }

    /// Words of a list of words, each at most once.
    pub(crate) fn choices<T: Copy>(&self, key: &str, words: &[(&'static str, T)]) -> Read<Vec<T>> {
        let given = self.texts(key)?;
        for (index, word) in given.iter().enumerate() {
            if let Some(first) = given.iter().take(index).find(|first| first.value == word.value) {
                return Err(Mistake::new(format!("`{}` stands twice in `{key}`", word.value))
                    .at(&first.span, "here")
                    .at(&word.span, "and here"));
            }
        }
        given.iter().map(|word| choose(key, word, words)).collect()
    }
}

/// The tables of `[[key]]`, each with the place of its head.
pub(crate) fn tables<'t>(root: &'t DeTable<'t>, key: &str) -> Read<Vec<(Span, &'t DeTable<'t>)>> {
    let Some(value) = root.get(key) else { return Ok(Vec::new()) };
    let help = format!("each {key} begins with a line `[[{key}]]`");
    let DeValue::Array(list) = value.get_ref() else {
        return Err(wrong_type(key, value, "a list of tables").help(help));
    };
    let table = |item: &'t Spanned<DeValue<'t>>| match item.get_ref() {
        DeValue::Table(table) => Ok((item.span(), table)),
        _ => Err(wrong_type(key, item, "a table").help(help.clone())),
    };
    list.iter().map(table).collect()
}

/// The items of a list.
fn items<'t>(key: &str, value: &'t Spanned<DeValue<'t>>) -> Read<&'t DeArray<'t>> {
    match value.get_ref() {
        DeValue::Array(list) => Ok(list),
        _ => Err(wrong_type(key, value, "a list").help(format!("write it as `{key} = [\"…\"]`"))),
    }
}

fn text(key: &str, value: &Spanned<DeValue<'_>>) -> Read<At<String>> {
    match value.get_ref() {
        DeValue::String(text) => Ok(At { value: text.to_string(), span: value.span() }),
        _ => Err(wrong_type(key, value, "a text in quotes")),
    }
}

fn check_name(key: &str, name: At<String>) -> Read<At<String>> {
    let mut bytes = name.value.bytes();
    let first = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase());
    let rest = bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte));
    if first && rest && name.value.len() <= abi::description::MAX_NAME {
        return Ok(name);
    }
    let most = abi::description::MAX_NAME;
    Err(Mistake::new(format!("`{}` cannot be a name (in `{key}`)", name.value))
        .at(&name.span, "not a name")
        .help(format!("a name has at most {most} characters: a-z first, then a-z, 0-9, `-` and `_`")))
}

fn choose<T: Copy>(key: &str, word: &At<String>, words: &[(&'static str, T)]) -> Read<T> {
    let found = words.iter().find(|(name, _)| *name == word.value);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        Mistake::new(format!("`{}` is no value of `{key}`", word.value))
            .at(&word.span, "not one of the words for it")
            .help(meant_or_list(&word.value, &names))
    })
}

fn wrong_type(key: &str, value: &Spanned<DeValue<'_>>, wanted: &str) -> Mistake {
    let found = match value.get_ref() {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with decimals",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    Mistake::new(format!("`{key}` must be {wanted}")).at(&value.span(), format!("this is {found}"))
}

/// The upper end of a range, in words where digits say nothing.
struct Limit(u64);

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0 == u64::MAX { f.write_str("2^64 - 1") } else { self.0.fmt(f) }
    }
}
