//! What a command is given to read: a file or standard input, bounded.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Place};

/// Where the text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    File(PathBuf),
    Stdin,
}

impl Source {
    /// Waiting for a person to type is right only where they asked for it with `-`.
    pub(crate) fn of(
        command: &'static str,
        file: Option<&Path>,
        stdin_is_terminal: bool,
    ) -> Result<Self, Failure> {
        match file {
            Some(path) if path.as_os_str() == "-" => Ok(Self::Stdin),
            Some(path) => Ok(Self::File(path.to_owned())),
            None if stdin_is_terminal => Err(Failure::NoInput(command)),
            None => Ok(Self::Stdin),
        }
    }

    pub(crate) fn place(&self) -> Place {
        match self {
            Self::File(path) => Place::file(path),
            Self::Stdin => Place::Stdin,
        }
    }
}

/// Opens a file that can be read; one known to be over the limit is refused before it is read.
pub(crate) fn open(path: &Path, place: &Place, limit: Option<u64>) -> Result<File, Failure> {
    let file = File::open(path).map_err(|error| Failure::reading(place.clone(), error))?;
    let about = file
        .metadata()
        .map_err(|error| Failure::reading(place.clone(), error))?;
    if about.is_dir() {
        return Err(Failure::IsDirectory(place.clone()));
    }
    if let Some(limit) = limit.filter(|limit| about.len() > *limit) {
        return Err(Failure::TooLarge(place.clone(), limit));
    }
    Ok(file)
}

/// The whole input as text, if it is no longer than `limit`.
pub(crate) fn whole(input: impl Read, place: Place, limit: u64) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = input.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    if let Err(error) = read {
        return Err(Failure::reading(place, error));
    }
    if bytes.len() as u64 > limit {
        return Err(Failure::TooLarge(place, limit));
    }
    match String::from_utf8(bytes) {
        Ok(text) => match first_binary_byte(text.as_bytes()) {
            Some(at) => Err(Failure::NotText(place, at)),
            None => Ok(text),
        },
        Err(error) => Err(Failure::NotText(
            place,
            error.utf8_error().valid_up_to() as u64,
        )),
    }
}

/// Where a file gives itself away as binary although it happens to be valid UTF-8: a stray NUL in a text is
/// none of our business, a text that is mostly control characters is no text.
fn first_binary_byte(bytes: &[u8]) -> Option<u64> {
    const LOOK: usize = 8_192;
    const FEW: usize = 4;
    let head = bytes.get(..LOOK.min(bytes.len()))?;
    let is_binary =
        |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x1b);
    let count = head.iter().filter(|byte| is_binary(byte)).count();
    if count < FEW || count * 10 < head.len() * 3 {
        return None;
    }
    head.iter().position(is_binary).map(|at| at as u64)
}

/// All that a source holds, if it is text of at most `limit` bytes.
pub(crate) fn text_of(source: &Source, limit: u64, stdin: impl Read) -> Result<String, Failure> {
    let place = source.place();
    match source {
        Source::Stdin => whole(stdin, place, limit),
        Source::File(path) => whole(open(path, &place, Some(limit))?, place, limit),
    }
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
