//! `innkeeper tools manifest`: what a model is told about the tools.

use innkeeper_protocol::{Locale, Protocol, render_manifest};
use innkeeper_tools::{Pattern, Reach, Snapshot};
use serde_json::json;

use super::Ended;
use crate::cli::ManifestArgs;
use crate::failure::Failure;
use crate::lang::Lang;
use crate::output::Screen;

pub(super) fn run(
    args: &ManifestArgs,
    tools: &Snapshot,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let everything = Reach::everything();
    let wanted: Vec<Pattern> = args.tools.iter().map(Pattern::new).collect();
    let chosen = tools.definitions(&everything).filter(|tool| {
        let id = tool.id.as_str();
        wanted.is_empty() || wanted.iter().any(|pattern| pattern.matches_loosely(id))
    });
    let locale = args.locale.map_or(
        match screen.lang {
            Lang::En => Locale::En,
            Lang::Zh => Locale::Zh,
        },
        Locale::from,
    );
    let protocol = Protocol::from(args.protocol);
    let manifest = render_manifest(chosen, protocol, locale);
    match (manifest.text(), manifest.declarations()) {
        (Some(text), _) if screen.json => screen.document(&json!({
            "protocol": protocol.as_str(),
            "locale": locale,
            "text": text,
        }))?,
        (Some(text), _) => screen.text(text)?,
        (None, Some(declarations)) if screen.json => screen.document(declarations)?,
        (None, Some(declarations)) => screen.indented(declarations)?,
        (None, None) => {}
    }
    Ok(Ended::Done)
}
