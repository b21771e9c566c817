//! Where the files of a package come from. All names and sizes are known, and within bounds, before anything is read; what
//! is read is exactly as long as was said.

use std::io::{Cursor, Read};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::error::SkillError;
use super::front::SKILL_MD;
use super::manifest::MANIFEST;
use super::path::{Paths, is_litter, skill_path};
use crate::limits::{
    MAX_SKILL_BYTES, MAX_SKILL_FILE_BYTES, MAX_SKILL_FILES, MAX_SKILL_MANIFEST_BYTES,
    MAX_SKILL_MD_BYTES,
};
use crate::workspace::{WorkspacePath, quoted};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) path: String,
    pub(crate) bytes: u64,
}

pub(crate) trait Source {
    /// In the order of their paths.
    fn items(&self) -> &[Item];

    fn open(&self, at: usize) -> Result<Box<dyn Read + '_>, SkillError>;
}

/// Whether a package may lie in one folder of what was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Top {
    Kept,
    /// Archives are often made of the folder, not of what is in it.
    MayGo,
}

/// Puts what was found into order, with whatever is needed to read each; or says what is wrong with a name or a size.
pub(crate) fn arranged<T>(
    found: Vec<(String, u64, T)>,
    top: Top,
) -> Result<(Vec<Item>, Vec<T>), SkillError> {
    let found = found.into_iter().filter(|(name, ..)| !is_litter(name));
    let named = found.map(|(name, bytes, way)| Ok((skill_path(&name)?, bytes, way)));
    let mut named = named.collect::<Result<Vec<_>, SkillError>>()?;
    if named.len() > MAX_SKILL_FILES {
        return Err(SkillError::package(
            "skill.too_many_files",
            format!(
                "the package has {} files; at most {MAX_SKILL_FILES} are taken",
                named.len()
            ),
        ));
    }
    if top == Top::MayGo {
        leave_top(&mut named)?;
    }
    named.sort_by(|one, other| one.0.cmp(&other.0));
    let mut paths = Paths::default();
    let mut total = 0_u64;
    let (mut items, mut ways) = (Vec::new(), Vec::new());
    for (path, bytes, way) in named {
        paths.add(&path)?;
        check_size(path.as_str(), bytes)?;
        total = total.saturating_add(bytes);
        items.push(Item {
            path: path.as_str().to_owned(),
            bytes,
        });
        ways.push(way);
    }
    check_total(total)?;
    match items.iter().any(|item| item.path == SKILL_MD) {
        true => Ok((items, ways)),
        false => Err(no_skill_md(&items)),
    }
}

/// With one that lies elsewhere, or is spelled otherwise.
fn no_skill_md(items: &[Item]) -> SkillError {
    let name = |path: &str| {
        path.rsplit('/')
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case(SKILL_MD))
    };
    let found = match items.iter().find(|item| name(&item.path)) {
        Some(item) => format!("'{}' has to be {SKILL_MD} there", quoted(&item.path)),
        None => "a skill begins with one".to_owned(),
    };
    SkillError::package(
        "skill.skill_md_missing",
        format!("there is no {SKILL_MD} at the top of the package: {found}"),
    )
}

fn leave_top<T>(named: &mut [(WorkspacePath, u64, T)]) -> Result<(), SkillError> {
    let Some((first, ..)) = named.first() else {
        return Ok(());
    };
    let top = first.root().to_owned();
    let is_below = |path: &WorkspacePath| !path.is_root() && path.root() == top;
    if named.iter().all(|(path, ..)| is_below(path)) {
        for (path, ..) in named {
            let rest = path.as_str().split_once('/').map_or("", |(_, rest)| rest);
            *path = skill_path(rest)?;
        }
    }
    Ok(())
}

pub(crate) fn check_size(path: &str, bytes: u64) -> Result<(), SkillError> {
    let (most, reason) = match path {
        SKILL_MD => (MAX_SKILL_MD_BYTES, "skill.skill_md_too_large"),
        MANIFEST => (MAX_SKILL_MANIFEST_BYTES, "skill.manifest_invalid"),
        _ => (MAX_SKILL_FILE_BYTES, "skill.file_too_large"),
    };
    match bytes <= most {
        true => Ok(()),
        false => Err(SkillError::package(
            reason,
            format!(
                "'{}' has {bytes} bytes; at most {} KiB are taken: make it shorter, or leave it out",
                quoted(path),
                most >> 10
            ),
        )),
    }
}

pub(crate) fn check_total(bytes: u64) -> Result<(), SkillError> {
    match bytes <= MAX_SKILL_BYTES {
        true => Ok(()),
        false => Err(SkillError::package(
            "skill.too_large",
            format!(
                "the files of the package have {bytes} bytes together; at most {} MiB are taken",
                MAX_SKILL_BYTES >> 20
            ),
        )),
    }
}

/// Gives all of a file, piece by piece.
pub(crate) fn read_through(
    source: &dyn Source,
    at: usize,
    take: &mut dyn FnMut(&[u8]) -> Result<(), SkillError>,
) -> Result<(), SkillError> {
    let Some(item) = source.items().get(at) else {
        return Ok(());
    };
    let mut reader = source.open(at)?;
    let mut buffer = vec![0_u8; 64 << 10];
    let mut read = 0_u64;
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => {
                return Err(SkillError::package(
                    "skill.unreadable",
                    format!(
                        "'{}' of the package cannot be read ({error}): make the package anew",
                        quoted(&item.path)
                    ),
                ));
            }
        };
        read += count as u64;
        if read > item.bytes || (count == 0 && read < item.bytes) {
            return Err(SkillError::package(
                "skill.size_mismatch",
                format!(
                    "'{}' is not as long as it was said to be ({} bytes): it was changed meanwhile, or the package is damaged; try again, or make it anew",
                    quoted(&item.path),
                    item.bytes
                ),
            ));
        }
        if count == 0 {
            return Ok(());
        }
        take(buffer.get(..count).unwrap_or_default())?;
    }
}

/// A file that came with the request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InlineFile {
    pub path: String,
    pub content: String,
    #[serde(default)]
    pub encoding: InlineEncoding,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InlineEncoding {
    #[default]
    Utf8,
    Base64,
}

pub(crate) struct Inline {
    items: Vec<Item>,
    contents: Vec<Vec<u8>>,
}

impl Inline {
    pub(crate) fn of(files: &[InlineFile]) -> Result<Self, SkillError> {
        let read = files.iter().take(MAX_SKILL_FILES + 1).map(|file| {
            let content = match file.encoding {
                InlineEncoding::Utf8 => file.content.clone().into_bytes(),
                InlineEncoding::Base64 => decoded(&file.path, &file.content)?,
            };
            Ok((file.path.clone(), content.len() as u64, content))
        });
        let (items, contents) = arranged(read.collect::<Result<_, SkillError>>()?, Top::Kept)?;
        Ok(Self { items, contents })
    }
}

impl Source for Inline {
    fn items(&self) -> &[Item] {
        &self.items
    }

    fn open(&self, at: usize) -> Result<Box<dyn Read + '_>, SkillError> {
        let content = self.contents.get(at).map_or(&[][..], Vec::as_slice);
        Ok(Box::new(Cursor::new(content)))
    }
}

pub(crate) fn decoded(name: &str, base64: &str) -> Result<Vec<u8>, SkillError> {
    STANDARD.decode(base64.trim()).map_err(|_| {
        SkillError::request(
            "skill.base64_invalid",
            format!(
                "the content of '{}' is no Base64: encode it anew",
                quoted(name)
            ),
        )
    })
}
