//! Reading: whole files within a limit, and lines out of files of nearly any size.

use std::io::{BufRead, BufReader, Read};

use cap_std::fs::{File, Metadata, OpenOptions};
use sha2::{Digest, Sha256};

use super::mounts::Mounts;
use super::{FileError, FileUri, LineRange, Stop, TextPart};
use crate::limits::{MAX_READ_BYTES, MAX_SCAN_BYTES};

pub(super) fn whole(mounts: &Mounts, uri: &FileUri, limit: u64) -> Result<Vec<u8>, FileError> {
    let limit = limit.min(MAX_READ_BYTES);
    let (file, metadata) = open(mounts, uri)?;
    let too_large = |size| FileError::ReadTooLarge {
        uri: uri.clone(),
        size,
        limit,
    };
    if metadata.len() > limit {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    // It may grow while it is read: one byte more than allowed is enough to know.
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| FileError::at(uri, e))?;
    match bytes.len() as u64 {
        size if size > limit => Err(too_large(size)),
        _ => Ok(bytes),
    }
}

pub(super) fn text(uri: &FileUri, bytes: Vec<u8>) -> Result<String, FileError> {
    String::from_utf8(bytes).map_err(|e| FileError::NotText {
        uri: uri.clone(),
        at: e.utf8_error().valid_up_to() as u64,
    })
}

/// Goes through the file once. What it has grown by since it was opened is left out.
pub(super) fn lines(
    mounts: &Mounts,
    uri: &FileUri,
    range: LineRange,
    stop: &Stop,
) -> Result<TextPart, FileError> {
    let (file, metadata) = open(mounts, uri)?;
    let size = metadata.len();
    if size > MAX_SCAN_BYTES {
        return Err(FileError::ReadTooLarge {
            uri: uri.clone(),
            size,
            limit: MAX_SCAN_BYTES,
        });
    }
    let mut reader = BufReader::with_capacity(64 * 1024, file.take(size));
    let mut hash = Sha256::new();
    let mut taken = Taken::new(range);
    loop {
        if stop.is_cancelled() {
            return Err(FileError::Stopped(uri.to_string()));
        }
        let chunk = reader.fill_buf().map_err(|e| FileError::at(uri, e))?;
        if chunk.is_empty() {
            break;
        }
        hash.update(chunk);
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            taken.push(piece);
        }
        let length = chunk.len();
        reader.consume(length);
    }
    let mut part = taken.finish(uri)?;
    part.size = size;
    part.sha256 = hex(&hash.finalize());
    Ok(part)
}

fn open(mounts: &Mounts, uri: &FileUri) -> Result<(File, Metadata), FileError> {
    mounts.place(uri)?.open_file(OpenOptions::new().read(true))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Pieces of lines come in, the wanted lines stay.
struct Taken {
    range: LineRange,
    bytes: Vec<u8>,
    /// The line that the next piece belongs to.
    line: u64,
    at_line_start: bool,
    last: Option<u64>,
    /// The last taken line is only there in part.
    cut: bool,
    full: bool,
    /// Bytes of the file before the first one taken.
    before: u64,
}

impl Taken {
    fn new(range: LineRange) -> Self {
        Self {
            range,
            bytes: Vec::new(),
            line: 1,
            at_line_start: true,
            last: None,
            cut: false,
            full: false,
            before: 0,
        }
    }

    fn push(&mut self, piece: &[u8]) {
        let end = self.range.start.saturating_add(self.range.count);
        if self.line < self.range.start {
            self.before += piece.len() as u64;
        } else if self.line < end && !self.full {
            self.take(piece);
        }
        self.at_line_start = piece.ends_with(b"\n");
        if self.at_line_start {
            self.line += 1;
        }
    }

    fn take(&mut self, piece: &[u8]) {
        let room = self.range.max_bytes.saturating_sub(self.bytes.len());
        if piece.len() <= room {
            self.bytes.extend_from_slice(piece);
            self.last = Some(self.line);
            return;
        }
        self.full = true;
        // Whole lines only, unless there would be nothing at all.
        let whole = self.bytes.iter().rposition(|byte| *byte == b'\n');
        match whole {
            Some(end) => {
                self.bytes.truncate(end + 1);
                self.last = Some(self.line - 1);
            }
            None => {
                self.bytes.extend(piece.iter().take(room));
                self.last = Some(self.line);
                self.cut = true;
            }
        }
    }

    fn finish(mut self, uri: &FileUri) -> Result<TextPart, FileError> {
        let total = self.line - u64::from(self.at_line_start);
        if self.cut {
            // The cut may have gone through a character.
            let valid = match std::str::from_utf8(&self.bytes) {
                Err(e) if e.error_len().is_none() => e.valid_up_to(),
                _ => self.bytes.len(),
            };
            self.bytes.truncate(valid);
        }
        let text = String::from_utf8(self.bytes).map_err(|e| FileError::NotText {
            uri: uri.clone(),
            at: self.before + e.utf8_error().valid_up_to() as u64,
        })?;
        let end = self.last.unwrap_or(self.range.start.saturating_sub(1));
        Ok(TextPart {
            text,
            start_line: self.range.start,
            end_line: end,
            total_lines: total,
            truncated: self.cut || end < total,
            cut: self.cut,
            size: 0,
            sha256: String::new(),
        })
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
