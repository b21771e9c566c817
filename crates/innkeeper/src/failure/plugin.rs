//! What was asked about a plugin cannot be done.

use super::{message, shown};

#[derive(Debug)]
pub(crate) enum PluginFault {
    Unknown {
        name: String,
        suggestions: Vec<String>,
    },
    /// It cannot be read, so it cannot be switched on. `why` is the first problem.
    Broken {
        name: String,
        why: String,
    },
    /// Somebody must say yes, and nobody is there to be asked.
    NeedsConsent {
        name: String,
    },
    Declined {
        name: String,
    },
    UnknownSetting {
        plugin: String,
        key: String,
        suggestions: Vec<String>,
    },
    NeedsValue {
        key: String,
    },
    /// A secret on the command line would stay in the shell's history and be seen by others.
    SecretOnCommandLine {
        key: String,
    },
    Setting {
        why: String,
    },
    NotCreated {
        why: String,
    },
    /// What people decided about plugins cannot be read or written.
    Consent {
        why: String,
    },
}

impl PluginFault {
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "plugin.unknown",
            Self::Broken { .. } => "plugin.broken",
            Self::NeedsConsent { .. } => "plugin.needs_consent",
            Self::Declined { .. } => "plugin.declined",
            Self::UnknownSetting { .. } => "plugin.unknown_setting",
            Self::NeedsValue { .. } => "cli.usage",
            Self::SecretOnCommandLine { .. } => "plugin.secret_on_command_line",
            Self::Setting { .. } => "plugin.setting_refused",
            Self::NotCreated { .. } => "plugin.not_created",
            Self::Consent { .. } => "plugin.consent_unreadable",
        }
    }

    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::Broken { .. } | Self::Declined { .. } | Self::Consent { .. } => 1,
            _ => 2,
        }
    }

    pub(super) fn english(&self) -> String {
        match self {
            Self::Unknown { name, suggestions } => match suggestions.first() {
                Some(near) => format!(
                    "there is no plugin '{}', did you mean {}?",
                    shown(name),
                    shown(near)
                ),
                None => format!(
                    "there is no plugin '{}'; innkeeper plugin list shows those there are",
                    shown(name)
                ),
            },
            Self::Broken { name, why } => format!(
                "the plugin '{}' is broken: {}; innkeeper plugin show {0} tells all",
                shown(name),
                message(why)
            ),
            Self::NeedsConsent { name } => format!(
                "the plugin '{}' asks for permissions; look at them with innkeeper plugin \
                 permissions {0}, then say yes with --accept",
                shown(name)
            ),
            Self::Declined { name } => {
                format!("the plugin '{}' was not switched on", shown(name))
            }
            Self::UnknownSetting {
                plugin,
                key,
                suggestions,
            } => {
                let what = format!("{}: there is no setting '{}'", shown(plugin), shown(key));
                match suggestions.first() {
                    Some(near) => format!("{what}, did you mean {}?", shown(near)),
                    None => format!(
                        "{what}; innkeeper plugin config {} shows all",
                        shown(plugin)
                    ),
                }
            }
            Self::NeedsValue { key } => {
                format!("'{}' needs a value behind it", shown(key))
            }
            Self::SecretOnCommandLine { key } => format!(
                "'{}' is a secret, and what is typed on a command line is kept and seen by others; \
                 leave the value out and give it on standard input",
                shown(key)
            ),
            Self::Setting { why } | Self::NotCreated { why } | Self::Consent { why } => {
                message(why)
            }
        }
    }

    pub(super) fn chinese(&self) -> String {
        match self {
            Self::Unknown { name, suggestions } => match suggestions.first() {
                Some(near) => {
                    format!("没有插件“{}”，是否想用 {}？", shown(name), shown(near))
                }
                None => format!(
                    "没有插件“{}”；innkeeper plugin list 会列出所有插件",
                    shown(name)
                ),
            },
            Self::Broken { name, why } => format!(
                "插件“{}”有错误：{}；innkeeper plugin show {0} 会列出全部",
                shown(name),
                message(why)
            ),
            Self::NeedsConsent { name } => format!(
                "插件“{}”需要授权；先用 innkeeper plugin permissions {0} 查看，再加 --accept 同意",
                shown(name)
            ),
            Self::Declined { name } => format!("插件“{}”没有启用", shown(name)),
            Self::UnknownSetting {
                plugin,
                key,
                suggestions,
            } => {
                let what = format!("{}：没有设置项“{}”", shown(plugin), shown(key));
                match suggestions.first() {
                    Some(near) => format!("{what}，是否想用 {}？", shown(near)),
                    None => format!(
                        "{what}；innkeeper plugin config {} 会列出全部",
                        shown(plugin)
                    ),
                }
            }
            Self::NeedsValue { key } => format!("“{}”后面缺少值", shown(key)),
            Self::SecretOnCommandLine { key } => format!(
                "“{}”是密钥，写在命令行里会留下记录并被他人看到；请不要写值，改从标准输入给出",
                shown(key)
            ),
            Self::Setting { why } => format!("设置未被接受：{}", message(why)),
            Self::NotCreated { why } => format!("插件未能创建：{}", message(why)),
            Self::Consent { why } => format!("授权记录出错：{}", message(why)),
        }
    }
}

#[cfg(test)]
pub(super) fn one_of_each() -> Vec<PluginFault> {
    let nasty = || super::tests::NASTY.to_owned();
    let mut all = vec![
        PluginFault::Broken {
            name: nasty(),
            why: nasty(),
        },
        PluginFault::NeedsConsent { name: nasty() },
        PluginFault::Declined { name: nasty() },
        PluginFault::NeedsValue { key: nasty() },
        PluginFault::SecretOnCommandLine { key: nasty() },
        PluginFault::Setting { why: nasty() },
        PluginFault::NotCreated { why: nasty() },
        PluginFault::Consent { why: nasty() },
    ];
    for suggestions in [Vec::new(), vec![nasty()]] {
        all.push(PluginFault::Unknown {
            name: nasty(),
            suggestions: suggestions.clone(),
        });
        all.push(PluginFault::UnknownSetting {
            plugin: nasty(),
            key: nasty(),
            suggestions,
        });
    }
    all
}
