//! Every number that bounds the command line. A test crosses each of them.

/// Largest reply that `parse` reads from a file or from standard input, in bytes.
pub(crate) const MAX_REPLY_BYTES: u64 = 256 * MIB;
/// Longest line that `parse --jsonl` reads, in bytes, its line end not counted.
pub(crate) const MAX_LINE_BYTES: u64 = 64 * MIB;
/// Longest part of something the user gave that an error line repeats, in characters.
pub(crate) const MAX_SHOWN_CHARS: usize = 200;

pub(crate) const MIB: u64 = 1024 * 1024;
