//! Owns the plugin's options: `out=FILE` for the pairs, `hist=FILE` for the profile.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where the plugin writes.
#[derive(Debug, Default)]
pub(super) struct Options {
    output: Option<PathBuf>,
    histogram: Option<PathBuf>,
}

impl Options {
    /// Reads the options as QEMU passes them.
    ///
    /// # Safety
    /// `arguments` points to `count` pointers to C strings.
    pub(super) unsafe fn of_arguments(count: c_int, arguments: *const *const c_char) -> Result<Self, String> {
        let mut options = Self::default();
        for index in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: the caller's promise.
            let place = unsafe { arguments.add(index) };
            // SAFETY: the caller's promise.
            let argument = unsafe { place.read() };
            // SAFETY: the caller's promise.
            options.take(unsafe { CStr::from_ptr(argument) })?;
        }
        Ok(options)
    }

    fn take(&mut self, argument: &CStr) -> Result<(), String> {
        let file = |prefix: &[u8]| {
            argument.to_bytes().strip_prefix(prefix).map(|n| PathBuf::from(OsStr::from_bytes(n)))
        };
        if let Some(file) = file(b"out=") {
            self.output = Some(file);
        } else if let Some(file) = file(b"hist=") {
            self.histogram = Some(file);
        } else {
            return Err(format!("no such option: {argument:?} (out=FILE, hist=FILE)"));
        }
        Ok(())
    }

    /// Opens the file for the pairs; standard error if none was named.
    pub(super) fn output(&self) -> Result<Box<dyn Write + Send>, String> {
        self.output.as_deref().map_or_else(|| Ok(Box::new(std::io::stderr()) as Box<_>), open)
    }

    /// Opens the file for the profile, if one was named.
    pub(super) fn histogram(&self) -> Result<Option<Box<dyn Write + Send>>, String> {
        self.histogram.as_deref().map(open).transpose()
    }
}

/// Opens a file without buffering: a line must be there when the guest powers off and QEMU ends without notice.
fn open(file: &Path) -> Result<Box<dyn Write + Send>, String> {
    let opened = OpenOptions::new().create(true).append(true).open(file);
    opened
        .map(|file| Box::new(file) as Box<_>)
        .map_err(|error| format!("cannot write {}: {error}", file.display()))
}
