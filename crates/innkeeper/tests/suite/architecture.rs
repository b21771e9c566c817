//! Asks cargo for the real graph of the workspace and fails on an arrow that the architecture does not allow.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::graph::{Crate, Kind, violations};

#[test]
fn arrows_point_down_only() -> Result<()> {
    let crates = read(&cargo_metadata()?)?;
    // A test that sees no crates would find nothing wrong with them.
    for name in ["innkeeper", "innkeeper-protocol"] {
        ensure!(
            crates.iter().any(|known| known.name == name),
            "{name} is missing: {crates:?}"
        );
    }
    let binary = crates.iter().find(|known| known.name == "innkeeper");
    let uses_protocol = ("innkeeper-protocol".to_owned(), Kind::Normal);
    ensure!(
        binary.is_some_and(|binary| binary.uses.contains(&uses_protocol)),
        "{binary:?}"
    );

    let found = violations(&crates);
    ensure!(found.is_empty(), "\n{}", found.join("\n"));
    Ok(())
}

fn cargo_metadata() -> Result<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
            "--locked",
        ])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .output()
        .context("cargo cannot be started")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo metadata: {complaint}");
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The members of the workspace and everything they name in their manifests.
fn read(metadata: &Value) -> Result<Vec<Crate>> {
    let packages = metadata["packages"].as_array().context("no packages")?;
    packages.iter().map(read_crate).collect()
}

fn read_crate(package: &Value) -> Result<Crate> {
    let name = package["name"].as_str().context("a package without name")?;
    let dependencies = package["dependencies"]
        .as_array()
        .context("no dependencies")?;
    let uses = dependencies
        .iter()
        .map(|dependency| {
            let name = dependency["name"]
                .as_str()
                .context("a dependency without name")?;
            let kind = match dependency["kind"].as_str() {
                None | Some("build") => Kind::Normal,
                Some("dev") => Kind::Dev,
                Some(other) => anyhow::bail!("unknown kind of dependency: {other}"),
            };
            Ok((name.to_owned(), kind))
        })
        .collect::<Result<_>>()?;
    Ok(Crate {
        name: name.to_owned(),
        uses,
    })
}

#[test]
fn metadata_is_read_with_kinds_and_real_names() -> Result<()> {
    let metadata = serde_json::json!({ "packages": [{
        "name": "a",
        "dependencies": [
            { "name": "b", "kind": null, "rename": "bee" },
            { "name": "c", "kind": "dev" },
            { "name": "d", "kind": "build" },
        ],
    }] });
    let uses = [("b", Kind::Normal), ("c", Kind::Dev), ("d", Kind::Normal)];
    let uses = uses.map(|(name, kind)| (name.to_owned(), kind)).to_vec();
    assert_eq!(
        read(&metadata)?,
        [Crate {
            name: "a".into(),
            uses
        }]
    );
    Ok(())
}
