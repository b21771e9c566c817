//! Which providers there are: those that ship, and those of files beside the settings.
//!
//! A file is a table for each provider, by its id. What cannot be taken is named with file, line and key, and the rest
//! still counts: a typing error in one vendor must not take the others away.

use std::collections::{BTreeMap, btree_map};
use std::fmt;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use toml::de::{DeTable, DeValue};

use super::{Auth, Provider, Quirks};
use crate::WireFormat;
use crate::limits::{MAX_PROVIDER_FILE_BYTES, MAX_PROVIDER_FILES, MAX_PROVIDERS};
use crate::names::{is_channel_name, looks_secret, quoted};

const SHIPPED: &str = include_str!("../providers.toml");

/// Providers by id.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Providers(BTreeMap<String, Provider>);

/// What could not be taken from a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ProviderProblem {
    pub file: String,
    /// From 1; 0 where it is the file as a whole.
    pub line: usize,
    /// `deepseek.base_url`; empty where it is no key.
    pub key: String,
    pub why: String,
}

impl fmt::Display for ProviderProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ", line {}", self.line)?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.why)
    }
}

/// A provider as it is written under its id.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    label: Option<String>,
    #[serde(default = "usual_format")]
    format: WireFormat,
    base_url: Option<String>,
    key_url: Option<String>,
    key_env: Option<String>,
    #[serde(default)]
    auth: Auth,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    local_port: Option<u16>,
    #[serde(default)]
    quirks: Quirks,
}

fn usual_format() -> WireFormat {
    WireFormat::OpenAi
}

impl Providers {
    /// Those that are known without being told.
    pub fn shipped() -> Self {
        let (providers, _) = Self::default().with_text("providers.toml", SHIPPED);
        providers
    }

    /// With those of a file's text, which is called `file` in what is wrong with it.
    #[must_use]
    pub fn with_text(mut self, file: &str, text: &str) -> (Self, Vec<ProviderProblem>) {
        let mut problems = Vec::new();
        let source = Source { file, text };
        match DeTable::parse(text) {
            Err(error) => problems.push(source.problem(&[], error.span(), error.message())),
            Ok(document) => {
                for (id, value) in document.get_ref() {
                    let spot = Some(id.span());
                    match self.take(&source, id.get_ref(), value) {
                        Ok(provider) if self.has_room(&provider.id) => {
                            self.0.insert(provider.id.clone(), provider);
                        }
                        Ok(_) => {
                            let why = format!("there are {MAX_PROVIDERS} providers already");
                            problems.push(source.problem(&[], spot, &why));
                            break;
                        }
                        Err(problem) => problems.push(*problem),
                    }
                }
            }
        }
        (self, problems)
    }

    /// With those of a file. Blocks.
    #[must_use]
    pub fn with_file(self, path: &Path) -> (Self, Vec<ProviderProblem>) {
        let file = path.display().to_string();
        match read(path) {
            Ok(text) => self.with_text(&file, &text),
            Err(why) => (self, vec![whole(file, why)]),
        }
    }

