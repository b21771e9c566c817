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
    let mut reach = Reach::everything();
    if !args.tools.is_empty() {
        reach.allow = args.tools.iter().map(Pattern::new).collect();
    }
    let locale = args.locale.map_or(
        match screen.lang {
            Lang::En => Locale::En,
            Lang::Zh => Locale::Zh,
        },
        Locale::from,
    );
    let protocol = Protocol::from(args.protocol);
    let manifest = render_manifest(tools.definitions(&reach), protocol, locale);
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
