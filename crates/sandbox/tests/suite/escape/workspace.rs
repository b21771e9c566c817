//! What a program leaves for those who bring its files out.

use innkeeper_sandbox::Outcome;

use super::super::harness::{Policy, Row, Scene, row};
use super::table;

const ROWS: [Row; 5] = [
    row("workspace", "odd_files", Policy::Workspace, LEFT).check(plain_only),
    row(
        "workspace",
        "deep",
        Policy::Workspace,
        &["left behind", "limit: disk"],
    )
    .check(no_secret),
    row("workspace", "many", Policy::Workspace, LEFT).check(not_too_many),
    row("workspace", "replaced", Policy::Workspace, LEFT).check(nothing_of_the_plugin),
    row("workspace", "still_moving", Policy::Workspace, LEFT).check(no_secret),
];

const LEFT: &[&str] = &["left behind"];

fn no_secret(outcome: &Outcome, scene: &Scene) -> Result<(), String> {
    for file in &outcome.files {
        let bytes = file.bytes.as_deref().unwrap_or_default();
        let text = String::from_utf8_lossy(bytes);
        if text.contains(&scene.token) || text.contains("root:") {
            return Err(format!("{} was followed", file.name));
        }
    }
    Ok(())
}

/// Links, pipes and sockets are not files; the plain one is brought out.
fn plain_only(outcome: &Outcome, scene: &Scene) -> Result<(), String> {
    no_secret(outcome, scene)?;
    let find = |name: &str| outcome.files.iter().find(|file| file.name == name);
    for name in [
        "link",
        "link-home",
        "link-proc",
        "link-root",
        "loop",
        "pipe",
        "socket",
    ] {
        if find(name).is_some() {
            return Err(format!("{name} was brought out"));
        }
    }
    let plain = find("plain.txt").and_then(|file| file.bytes.as_deref());
    if plain != Some(b"plain") {
        return Err(format!("plain.txt is missing: {:?}", outcome.files));
    }
    match find("holes") {
        Some(file) if file.bytes.is_none() => Ok(()),
        other => Err(format!("holes: {other:?}")),
    }
}

fn not_too_many(outcome: &Outcome, _: &Scene) -> Result<(), String> {
    match (outcome.files.len(), outcome.files_left) {
        (64, 4936) => Ok(()),
        other => Err(format!("{other:?} files")),
    }
}

fn nothing_of_the_plugin(outcome: &Outcome, _: &Scene) -> Result<(), String> {
    match outcome.files.is_empty() {
        true => Ok(()),
        false => Err(format!("{:?}", outcome.files)),
    }
}

table!(workspace, ROWS);