    /// With those of all `*.toml` of a folder, in the order of their names; later ones win. No folder is no
    /// problem. Blocks.
    #[must_use]
    pub fn with_folder(mut self, folder: &Path) -> (Self, Vec<ProviderProblem>) {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return (self, Vec::new());
            }
            Err(error) => {
                let why = format!("cannot be read: {error}");
                return (self, vec![whole(folder.display().to_string(), why)]);
            }
        };
        let is_provider_file = |path: &Path| path.extension().is_some_and(|end| end == "toml");
        let mut files: Vec<_> = entries
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| is_provider_file(path))
            .take(MAX_PROVIDER_FILES + 1)
            .collect();
        files.sort();
        let mut problems = Vec::new();
        if files.len() > MAX_PROVIDER_FILES {
            files.truncate(MAX_PROVIDER_FILES);
            let why = format!(
                "has more than {MAX_PROVIDER_FILES} files of providers; put several in one"
            );
            problems.push(whole(folder.display().to_string(), why));
        }
        for file in files {
            let (providers, found) = self.with_file(&file);
            self = providers;
            problems.extend(found);
        }
        (self, problems)
    }

    pub fn get(&self, id: &str) -> Option<&Provider> {
        self.0.get(id)
    }

    /// In alphabetical order.
    pub fn iter(&self) -> btree_map::Values<'_, String, Provider> {
        self.0.values()
    }

    /// The nearest id, where a name is probably misspelt.
    pub fn nearest(&self, id: &str) -> Option<&str> {
        crate::names::nearest(id, self.0.keys().map(String::as_str))
    }

    fn has_room(&self, id: &str) -> bool {
        self.0.len() < MAX_PROVIDERS || self.0.contains_key(id)
    }

    fn take(
        &self,
        source: &Source<'_>,
        id: &str,
        value: &toml::Spanned<DeValue<'_>>,
    ) -> Result<Provider, Box<ProviderProblem>> {
        let problem = |keys: &[&str], span: Option<Range<usize>>, why: &str| {
            let span = span.unwrap_or_else(|| value.span());
            Box::new(source.problem(keys, Some(span), why))
        };
        let DeValue::Table(table) = value.get_ref() else {
            let why = "is no provider: a provider is a table, as `[its-id]`";
            return Err(problem(&[id], None, why));
        };
        if !is_channel_name(id) {
            let why = "is no id: letters, digits, dots, dashes and underlines make one";
            return Err(problem(&[id], None, why));
        }
        let written = Written::deserialize(toml::de::ValueDeserializer::from(value.clone()));
        let written = written.map_err(|error| {
            let mut keys = vec![id];
            let at = error.span();
            if let Some(at) = &at {
                keys.extend(path_to(table, at.start));
            }
            problem(&keys, at, error.message())
        })?;
        let secret = written.headers.keys().find(|name| looks_secret(name));
        if let Some(name) = secret {
            let why = "looks like a secret, and a provider's file holds none; give it to the channel as \
                       `headers`, with \"${NAME}\" or \"secret:name\"";
            return Err(problem(
                &[id, "headers", name],
                span_of(table, "headers"),
                why,
            ));
        }
        for (key, url) in [
            ("base_url", &written.base_url),
            ("key_url", &written.key_url),
        ] {
            if let Some(why) = url.as_deref().and_then(not_an_address) {
                return Err(problem(&[id, key], span_of(table, key), why));
            }
        }
        Ok(Provider {
            id: id.to_owned(),
            label: written.label.unwrap_or_else(|| id.to_owned()),
            format: written.format,
            base_url: written.base_url,
            key_url: written.key_url,
            key_env: written.key_env,
            auth: written.auth,
            headers: written.headers,
            local_port: written.local_port,
            quirks: written.quirks,
        })
    }
}

impl<'p> IntoIterator for &'p Providers {
    type Item = &'p Provider;
    type IntoIter = btree_map::Values<'p, String, Provider>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

struct Source<'s> {
    file: &'s str,
    text: &'s str,
}

impl Source<'_> {
    fn problem(&self, keys: &[&str], span: Option<Range<usize>>, why: &str) -> ProviderProblem {
        let start = span.map_or(0, |span| span.start);
        let before = self.text.as_bytes().iter().take(start);
        ProviderProblem {
            file: self.file.to_owned(),
            line: before.filter(|byte| **byte == b'\n').count() + 1,
            key: quoted(&keys.join(".")),
            why: why.lines().collect::<Vec<_>>().join(", "),
        }
    }
}

fn whole(file: String, why: String) -> ProviderProblem {
    ProviderProblem {
        file,
        line: 0,
        key: String::new(),
        why,
    }
}

/// The keys around that place of the text.
fn path_to<'d>(table: &'d DeTable<'_>, at: usize) -> Vec<&'d str> {
    for (key, value) in table {
        let here = key.span().start <= at && at <= value.span().end.max(key.span().end);
        if let DeValue::Table(inner) = value.get_ref() {
            let deeper = path_to(inner, at);
            if here || !deeper.is_empty() {
                return std::iter::once(key.get_ref().as_ref())
                    .chain(deeper)
                    .collect();
            }
        } else if here {
            return vec![key.get_ref()];
        }
    }
    Vec::new()
}

fn span_of(table: &DeTable<'_>, key: &str) -> Option<Range<usize>> {
    table.get_key_value(key).map(|(key, _)| key.span())
}

/// Why a text is no address that requests can go to.
pub(crate) fn not_an_address(text: &str) -> Option<&'static str> {
    let Ok(url) = url::Url::parse(text) else {
        return Some("is no address; one begins with https:// or http://");
    };
    match url.scheme() {
        _ if !url.username().is_empty() || url.password().is_some() => Some(
            "holds a name or a password; show keys with `keys` or `headers`, where they stay secret",
        ),
        _ if url.query_pairs().any(|(name, _)| looks_secret(&name)) => {
            Some("holds a key; show keys with `keys` or `headers`, where they stay secret")
        }
        "http" | "https" => None,
        _ => Some("is no address of the web; it begins with https:// or http://"),
    }
}

fn read(path: &Path) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    // A pipe would be waited for.
    if std::fs::metadata(path).is_ok_and(|about| !about.is_file()) {
        return Err("is no plain file".to_owned());
    }
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    file.take(MAX_PROVIDER_FILE_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    match text.len() as u64 > MAX_PROVIDER_FILE_BYTES {
        true => Err(format!("is larger than {MAX_PROVIDER_FILE_BYTES} bytes")),
        false => Ok(text),
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
