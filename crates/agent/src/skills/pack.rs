//! A skill as an archive. The same files give the same bytes, and whatever is packed here can be imported again.

use std::io::{self, Read as _, Write};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use rawzip::{CompressionMethod, DataDescriptorOutput, ZipArchiveWriter, crc32};
use sha2::{Digest, Sha256};

use super::error::SkillError;
use super::package::hex;
use super::source::Source;
use crate::limits::MAX_SKILL_RATIO;

/// Writes the archive, all of it in a folder of the skill's name, and gives its hash and length.
pub(crate) fn pack(
    name: &str,
    source: &dyn Source,
    out: &mut dyn Write,
) -> Result<(String, u64), SkillError> {
    let failed = |error: &dyn std::fmt::Display| {
        SkillError::storage(name, "packed", &io::Error::other(error.to_string()))
    };
    let hashed = Hashed {
        out,
        hasher: Sha256::new(),
        length: 0,
    };
    let mut archive = ZipArchiveWriter::new(hashed);
    for (at, item) in source.items().iter().enumerate() {
        let mut content = Vec::new();
        let mut reader = source.open(at)?.take(item.bytes + 1);
        reader
            .read_to_end(&mut content)
            .map_err(|error| failed(&error))?;
        if content.len() as u64 != item.bytes {
            return Err(failed(&format!("'{}' was changed meanwhile", item.path)));
        }
        let packed = packed(&content).map_err(|error| failed(&error))?;
        let (method, body) = match &packed {
            Some(packed) => (CompressionMethod::DEFLATE, packed),
            None => (CompressionMethod::STORE, &content),
        };
        let path = format!("{name}/{}", item.path);
        let started = archive
            .new_file(path.as_str())
            .compression_method(method)
            .unix_permissions(0o644)
            .start();
        let (mut entry, _) = started.map_err(|error| failed(&error))?;
        entry.write_all(body).map_err(|error| failed(&error))?;
        let about = DataDescriptorOutput::new(crc32(&content), item.bytes);
        entry.finish(about).map_err(|error| failed(&error))?;
    }
    let hashed = archive.finish().map_err(|error| failed(&error))?;
    hashed.out.flush().map_err(|error| failed(&error))?;
    Ok((hex(&hashed.hasher.finalize()), hashed.length))
}

/// None where packing gains nothing, or so much that whoever reads it would take it for a bomb.
fn packed(content: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content)?;
    let packed = encoder.finish()?;
    let (before, after) = (content.len() as u64, packed.len() as u64);
    let is_worth_it = after < before && before <= after.saturating_mul(MAX_SKILL_RATIO);
    Ok(is_worth_it.then_some(packed))
}

struct Hashed<'o> {
    out: &'o mut dyn Write,
    hasher: Sha256,
    length: u64,
}

impl Write for Hashed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(bytes.get(..written).unwrap_or_default());
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
