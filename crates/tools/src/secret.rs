//! The one file that secrets are kept in.
//!
//! Owns `<home>/secrets.toml`. Keeping secrets out of what is shown is `redact.rs`. Reading and writing block.

use std::fmt;
use std::path::PathBuf;

use innkeeper_protocol::Secret;
use toml_edit::{DocumentMut, Item, Table, TableLike};

use crate::UserId;
use crate::limits::{MAX_SECRET_BYTES, MAX_SECRET_NAME_PARTS, MIN_SECRET_CHARS};
use crate::locked_file::{self, LockedFileError, Readers};

/// Where a secret stands in the file: `plugins.signet.key`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SecretName(Vec<String>);

impl SecretName {
    /// Names from the outermost table to the key.
    pub fn new<N: Into<String>>(parts: impl IntoIterator<Item = N>) -> Self {
        Self(parts.into_iter().map(Into::into).collect())
    }

    /// A plugin's secret for everybody: `[plugins.<plugin>] key`.
    pub fn of_plugin(plugin: &str, key: &str) -> Self {
        Self::new(["plugins", plugin, key])
    }

    /// A plugin's secret of one person: `[users.<user>.plugins.<plugin>] key`.
    pub fn of_user(user: &UserId, plugin: &str, key: &str) -> Self {
        Self::new(["users", user.as_str(), "plugins", plugin, key])
    }

    /// The key and the tables around it, if this can be a name at all.
    fn split(&self) -> Result<(&str, &[String]), SecretsError> {
        match self.0.split_last() {
            Some((key, tables))
                if self.0.len() <= MAX_SECRET_NAME_PARTS
                    && self.0.iter().all(|part| !part.is_empty()) =>
            {
                Ok((key, tables))
            }
            _ => Err(SecretsError::Name(self.clone())),
        }
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    #[error("{0}")]
    File(String),
    /// The parser's own message quotes the line, and with it the secret; so only the place is told.
    #[error("{path} is no TOML: look at line {line}")]
    Malformed { path: PathBuf, line: usize },
    #[error("'{0}' is no name for a secret")]
    Name(SecretName),
    #[error("secrets.toml: {0} is no text; put the value in quotes")]
    NotText(SecretName),
    #[error("secrets.toml: '{0}' stands in the way; it is a value, not a table")]
    NotTable(String),
    #[error("secrets.toml: '{0}' is a table with other secrets in it; choose another name")]
    IsTable(SecretName),
    #[error(
        "the secret {0} is shorter than {MIN_SECRET_CHARS} characters; it would be found everywhere and could not be kept out of what is shown"
    )]
    TooShort(SecretName),
    #[error(
        "the secret {0} is longer than {MAX_SECRET_BYTES} bytes or contains a NUL character, so no program could be given it"
    )]
    Unusable(SecretName),
}

impl From<LockedFileError> for SecretsError {
    fn from(error: LockedFileError) -> Self {
        Self::File(error.to_string())
    }
}

/// The file `secrets.toml`. Comments and order survive a change.
#[derive(Debug, Clone)]
pub struct Secrets {
    path: PathBuf,
}

const HEADER: &str =
    "# Keys, by name. Only you can read this file; Innkeeper refuses it otherwise.\n\n";

