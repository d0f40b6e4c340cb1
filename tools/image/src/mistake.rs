//! What the tool says when it refuses: a message, the places in the description, and what to do.

use miette::{Diagnostic, LabeledSpan, NamedSource, Report, SourceCode};
use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Bytes of the description that something was read from.
pub(crate) type Span = Range<usize>;

/// A value with its place in the description.
#[derive(Clone, Debug)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) span: Span,
}

/// A refusal before it knows which file it is about.
#[derive(Debug)]
pub(crate) struct Mistake {
    message: String,
    labels: Vec<LabeledSpan>,
    help: Option<String>,
}

impl Mistake {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), labels: Vec::new(), help: None }
    }

    /// Names a place, with what stands there.
    #[must_use]
    pub(crate) fn at(mut self, span: &Span, label: impl Into<String>) -> Self {
        self.labels.push(LabeledSpan::new_with_span(Some(label.into()), span.clone()));
        self
    }

    /// Says what to do.
    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn in_source(self, source: &Source) -> Report {
        Report::new(Failure { mistake: self, source: Some(source.named.clone()) })
    }

    /// For what has no place in a description.
    pub(crate) fn alone(self) -> Report {
        Report::new(Failure { mistake: self, source: None })
    }
}

/// A description's text and where it came from.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) text: Arc<str>,
    named: NamedSource<Arc<str>>,
}

impl Source {
    pub(crate) fn new(path: &Path, text: &str) -> Self {
        let text: Arc<str> = Arc::from(text);
        let named = NamedSource::new(path.display().to_string(), Arc::clone(&text));
        Self { text, named }
    }
}

#[derive(Debug)]
struct Failure {
    mistake: Mistake,
    source: Option<NamedSource<Arc<str>>>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.mistake.message)
    }
}

impl Error for Failure {}

impl Diagnostic for Failure {
    fn help(&self) -> Option<Box<dyn fmt::Display + '_>> {
        self.mistake.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        (!self.mistake.labels.is_empty())
            .then(|| Box::new(self.mistake.labels.iter().cloned()) as Box<dyn Iterator<Item = LabeledSpan>>)
    }
}

/// The candidate that somebody who wrote `word` may have meant.
pub(crate) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let close = |candidate: &&str| strsim::damerau_levenshtein(word, candidate) <= 1 + candidate.len() / 4;
    let distance = |candidate: &&str| strsim::damerau_levenshtein(word, candidate);
    candidates.into_iter().filter(close).min_by_key(distance)
}

/// "did you mean `x`?", or else the whole list of what is possible.
pub(crate) fn meant_or_list(word: &str, candidates: &[&str]) -> String {
    if let Some(close) = did_you_mean(word, candidates.iter().copied()) {
        return format!("did you mean `{close}`?");
    }
    if candidates.is_empty() {
        return String::from("there is none to name");
    }
    let list: Vec<String> = candidates.iter().map(|candidate| format!("`{candidate}`")).collect();
    format!("possible: {}", list.join(", "))
}
