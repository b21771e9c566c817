//! Archives: taken from others, made by us, and made to do harm.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use rawzip::path::EntryPath;
use rawzip::{CompressionMethod, DataDescriptorOutput, ZipArchiveWriter, crc32};

use super::*;
use crate::limits::*;

/// One entry, as good or bad as wanted.
struct Entry {
    name: Vec<u8>,
    content: Vec<u8>,
    packed: bool,
    mode: u32,
    crc: Option<u32>,
    length: Option<u64>,
}

fn entry(name: &str, content: &[u8]) -> Entry {
    Entry {
        name: name.as_bytes().to_vec(),
        content: content.to_vec(),
        packed: true,
        mode: 0o100_644,
        crc: None,
        length: None,
    }
}

fn zip(entries: &[Entry]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut out);
    for entry in entries {
        let body = match entry.packed {
            false => entry.content.clone(),
            true => {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
                encoder.write_all(&entry.content).unwrap();
                encoder.finish().unwrap()
            }
        };
        let method = match entry.packed {
            true => CompressionMethod::DEFLATE,
            false => CompressionMethod::STORE,
        };
        let (mut writer, _) = archive
            .new_file(EntryPath::verbatim(entry.name.clone()))
            .compression_method(method)
            .unix_permissions(entry.mode)
            .start()
            .unwrap();
        writer.write_all(&body).unwrap();
        let crc = entry.crc.unwrap_or_else(|| crc32(&entry.content));
        let length = entry.length.unwrap_or(entry.content.len() as u64);
        writer
            .finish(DataDescriptorOutput::new(crc, length))
            .unwrap();
    }
    archive.finish().unwrap();
    out
}

fn base64(bytes: &[u8]) -> ImportInput {
    ImportInput::ArchiveBase64 {
        file_name: "x.ttskill".to_owned(),
        content_base64: STANDARD.encode(bytes),
    }
}

fn skill_md() -> Entry {
    entry(SKILL_MD, SKILL.as_bytes())
}

#[test]
fn archives_of_the_files_or_of_their_folder() {
    let flat = zip(&[skill_md(), entry("a/b.txt", b"text")]);
    let folded = zip(&[
        entry("./", b""),
        entry("haiku/", b""),
        entry("haiku/a/b.txt", b"text"),
        entry("haiku/SKILL.md", SKILL.as_bytes()),
        entry("__MACOSX/haiku/._SKILL.md", b"x"),
    ]);
    let house = House::new();
    let one = house.install(&base64(&flat)).unwrap();
    assert_eq!(one.action, InstallAction::Installed);
    // The same files, so the same skill.
    let path = house.home.path().join("haiku.zip");
    write(&path, &folded);
    let other = house.install(&ImportInput::at(&path)).unwrap();
    assert_eq!(other.action, InstallAction::AlreadyInstalled);
    assert_eq!(one.skill, other.skill);
    assert!(house.is_tidy());
}

