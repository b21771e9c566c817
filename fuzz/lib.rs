//! What the targets share: turning bytes into texts that get past the door.

use innkeeper_testkit::soup::FRAGMENTS;

/// Bytes as text. Valid UTF-8 is taken as it is, so that seeds and findings can be read; in anything else each
/// byte that cannot be text chooses a fragment of a protocol.
pub fn text(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for &byte in chunk.invalid() {
            out.push_str(FRAGMENTS[usize::from(byte) % FRAGMENTS.len()]);
        }
    }
    out
}
