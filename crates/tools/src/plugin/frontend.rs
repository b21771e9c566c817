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
    let style = place.choice("type", &types, report);
    let style = style.unwrap_or(match place.field("build") {
        None if place.field("vanilla").is_some() => "vanilla",
        _ => "build",
    });
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
    let base = base.unwrap_or_else(|| {
        let guess = entry.iter().next().map(PathBuf::from);
        let guess = guess.filter(|guess| *guess != entry).unwrap_or_default();
        report.warning(
            &part,
            Code::FrontendPath,
            format!(
                "{base_field} is missing; '{}' is taken",
                dot_if_empty(&guess)
            ),
        );
        guess
    });
    Some(Frontend {
        entry,
        styles,
        root: base,
    })
}

fn dot_if_empty(path: &Path) -> String {
    match path.as_os_str().is_empty() {
        true => ".".to_owned(),
        false => shown(path),
    }
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
            folder.existing(&place, path, Kind::Folder, report)
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
                    dot_if_empty(base)
                ),
            );
            return None;
        }
        report.warning(
            place,
            Code::FrontendPath,
            format!("'{path}' should be relative to '{}'", dot_if_empty(base)),
        );
    }
    Some(found)
}

#[cfg(test)]
#[path = "frontend_tests.rs"]
mod tests;
