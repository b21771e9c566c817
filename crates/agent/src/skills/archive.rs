//! Archives (`.zip`, `.ttskill`): all that can be wrong with one is seen in its directory, before anything is unpacked.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::DeflateDecoder;
use rawzip::{
    CompressionMethod, Error, FileReader, RECOMMENDED_BUFFER_SIZE, ReaderAt, ZipArchive,
    ZipArchiveEntryWayfinder, ZipFileHeaderRecord, ZipLocator,
};

use super::error::SkillError;
use super::front::SKILL_MD;
use super::path::skill_path;
use super::source::{Item, Source, Top, arranged, check_size};
use crate::limits::{MAX_SKILL_ARCHIVE_BYTES, MAX_SKILL_ENTRIES, MAX_SKILL_RATIO};
use crate::workspace::quoted;

type Reader = Box<dyn ReaderAt>;

pub(crate) struct Archive {
    archive: ZipArchive<Reader>,
    items: Vec<Item>,
    ways: Vec<Way>,
}

#[derive(Clone, Copy)]
struct Way {
    place: ZipArchiveEntryWayfinder,
    is_packed: bool,
}

impl Archive {
    pub(crate) fn at(path: &Path) -> Result<Self, SkillError> {
        let shown = path.to_string_lossy();
        let failed = |error| SkillError::storage(&shown, "read", &error);
        // Before it is opened: a pipe would be waited for.
        let about = std::fs::metadata(path).map_err(failed)?;
        if !about.is_file() {
            let message = format!("'{}' is no plain file", quoted(&shown));
            return Err(SkillError::package("skill.archive_invalid", message));
        }
        if path
            .file_name()
            .is_some_and(|name| name.eq_ignore_ascii_case(SKILL_MD))
        {
            return Err(SkillError::package(
                "skill.archive_invalid",
                format!(
                    "'{}' is a file of a skill and not all of it: give the folder that it lies in",
                    quoted(&shown)
                ),
            ));
        }
        let file = File::open(path).map_err(failed)?;
        Self::of(Box::new(FileReader::from(file)), about.len())
    }

    pub(crate) fn of_bytes(bytes: Vec<u8>) -> Result<Self, SkillError> {
        let length = bytes.len() as u64;
        Self::of(Box::new(bytes), length)
    }

    fn of(reader: Reader, length: u64) -> Result<Self, SkillError> {
        if length > MAX_SKILL_ARCHIVE_BYTES {
            return Err(SkillError::package(
                "skill.archive_too_large",
                format!(
                    "the archive has {length} bytes; at most {} MiB are taken",
                    MAX_SKILL_ARCHIVE_BYTES >> 20
                ),
            ));
        }
        let mut buffer = vec![0_u8; RECOMMENDED_BUFFER_SIZE];
        let located = ZipLocator::new().locate_in_reader(reader, &mut buffer, length);
        let archive = located.map_err(|(_, error)| broken(&error))?;
        let found = entries(&archive, &mut buffer)?;
        let (items, ways) = arranged(found, Top::MayGo)?;
        check_overlaps(&archive, &ways)?;
        Ok(Self {
            archive,
            items,
            ways,
        })
    }
}

impl Source for Archive {
    fn items(&self) -> &[Item] {
        &self.items
    }

    fn open(&self, at: usize) -> Result<Box<dyn Read + '_>, SkillError> {
        let Some(way) = self.ways.get(at) else {
            return Ok(Box::new(std::io::empty()));
        };
        let entry = self
            .archive
            .get_entry(way.place)
            .map_err(|error| broken(&error))?;
        // Checksum and length are those of the directory, or reading fails.
        Ok(match way.is_packed {
            true => Box::new(entry.verifying_reader(DeflateDecoder::new(entry.reader()))),
            false => Box::new(entry.verifying_reader(entry.reader())),
        })
    }
}

