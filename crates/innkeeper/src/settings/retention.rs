//! `[retention]`: how many runs are kept, and how much of them.

use innkeeper_agent::instance::RetentionSettings;
use serde::Deserialize;

pub(super) const KEYS: &[&str] = &[
    "auto_prune",
    "keep_recent_terminal_runs",
    "keep_full_recent_runs",
];

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Retention {
    auto_prune: bool,
    keep_recent_terminal_runs: Option<u32>,
    keep_full_recent_runs: Option<u32>,
}

impl Retention {
    /// What is wrong, in both languages.
    pub(super) fn settle(self) -> Result<RetentionSettings, (String, String)> {
        let usual = RetentionSettings::default();
        let recent = self
            .keep_recent_terminal_runs
            .unwrap_or(usual.keep_recent_terminal_runs);
        let settings = RetentionSettings {
            auto_prune_enabled: self.auto_prune,
            keep_recent_terminal_runs: recent,
            // Whoever only says that fewer are kept means those that are kept whole, too.
            keep_full_recent_runs: self
                .keep_full_recent_runs
                .unwrap_or(usual.keep_full_recent_runs.min(recent)),
        };
        settings.checked().map_err(|_| {
            (
                "runs are kept in whole numbers from 0 to 10000, and keep_full_recent_runs is at most keep_recent_terminal_runs".to_owned(),
                "保留的运行数是 0 到 10000 的整数，且 keep_full_recent_runs 不能大于 keep_recent_terminal_runs".to_owned(),
            )
        })
    }
}