#[test]
fn archives_that_do_harm_are_refused_before_anything_is_written() {
    let named = |name: &[u8]| {
        let mut bad = entry("x", b"x");
        bad.name = name.to_vec();
        zip(&[skill_md(), bad])
    };
    let link = {
        let mut link = entry("link", b"/etc/passwd");
        link.mode = 0o120_777;
        zip(&[skill_md(), link])
    };
    let device = {
        let mut device = entry("device", b"");
        device.mode = 0o020_644;
        zip(&[skill_md(), device])
    };
    let bomb = zip(&[skill_md(), entry("zeros", &vec![0; 1 << 20])]);
    let hidden_bomb = {
        // Says that it is small, and is not.
        let mut bomb = entry("zeros", &vec![0; 1 << 20]);
        bomb.length = Some(1_000);
        zip(&[skill_md(), bomb])
    };
    let short = {
        let mut short = entry("short", b"four");
        short.length = Some(5);
        zip(&[skill_md(), short])
    };
    let damaged = {
        let mut damaged = entry("damaged", b"four");
        damaged.crc = Some(1);
        zip(&[skill_md(), damaged])
    };
    let large = {
        let mut large = entry("large", b"x");
        large.packed = false;
        large.length = Some(MAX_SKILL_FILE_BYTES + 1);
        zip(&[skill_md(), large])
    };
    let encrypted = {
        let mut bytes = zip(&[skill_md()]);
        let at = bytes
            .windows(4)
            .position(|four| four == b"PK\x01\x02")
            .unwrap();
        bytes[at + 8] |= 1;
        bytes
    };
    let strange = {
        let mut bytes = zip(&[skill_md()]);
        let at = bytes
            .windows(4)
            .position(|four| four == b"PK\x01\x02")
            .unwrap();
        bytes[at + 10] = 14;
        bytes
    };
    let overlapping = {
        // The second entry of the directory leads to the first one's bytes.
        let mut bytes = zip(&[skill_md(), skill_md_called("other")]);
        let places: Vec<usize> = bytes
            .windows(4)
            .enumerate()
            .filter(|(_, four)| *four == b"PK\x01\x02")
            .map(|(at, _)| at)
            .collect();
        bytes[places[1] + 42..places[1] + 46].fill(0);
        bytes
    };
    let cut = {
        let mut bytes = zip(&[skill_md()]);
        bytes.truncate(bytes.len() - 30);
        bytes
    };
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("skill.path_invalid", named(b"../../x")),
        ("skill.path_invalid", named(b"a/../x")),
        ("skill.path_invalid", named(b"/etc/x")),
        ("skill.path_invalid", named(b"..\\x")),
        ("skill.path_invalid", named(b"C:\\x")),
        ("skill.path_invalid", named(b"../out/")),
        ("skill.path_invalid", named(b"a\xff")),
        ("skill.path_invalid", named(b"a\0b")),
        ("skill.path_forbidden", named(b".git/hooks/pre-commit")),
        ("skill.path_duplicate", named(b"skill.md")),
        ("skill.path_duplicate", named(b"SKILL.md")),
        ("skill.path_conflict", named(b"SKILL.md/x")),
        ("skill.not_plain", link),
        ("skill.not_plain", device),
        ("skill.archive_ratio", bomb),
        ("skill.unreadable", hidden_bomb),
        ("skill.unreadable", damaged),
        ("skill.unreadable", short),
        ("skill.file_too_large", {
            let packed = vec![b'x'; 400 << 10];
            let mut large = entry("large", &packed);
            large.packed = false;
            large.length = Some(MAX_SKILL_FILE_BYTES + 1);
            zip(&[skill_md(), large])
        }),
        ("skill.archive_ratio", large),
        ("skill.archive_invalid", encrypted),
        ("skill.archive_invalid", strange),
        ("skill.archive_invalid", overlapping),
        ("skill.archive_invalid", cut),
        ("skill.archive_invalid", b"no archive".to_vec()),
        ("skill.archive_invalid", Vec::new()),
        (
            "skill.skill_md_missing",
            zip(&[entry("a/SKILL.md", b""), entry("b", b"")]),
        ),
    ];
    let house = House::new();
    for (at, (reason, bytes)) in cases.iter().enumerate() {
        let error = house
            .install(&base64(bytes))
            .expect_err(&format!("case {at}, {reason}"));
        assert_eq!(error.reason, Some(*reason), "case {at}: {error}");
    }
    assert!(
        !house.folder().exists(),
        "a refused archive has left something"
    );
}

fn skill_md_called(name: &str) -> Entry {
    entry(name, SKILL.as_bytes())
}

#[test]
fn too_many_entries_and_too_much_together() {
    let house = House::new();
    let mut many: Vec<Entry> = (0..MAX_SKILL_FILES)
        .map(|at| entry(&format!("f{at}"), b""))
        .collect();
    many.push(skill_md());
    let error = house.install(&base64(&zip(&many))).unwrap_err();
    assert_eq!(error.reason, Some("skill.too_many_files"));
    // Sizes are added up as the directory gives them, before anything is unpacked.
    let mut all = vec![skill_md()];
    for at in 0..17 {
        let mut file = entry(&format!("f{at}"), &vec![b'x'; 170 << 10]);
        file.packed = false;
        file.length = Some(MAX_SKILL_FILE_BYTES);
        all.push(file);
    }
    let error = house.install(&base64(&zip(&all))).unwrap_err();
    assert_eq!(error.reason, Some("skill.too_large"));
}

#[test]
fn what_is_exported_can_be_imported_and_is_always_the_same() {
    let house = House::new();
    let zeros = "0".repeat(1 << 20);
    let input = inline(&[
        (SKILL_MD, SKILL),
        ("zeros", &zeros),
        ("空/文.md", "字"),
        ("empty", ""),
    ]);
    let skill = house.install(&input).unwrap().skill;
    let one = house.skills.export(&SkillScope::Global, "haiku").unwrap();
    assert_eq!(one.file_name, "haiku.zip");
    assert_eq!(
        one,
        house.skills.export(&SkillScope::Global, "haiku").unwrap()
    );
    let bytes = STANDARD.decode(&one.content_base64).unwrap();
    assert_eq!(one.sha256, super::super::change::sha256(&bytes));

    let other = House::new();
    let imported = other.install(&base64(&bytes)).unwrap();
    assert_eq!(imported.skill, skill);
    let again = other.skills.export(&SkillScope::Global, "haiku").unwrap();
    assert_eq!(again.sha256, one.sha256);
    let folder = "installed/global/haiku";
    assert_eq!(
        tree(&other.folder().join(folder)),
        tree(&house.folder().join(folder))
    );
}