fn entries(
    archive: &ZipArchive<Reader>,
    buffer: &mut [u8],
) -> Result<Vec<(String, u64, Way)>, SkillError> {
    let mut found = Vec::new();
    let mut seen = 0_usize;
    let mut entries = archive.entries(buffer);
    while let Some(entry) = entries.next_entry().map_err(|error| broken(&error))? {
        seen += 1;
        if seen > MAX_SKILL_ENTRIES {
            return Err(SkillError::package(
                "skill.too_many_files",
                format!("the archive has more than {MAX_SKILL_ENTRIES} entries"),
            ));
        }
        let path = entry.file_path();
        let name = std::str::from_utf8(path.as_bytes()).map_err(|_| {
            let name = String::from_utf8_lossy(path.as_bytes()).into_owned();
            SkillError::package(
                "skill.path_invalid",
                format!(
                    "'{}' has a name that is no UTF-8: pack the files with UTF-8 names",
                    quoted(&name)
                ),
            )
        })?;
        if name.ends_with(['/', '\\']) {
            // A folder is there with its files; its name must be a good one all the same.
            if name != "./" {
                skill_path(name)?;
            }
            continue;
        }
        let way = checked(name, &entry)?;
        found.push((name.to_owned(), entry.uncompressed_size_hint(), way));
    }
    if seen as u64 != archive.entries_hint() {
        let message = "the archive does not have as many entries as it says: make it anew";
        return Err(SkillError::package("skill.archive_invalid", message));
    }
    Ok(found)
}

fn checked(name: &str, entry: &ZipFileHeaderRecord<'_>) -> Result<Way, SkillError> {
    let wrong = |reason, why: &str| {
        let message = format!("'{}' in the archive {why}", quoted(name));
        Err(SkillError::package(reason, message))
    };
    // Kinds of files in the upper bits: none said, plain.
    const KIND: u32 = 0o170_000;
    const PLAIN: u32 = 0o100_000;
    let kind = entry.mode().value() & KIND;
    if entry.mode().is_symlink() || (kind != 0 && kind != PLAIN) {
        return wrong(
            "skill.not_plain",
            "is a link or no plain file: put the file itself into the package",
        );
    }
    if entry.flags().is_encrypted() {
        return wrong(
            "skill.archive_invalid",
            "is encrypted: pack it without a password",
        );
    }
    let method = entry.compression_method();
    let is_packed = method == CompressionMethod::DEFLATE;
    if !is_packed && method != CompressionMethod::STORE {
        return wrong(
            "skill.archive_invalid",
            "is packed in a way that is not known: use the usual one (deflate)",
        );
    }
    let (packed, unpacked) = (entry.compressed_size_hint(), entry.uncompressed_size_hint());
    if unpacked > packed.saturating_mul(MAX_SKILL_RATIO) {
        return wrong(
            "skill.archive_ratio",
            &format!(
                "would become more than {MAX_SKILL_RATIO} times as long: pack it without compression"
            ),
        );
    }
    check_size(name, unpacked)?;
    Ok(Way {
        place: entry.wayfinder(),
        is_packed,
    })
}

/// Entries that share their bytes make much out of little.
fn check_overlaps(archive: &ZipArchive<Reader>, ways: &[Way]) -> Result<(), SkillError> {
    let ranges = ways.iter().map(|way| {
        let entry = archive
            .get_entry(way.place)
            .map_err(|error| broken(&error))?;
        Ok(entry.compressed_data_range())
    });
    let mut ranges = ranges.collect::<Result<Vec<_>, SkillError>>()?;
    ranges.sort_unstable();
    let overlaps = |pair: &[(u64, u64)]| matches!(pair, [one, other] if one.1 > other.0);
    match ranges.windows(2).any(overlaps) {
        false => Ok(()),
        true => Err(SkillError::package(
            "skill.archive_invalid",
            "files of the archive share their bytes: make it anew",
        )),
    }
}

fn broken(error: &Error) -> SkillError {
    SkillError::package(
        "skill.archive_invalid",
        format!("this is no archive that can be read ({error}): give a .zip or .ttskill file"),
    )
}
