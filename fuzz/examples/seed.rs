//! Writes the texts of the protocol's vectors into `corpus/<target>/`, one file each, and for `workflow` the workflows
//! of the engine: a good place to start.
//!
//! `cargo run --manifest-path fuzz/Cargo.toml --example seed`

use std::fs;
use std::path::Path;

use serde_json::Value as Json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = Vec::new();
    for entry in fs::read_dir(here.join("../crates/protocol/tests/vectors"))? {
        let vectors: Vec<Json> = serde_json::from_str(&fs::read_to_string(entry?.path())?)?;
        for vector in &vectors {
            texts.extend(match (&vector["input"], &vector["native"]) {
                (Json::String(text), _) => Some(text.clone()),
                (Json::Array(lines), _) => Some(
                    lines
                        .iter()
                        .filter_map(Json::as_str)
                        .collect::<Vec<_>>()
                        .join("\n"),
                ),
                (_, Json::Null) => None,
                (_, native) => Some(native.to_string()),
            });
        }
    }
    for target in ["parse", "stream_vs_whole", "bind"] {
        let folder = here.join("corpus").join(target);
        fs::create_dir_all(&folder)?;
        for (number, text) in texts.iter().enumerate() {
            fs::write(folder.join(format!("vector-{number:04}")), text)?;
        }
    }
    let folder = here.join("corpus/workflow");
    fs::create_dir_all(&folder)?;
    for from in [
        "../crates/engine/tests/corpus",
        "../crates/engine/workflows",
    ] {
        for entry in fs::read_dir(here.join(from))? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "json") {
                let name = path.file_name().unwrap_or_default();
                fs::copy(&path, folder.join(name))?;
            }
        }
    }
    println!("{} texts for each target", texts.len());
    Ok(())
}
