//! The three-step report, from the text to the files: an async picture, a log, a report that names both.

use std::fs;
use std::path::Path;

use super::home::House;
use super::process::Run;

const REPORT: &str = include_str!("../../../testkit/fixtures/report.txt");
const KIT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../testkit/fixtures/plugins/report-kit"
);

fn house() -> House {
    let house = House::new();
    copy(Path::new(KIT), &house.path().join("plugins/report-kit"));
    let run = house.run(&["plugin", "enable", "report-kit", "--accept"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    house
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

fn file(house: &House, name: &str) -> Option<Vec<u8>> {
    let folder = house.path().join("projects/project-x/reports/today");
    fs::read(folder.join(name)).ok()
}

fn text(house: &House, name: &str) -> String {
    String::from_utf8(file(house, name).unwrap()).unwrap()
}

/// The log and the report are there, and name the places that were filled in.
#[track_caller]
fn is_whole(house: &House, run: &Run) {
    let log = text(house, "run.log");
    assert!(
        log.starts_with("Report begun at 20"),
        "{log}\n{}",
        run.stdout
    );
    let report = text(house, "report.md");
    for part in [
        "# 今日 \"Daily\" report",
        "fam://project-x/reports/today/cover.png",
        "fam://project-x/reports/today/run.log",
        "By Mei",
    ] {
        assert!(report.contains(part), "{report}");
    }
    assert!(!log.contains("@{") && !report.contains("@{"));
}

#[test]
fn it_runs_from_end_to_end() {
    let house = house();
    let run = house.fed(&["call"], REPORT);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    is_whole(&house, &run);
    assert!(file(&house, "cover.png").unwrap().starts_with(b"\x89PNG"));
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{}", run.stdout);
    assert!(lines[0].contains("ImageTool.Generate started in the background"));
    assert!(lines[3].contains("ImageTool.Generate executed successfully"));
}

#[test]
fn sent_again_it_does_nothing_again() {
    let house = house();
    let first = house.fed(&["call"], REPORT);
    let log = text(&house, "run.log");
    let again = house.fed(&["call"], REPORT);
    assert_eq!(again.code, Some(0), "{}{}", again.stdout, again.stderr);
    assert_eq!(again.stdout.lines().count(), 3);
    assert!(first.stdout.starts_with(&again.stdout), "{}", again.stdout);
    assert_eq!(text(&house, "run.log"), log);

    let other = REPORT.replace("\"Mei\"", "\"Ada\"");
    let conflict = house.fed(&["call"], &other);
    assert_eq!(conflict.code, Some(1));
    assert!(
        conflict.stdout.contains("protocol.request_id_conflict"),
        "{}",
        conflict.stdout
    );
}

#[test]
fn a_first_step_that_fails_does_not_keep_the_rest_from_finishing() {
    for (found, replacement) in [
        ("»»»An inn", "»»»please fail: an inn"),
        ("ImageTool.Generate", "ImageTool.Paint"),
        ("\nprompt_1:", "\npromt_1:"),
        ("output_uri_1:»»»", "output_uri_1:»»»system://config/"),
    ] {
        let house = house();
        let broken = REPORT.replacen(found, replacement, 1);
        assert_ne!(broken, REPORT);
        let run = house.fed(&["call"], &broken);
        assert_eq!(run.code, Some(1), "{replacement}: {}", run.stdout);
        is_whole(&house, &run);
        assert!(file(&house, "cover.png").is_none(), "{replacement}");
        assert!(
            run.stdout.contains("Observation: Error - "),
            "{}",
            run.stdout
        );
    }
}
