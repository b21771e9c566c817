//! `frontend`: where the files for the page are. They are found and named here, never opened.

use std::path::{Path, PathBuf};

use super::Frontend;
use super::folder::{Folder, Kind, shown};
use super::place::Place;
use super::problem::{Code, Report};

pub(super) fn read_frontend(
    root: &Place<'_>,
    folder: &Folder,
    report: &mut Report,
) -> Option<Frontend> {
    let place = root.map("frontend", report)?;
    place.known(&["type", "dev", "build", "vanilla"], report);
    let types = [("vite", "build"), ("vanilla", "vanilla")];
    let style = match place.field("type") {
        Some(_) => place.choice("type", &types, report)?,
        None if place.field("build").is_none() && place.field("vanilla").is_some() => "vanilla",
        None => "build",
    };
    let Some(part) = place.field(style) else {
        place.missing(style, "say where the files of the page are", report);
        return None;
    };
    if !part.expect_map(report) {
        return None;
    }
    let (base_field, default) = match style {
        "vanilla" => ("rootDir", Some("web")),
        _ => ("outputDir", None),
    };
    part.known(&["entry", "styles", base_field], report);
    let base = read_base(&part, base_field, default, folder, report);
    let entry_place = part.required("entry", report)?;
    let entry = entry_place.as_text(report)?;
    let entry = find(&entry_place, entry, base.as_deref(), folder, report);
    let styles: Vec<_> = part
        .texts("styles", report)
        .iter()
        .filter_map(|(at, text)| find(at, text, base.as_deref(), folder, report))
        .collect();
    let entry = entry?;
    let base = match base {
        Some(base) => base,
        None => guess_base(&part, base_field, &entry, report)?,
    };
    Some(Frontend {
        entry,
        styles,
        root: base,
    })
}

/// Without a word about it, the folder in which the entry lies.
fn guess_base(part: &Place<'_>, field: &str, entry: &Path, report: &mut Report) -> Option<PathBuf> {
    // A wrong one has been reported already.
    if part.field(field).is_some() {
        return None;
    }
    let base = entry.iter().next().map(PathBuf::from);
    let Some(base) = base.filter(|base| base != entry) else {
        let remedy = "put the files of the page into a folder of their own, and name it here";
        part.missing(field, remedy, report);
        return None;
    };
    report.warning(
        part,
        Code::FrontendPath,
        format!("{field} is missing; '{}' is taken", shown(&base)),
    );
    Some(base)
}

/// The folder that is served, if it is said or usual.
fn read_base(
    part: &Place<'_>,
    field: &str,
    default: Option<&str>,
    folder: &Folder,
    report: &mut Report,
) -> Option<PathBuf> {
    match part.field(field) {
        Some(place) => {
            let path = place.as_text(report)?;
            let base = folder.existing(&place, path, Kind::Folder, report)?;
            if base.as_os_str().is_empty() {
                let message = "the whole plugin would be served; put the files of the page into a folder of their own";
                report.problem(&place, Code::BadValue, message);
                return None;
            }
            Some(base)
        }
        None => default
            .map(PathBuf::from)
            .filter(|path| folder.root.join(path).is_dir()),
    }
}

/// A file of the page, relative to the served folder or, as some write it, to the plugin's.
fn find(
    place: &Place<'_>,
    path: &str,
    base: Option<&Path>,
    folder: &Folder,
    report: &mut Report,
) -> Option<PathBuf> {
    if let Some(base) = base
        && let Ok(relative) = folder.inside(path)
        && let Ok(below) = folder.inside(&shown(&base.join(relative)))
        && folder.root.join(&below).is_file()
    {
        return Some(below);
    }
    let found = folder.existing(place, path, Kind::File, report)?;
    if let Some(base) = base {
        if !found.starts_with(base) {
            report.problem(
                place,
                Code::PathOutside,
                format!(
                    "'{path}' is not in '{}', the folder that is served",
                    shown(base)
                ),
            );
            return None;
        }
        report.warning(
            place,
            Code::FrontendPath,
            format!("'{path}' should be relative to '{}'", shown(base)),
        );
    }
    Some(found)
}

#[cfg(test)]
#[path = "frontend_tests.rs"]
mod tests;