impl Secrets {
    /// `path` is `<home>/secrets.toml`; it need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn get(&self, name: &SecretName) -> Result<Option<Secret>, SecretsError> {
        let (key, tables) = name.split()?;
        let document = self.read()?;
        let mut table: &dyn TableLike = document.as_table();
        for part in tables {
            match table.get(part).map(Item::as_table_like) {
                Some(Some(inner)) => table = inner,
                Some(None) => return Err(SecretsError::NotTable(part.clone())),
                None => return Ok(None),
            }
        }
        match table.get(key) {
            None => Ok(None),
            // Secrets of others, whose names go on where this one ends.
            Some(item) if item.is_table_like() => Ok(None),
            Some(item) => secret_in(item, name).map(Some),
        }
    }

    pub fn set(&self, name: &SecretName, secret: &Secret) -> Result<(), SecretsError> {
        let (key, tables) = name.split()?;
        check(secret, name)?;
        self.change(|document| {
            let mut table: &mut dyn TableLike = document.as_table_mut();
            for part in tables {
                let item = table.entry(part).or_insert_with(|| {
                    let mut inner = Table::new();
                    // `[plugins.signet]` alone, without an empty `[plugins]` before it.
                    inner.set_implicit(true);
                    Item::Table(inner)
                });
                table = match item.as_table_like_mut() {
                    Some(inner) => inner,
                    None => return Err(SecretsError::NotTable(part.clone())),
                };
            }
            let inner = table.get(key).and_then(Item::as_table_like);
            if inner.is_some_and(|inner| !inner.is_empty()) {
                return Err(SecretsError::IsTable(name.clone()));
            }
            let mut item = toml_edit::value(secret.expose());
            if let Some(old) = table.get(key).and_then(Item::as_value)
                && let Some(new) = item.as_value_mut()
            {
                *new.decor_mut() = old.decor().clone();
            }
            table.insert(key, item);
            Ok(true)
        })?;
        Ok(())
    }

    /// Whether there was one. A table with other secrets in it is none.
    pub fn remove(&self, name: &SecretName) -> Result<bool, SecretsError> {
        let (key, tables) = name.split()?;
        self.change(|document| {
            let mut table: &mut dyn TableLike = document.as_table_mut();
            for part in tables {
                table = match table.get_mut(part).and_then(Item::as_table_like_mut) {
                    Some(inner) => inner,
                    None => return Ok(false),
                };
            }
            let holds_others = table.get(key).is_some_and(Item::is_table_like);
            let removed = !holds_others && table.remove(key).is_some();
            if removed {
                drop_empty(document.as_table_mut(), tables);
            }
            Ok(removed)
        })
    }

    /// The names of all secrets, in the file's order.
    pub fn names(&self) -> Result<Vec<SecretName>, SecretsError> {
        Ok(self.all()?.into_iter().map(|(name, _)| name).collect())
    }

    /// All that can be had by [`Secrets::get`]: what a redactor has to look for.
    pub fn all(&self) -> Result<Vec<(SecretName, Secret)>, SecretsError> {
        let document = self.read()?;
        let mut found = Vec::new();
        collect(document.as_table(), &mut Vec::new(), &mut found);
        Ok(found)
    }

    fn read(&self) -> Result<DocumentMut, SecretsError> {
        let text = locked_file::read(&self.path, Readers::Owner)?;
        self.parse(text.as_deref().unwrap_or_default())
    }

    fn parse(&self, text: &str) -> Result<DocumentMut, SecretsError> {
        text.parse().map_err(|error: toml_edit::TomlError| {
            let before = error.span().and_then(|span| text.get(..span.start));
            SecretsError::Malformed {
                path: self.path.clone(),
                line: before.unwrap_or_default().matches('\n').count() + 1,
            }
        })
    }

    fn change(
        &self,
        change: impl FnOnce(&mut DocumentMut) -> Result<bool, SecretsError>,
    ) -> Result<bool, SecretsError> {
        locked_file::update(&self.path, Readers::Owner, |text| {
            let text = text.unwrap_or_else(|| HEADER.to_owned());
            // What stands above everything belongs to the file and not to the entry below it.
            let (above, entries) = text.split_at(end_of_opening(&text));
            let mut document = match entries.is_empty() {
                true => DocumentMut::new(),
                // A mistake is told with its line in the whole file.
                false => {
                    let lines = "\n".repeat(above.matches('\n').count());
                    self.parse(&format!("{lines}{entries}"))?
                }
            };
            let changed = change(&mut document)?;
            let entries = document.to_string();
            let entries = entries.trim_start_matches('\n');
            let is_apart = above
                .lines()
                .next_back()
                .is_none_or(|line| line.trim().is_empty());
            let gap = if is_apart { "" } else { "\n" };
            Ok((changed.then(|| format!("{above}{gap}{entries}")), changed))
        })
    }
}

/// Where the comments at the top of a file end that have a blank line after them, or nothing at all.
fn end_of_opening(text: &str) -> usize {
    let mut end = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let said = line.trim();
        if !said.is_empty() && !said.starts_with('#') {
            return end;
        }
        at += line.len();
        if said.is_empty() {
            end = at;
        }
    }
    at
}

/// Takes out the innermost of these tables, and those around it, as long as nothing is in them and nobody has written
/// anything about them.
fn drop_empty(root: &mut Table, tables: &[String]) {
    let Some((last, around)) = tables.split_last() else {
        return;
    };
    let mut table: &mut dyn TableLike = root;
    for part in around {
        table = match table.get_mut(part).and_then(Item::as_table_like_mut) {
            Some(inner) => inner,
            None => return,
        };
    }
    let is_done = table.get(last).is_some_and(|item| {
        let decor = item.as_table().map(Table::decor);
        let is_told_of = decor.is_some_and(|decor| {
            let parts = [decor.prefix(), decor.suffix()];
            let mut parts = parts.into_iter().flatten();
            parts.any(|part| part.as_str().is_some_and(|part| part.contains('#')))
        });
        let is_empty = item.as_table_like().is_some_and(TableLike::is_empty);
        is_empty && !is_told_of
    });
    if is_done {
        table.remove(last);
        drop_empty(root, around);
    }
}

fn secret_in(item: &Item, name: &SecretName) -> Result<Secret, SecretsError> {
    let text = item
        .as_str()
        .ok_or_else(|| SecretsError::NotText(name.clone()))?;
    let secret = Secret::new(text);
    check(&secret, name)?;
    Ok(secret)
}

fn check(secret: &Secret, name: &SecretName) -> Result<(), SecretsError> {
    let text = secret.expose();
    // Blanks do not count: they would be found, and hidden, everywhere.
    if text.trim().chars().nth(MIN_SECRET_CHARS - 1).is_none() {
        return Err(SecretsError::TooShort(name.clone()));
    }
    match text.len() > MAX_SECRET_BYTES || text.contains('\0') {
        true => Err(SecretsError::Unusable(name.clone())),
        false => Ok(()),
    }
}

fn collect(table: &dyn TableLike, path: &mut Vec<String>, found: &mut Vec<(SecretName, Secret)>) {
    for (key, item) in table.iter() {
        path.push(key.to_owned());
        let name = SecretName(path.clone());
        match item.as_table_like() {
            Some(inner) if path.len() < MAX_SECRET_NAME_PARTS => collect(inner, path, found),
            Some(_) => {}
            None => found.extend(secret_in(item, &name).ok().map(|secret| (name, secret))),
        }
        path.pop();
    }
}

#[cfg(test)]
#[path = "secret_tests.rs"]
mod tests;
