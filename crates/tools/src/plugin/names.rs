//! Names that manifests may use, their short forms, and what may not be asked for.
//!
//! Owns the tables: hooks and places of the page, file URIs, hosts.

use super::OWN_PROJECT;
use url::Host;

use super::place::did_you_mean;
use crate::hook::HookPoint;

/// Hooks that run in the page; the server only knows their names.
const CLIENT_HOOKS: &[&str] = &[
    "hook:client:auth:login",
    "hook:client:auth:logout",
    "hook:client:settings:before-save",
    "hook:client:settings:after-load",
    "hook:client:panel:before-load",
    "hook:client:panel:after-load",
    "hook:client:panel:before-unmount",
    "hook:client:workflow:before-execute",
    "hook:client:node:execution:start",
    "hook:client:node:execution:finish",
];

/// Parts of the page that can be wrapped or replaced.
pub(super) const COMPONENTS: &[&str] = &[
    "ui:BaseNode",
    "ui:NodeInputControl",
    "ui:ContextMenu",
    "ui:SidebarManager",
    "ui:HomeSidebar",
];

/// Places of the page where something can be put.
pub(super) const OUTLETS: &[&str] = &[
    "ui:layout:header:left",
    "ui:layout:header:center",
    "ui:layout:header:right",
    "ui:layout:main-sidebar:nav-top",
    "ui:layout:main-sidebar:nav-bottom",
    "ui:editor:canvas:toolbar",
    "ui:editor:canvas:context-menu",
    "ui:editor:statusbar:left",
    "ui:editor:statusbar:right",
    "ui:editor:sidebar:tabs",
    "ui:editor:node:context-menu",
    "ui:node:header:pre",
    "ui:node:header:post",
    "ui:node:content:begin",
    "ui:node:content:end",
    "ui:settings:section",
];

/// Earlier names of outlets.
const OUTLET_ALIASES: &[(&str, &str)] = &[
    ("ui:node:header:left", "ui:node:header:pre"),
    ("ui:node:header:right", "ui:node:header:post"),
];

/// The canonical name of a hook, server or page; or a message. A short name that both have means the server's.
pub(super) fn hook_name(text: &str) -> Result<&'static str, String> {
    if let Ok(point) = text.parse::<HookPoint>() {
        return Ok(point.as_str());
    }
    let name = text.trim();
    let name = name.strip_prefix("hook:").unwrap_or(name);
    let name = name.strip_prefix("client:").unwrap_or(name);
    let client = CLIENT_HOOKS.iter();
    let found = client
        .copied()
        .find(|hook| hook.strip_prefix("hook:client:") == Some(name));
    found.ok_or_else(|| {
        let known = HookPoint::ALL.iter().map(|point| point.as_str());
        let long = known.chain(CLIENT_HOOKS.iter().copied());
        let short = HookPoint::ALL.iter().map(|point| point.short());
        let hint = match text.starts_with("hook:") {
            true => did_you_mean(text, long),
            false => did_you_mean(text, short),
        };
        format!("'{text}' is no hook{hint}")
    })
}

/// The canonical name of a place in the page and whether it is a known one; nothing if it is no name at all.
pub(super) fn ui_target(text: &str, known: &[&str]) -> Option<(String, bool)> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '-' | '_' | '.');
    if text.is_empty() || text.len() > 128 || !text.chars().all(fits) {
        return None;
    }
    let long = match text.starts_with("ui:") {
        true => text.to_owned(),
        false => format!("ui:{text}"),
    };
    let alias = OUTLET_ALIASES.iter().find(|(from, _)| *from == long);
    let name = alias.map_or(long, |(_, to)| (*to).to_owned());
    let is_known = known.contains(&name.as_str());
    Some((name, is_known))
}

/// `Http.Request`
pub(super) fn is_service_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic());
    starts && text.len() <= 128 && text.chars().all(fits)
}

/// A place in people's files in its canonical form: `fam://x/…` is only another way to write it.
pub(super) fn file_uri(text: &str) -> Result<String, String> {
    if text == OWN_PROJECT {
        return Ok(text.to_owned());
    }
    let Some((scheme, path)) = text.split_once("://") else {
        return Err(format!(
            "'{text}' is no place for files; write user://…, shared://… or project"
        ));
    };
    let uri = match (scheme, path.split_once('/').unwrap_or((path, ""))) {
        ("user" | "shared" | "system", _) => text.to_owned(),
        ("fam", (host @ ("user" | "shared" | "system"), rest)) => format!("{host}://{rest}"),
        ("fam", (project, rest)) if !project.is_empty() => {
            format!("user://projects/{project}/{rest}")
        }
        _ => {
            return Err(format!(
                "'{text}' is no place for files; write user://…, shared://… or project"
            ));
        }
    };
    let path = uri
        .split_once("://")
        .map(|(_, path)| path)
        .unwrap_or_default();
    if uri.starts_with("system://") {
        return Err(
            "no plugin reaches system://; ask for a place below user:// or shared://".to_owned(),
        );
    }
    let bad = |part: &str| part == ".." || part == ".";
    if path.split('/').any(bad)
        || path.contains('\\')
        || path.chars().any(char::is_control)
        || uri.len() > 1_024
    {
        return Err(format!(
            "'{text}' is no clean path; leave out '.', '..' and backslashes"
        ));
    }
    Ok(uri)
}

/// A host in its canonical form: `example.com`, `*.example.com`, `127.0.0.1`, or `*` for any.
pub(super) fn host(text: &str) -> Result<String, String> {
    if text == "*" {
        return Ok(text.to_owned());
    }
    let (star, name) = match text.strip_prefix("*.") {
        Some(name) => ("*.", name),
        None => ("", text),
    };
    let wrong = || {
        format!("'{text}' is no host; write it without scheme, port and path, such as example.com")
    };
    if name.contains(['*', '/', '@', ' ']) {
        return Err(wrong());
    }
    let parsed = match name.parse::<std::net::Ipv6Addr>() {
        Ok(address) => Host::<String>::Ipv6(address),
        Err(_) => Host::parse(name).map_err(|_| wrong())?,
    };
    match parsed {
        Host::Domain(domain) if !domain.is_empty() => Ok(format!("{star}{domain}")),
        Host::Ipv4(address) if star.is_empty() => Ok(address.to_string()),
        Host::Ipv6(address) if star.is_empty() => Ok(address.to_string()),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
