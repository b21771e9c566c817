//! Changing `[retention]` of `innkeeper.toml` from outside. Comments, order and everything else stay as they are.

use std::path::PathBuf;

use innkeeper_agent::instance::RetentionSettings;
use innkeeper_protocol::ErrorCode;
use innkeeper_server::{HouseSettings, Problem};
use innkeeper_tools::locked_file::{Locked, Readers};
use toml_edit::{DocumentMut, Item, Table, value};

use super::{FILE, Settings};

/// The file of one house.
pub(crate) struct SettingsFile(pub(crate) PathBuf);

impl HouseSettings for SettingsFile {
    fn retention(&self) -> Result<RetentionSettings, Problem> {
        let settings = Settings::read(&self.0).map_err(|failure| refused(&failure))?;
        Ok(settings.retention)
    }

    fn set_retention(&self, retention: RetentionSettings) -> Result<(), Problem> {
        let file = Locked::open(&self.0, Readers::Anyone).map_err(|error| refused(&error))?;
        let text = file.read().map_err(|error| refused(&error))?;
        let text = changed(&text.unwrap_or_default(), retention)?;
        // No change from outside may leave a file that cannot be read.
        Settings::parse(FILE, &text).map_err(|failure| refused(&failure))?;
        file.replace(&text).map_err(|error| refused(&error))
    }
}

fn refused(why: &dyn std::fmt::Display) -> Problem {
    Problem::new(
        ErrorCode::AgentValidationError,
        format!("{FILE} was not changed: {why}"),
    )
}

fn changed(text: &str, retention: RetentionSettings) -> Result<String, Problem> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| refused(&error.message()))?;
    let section = document
        .entry("retention")
        .or_insert_with(|| Item::Table(Table::new()));
    let Some(section) = section.as_table_like_mut() else {
        return Err(refused(&"[retention] is no section; mend it first"));
    };
    section.insert("auto_prune", value(retention.auto_prune_enabled));
    let recent = i64::from(retention.keep_recent_terminal_runs);
    section.insert("keep_recent_terminal_runs", value(recent));
    let full = i64::from(retention.keep_full_recent_runs);
    section.insert("keep_full_recent_runs", value(full));
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_else_stays_as_it_is() {
        let before = "# mine\n[models]\ndefault = \"x\" # why\n\n[retention]\nauto_prune = false # for now\n";
        let wanted = RetentionSettings {
            auto_prune_enabled: true,
            keep_recent_terminal_runs: 7,
            keep_full_recent_runs: 3,
        };
        let after = changed(before, wanted).unwrap();
        assert!(after.starts_with("# mine\n[models]\ndefault = \"x\" # why\n"));
        let read = Settings::parse(FILE, &after).unwrap();
        assert_eq!(read.retention, wanted);
        let of_nothing = changed("", wanted).unwrap();
        assert_eq!(
            Settings::parse(FILE, &of_nothing).unwrap().retention,
            wanted
        );
        assert!(changed("retention = 3", wanted).is_err());
        assert!(changed("[", wanted).is_err());
    }
}
