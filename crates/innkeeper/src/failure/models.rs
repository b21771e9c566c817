//! What was asked about models cannot be done.

use innkeeper_models::ModelError;
use innkeeper_tools::locked_file::LockedFileError;

use super::{Failure, Said, message, model_error, shown};
use crate::lang::Lang;

#[derive(Debug)]
pub(crate) enum ModelFault {
    UnknownProvider {
        given: String,
        near: Option<String>,
    },
    UnknownChannel {
        given: String,
        near: Option<String>,
    },
    /// A channel of that name is there already.
    Exists {
        name: String,
    },
    /// What was given makes no channel.
    Channel {
        why: Said,
    },
    /// The provider wants a key, none was given, and nobody is there to be asked.
    NeedsKey {
        provider: String,
        key_env: Option<String>,
    },
    /// The key cannot be kept.
    Key {
        why: Said,
    },
    /// A key of that name is kept already.
    KeyExists {
        name: String,
        /// Channels that use it.
        used_by: Vec<String>,
    },
    /// The channel is gone, and its key perhaps not.
    KeyStays {
        name: String,
        why: Said,
    },
    /// Routes lead to the channel and would lead nowhere.
    InUse {
        name: String,
        routes: Vec<String>,
    },
    /// Somebody must say yes, and nobody is there to be asked.
    NeedsYes {
        name: String,
    },
    Declined {
        name: String,
    },
    /// The settings cannot be changed.
    NotWritten {
        why: Said,
    },
    /// Every task of an exam failed at the provider.
    NoAnswers {
        why: String,
    },
    /// A model did not answer, or not to the end.
    Failed {
        reason: &'static str,
        why: String,
    },
}

impl ModelFault {
    /// What another part has said of a key.
    pub(crate) fn key(why: &str) -> Self {
        Self::Key { why: Said::of(why) }
    }

    pub(crate) fn failed(error: &ModelError) -> Self {
        Self::Failed {
            reason: error.reason(),
            why: error.message.clone(),
        }
    }

    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::UnknownProvider { .. } => "models.unknown_provider",
            Self::UnknownChannel { .. } => "models.unknown_channel",
            Self::Exists { .. } => "models.channel_exists",
            Self::Channel { .. } => "models.not_a_channel",
            Self::NeedsKey { .. } => "models.needs_key",
            Self::Key { .. } => "models.key_refused",
            Self::KeyExists { .. } => "models.key_exists",
            Self::KeyStays { .. } => "models.key_stays",
            Self::InUse { .. } => "models.channel_in_use",
            Self::NeedsYes { .. } => "models.needs_yes",
            Self::Declined { .. } => "models.declined",
            Self::NotWritten { .. } => "models.not_written",
            Self::NoAnswers { .. } => "models.no_answers",
            Self::Failed { reason, .. } => reason,
        }
    }

    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::Declined { .. }
            | Self::NotWritten { .. }
            | Self::KeyStays { .. }
            | Self::InUse { .. }
            | Self::NoAnswers { .. }
            | Self::Failed { .. } => 1,
            _ => 2,
        }
    }

    pub(super) fn english(&self) -> String {
        match self {
            Self::UnknownProvider { given, near } => {
                let what = format!("there is no provider '{}'", shown(given));
                match near {
                    Some(near) => format!("{what}, did you mean {}?", shown(near)),
                    None => format!(
                        "{what}; innkeeper models add --list-providers shows them, and custom --base-url URL takes any \
                         server that talks like OpenAI's"
                    ),
                }
            }
            Self::UnknownChannel { given, near } => {
                let what = format!("there is no channel '{}'", shown(given));
                match near {
                    Some(near) => format!("{what}, did you mean {}?", shown(near)),
                    None => format!("{what}; innkeeper models list shows them"),
                }
            }
            Self::Exists { name } => format!(
                "there is a channel '{0}' already; give the new one another name with --name, or remove the old one with \
                 innkeeper models remove {0}",
                shown(name)
            ),
            Self::Channel { why } => format!("this makes no channel: {}", why.shown(Lang::En)),
            Self::NeedsKey { provider, key_env } => {
                let variable = key_env.as_deref().unwrap_or("NAME");
                format!(
                    "{} wants a key, and nobody is there to type it: pipe it in with --key-stdin, or set {variable} and \
                     name it with --key-env {variable}",
                    shown(provider)
                )
            }
            Self::Key { why } => format!("the key cannot be kept: {}", why.shown(Lang::En)),
            Self::KeyExists { name, used_by } => {
                let used_by = match used_by.as_slice() {
                    [] => String::new(),
                    channels => format!(", and {} uses it", listed(channels, ", ")),
                };
                format!(
                    "secrets.toml keeps a key '{}' already{used_by}; give no key to use that one, --replace-key to write over \
                     it, or --name for another channel",
                    shown(name)
                )
            }
            Self::KeyStays { name, why } => format!(
                "the channel is gone, and its key may still be there: {}; look for '{}' in secrets.toml",
                why.shown(Lang::En),
                shown(name)
            ),
            Self::InUse { name, routes } => format!(
                "the channel '{}' stays, since routes of innkeeper.toml lead to it: {}; take it out of their `to` first, or \
                 remove those routes",
                shown(name),
                listed(routes, "; ")
            ),
            Self::NeedsYes { name } => format!(
                "nobody is there to be asked whether the channel '{}' shall go; give --yes",
                shown(name)
            ),
            Self::Declined { name } => format!("the channel '{}' stays", shown(name)),
            Self::NotWritten { why } => {
                format!("innkeeper.toml was not changed: {}", why.shown(Lang::En))
            }
            Self::NoAnswers { why } => {
                format!("the model answered no task: {}", message(why))
            }
            Self::Failed { why, .. } => message(why),
        }
    }

    pub(super) fn chinese(&self) -> String {
        match self {
            Self::UnknownProvider { given, near } => {
                let what = format!("没有服务商“{}”", shown(given));
                match near {
                    Some(near) => format!("{what}，是否想用 {}？", shown(near)),
                    None => format!(
                        "{what}；innkeeper models add --list-providers 会列出全部，custom --base-url URL 可接入任何与 OpenAI \
                         兼容的服务"
                    ),
                }
            }
            Self::UnknownChannel { given, near } => {
                let what = format!("没有渠道“{}”", shown(given));
                match near {
                    Some(near) => format!("{what}，是否想用 {}？", shown(near)),
                    None => format!("{what}；innkeeper models list 会列出全部"),
                }
            }
            Self::Exists { name } => format!(
                "渠道“{0}”已经存在；请用 --name 另起名字，或用 innkeeper models remove {0} 移除旧的",
                shown(name)
            ),
            Self::Channel { why } => format!("无法构成渠道：{}", why.shown(Lang::Zh)),
            Self::NeedsKey { provider, key_env } => {
                let variable = key_env.as_deref().unwrap_or("NAME");
                format!(
                    "{} 需要密钥，而无人可以输入：请用 --key-stdin 从管道传入，或设置 {variable} 并写 --key-env {variable}",
                    shown(provider)
                )
            }
            Self::Key { why } => format!("密钥无法保存：{}", why.shown(Lang::Zh)),
            Self::KeyExists { name, used_by } => {
                let used_by = match used_by.as_slice() {
                    [] => String::new(),
                    channels => format!("，正由 {} 使用", listed(channels, "、")),
                };
                format!(
                    "secrets.toml 中已有密钥“{}”{used_by}；不给密钥即沿用它，--replace-key 覆盖它，--name 则另起渠道",
                    shown(name)
                )
            }
            Self::KeyStays { name, why } => format!(
                "渠道已移除，但密钥可能仍在：{}；请在 secrets.toml 中查找“{}”",
                why.shown(Lang::Zh),
                shown(name)
            ),
            Self::InUse { name, routes } => format!(
                "渠道“{}”保留不变，因为 innkeeper.toml 的路由指向它：{}；请先把它从这些路由的 `to` 中去掉，或删除这些路由",
                shown(name),
                listed(routes, "；")
            ),
            Self::NeedsYes { name } => {
                format!("无人可问是否移除渠道“{}”；请加 --yes", shown(name))
            }
            Self::Declined { name } => format!("渠道“{}”保留不变", shown(name)),
            Self::NotWritten { why } => {
                format!("innkeeper.toml 未作修改：{}", why.shown(Lang::Zh))
            }
            Self::NoAnswers { why } => format!("模型没有答复任何一题：{}", message(why)),
            Self::Failed { reason, why } => {
                let why = message(why);
                model_error::chinese(reason, &why).unwrap_or_else(|| format!("模型没有答复：{why}"))
            }
        }
    }
}

impl From<LockedFileError> for Failure {
    /// Only the settings are changed like this.
    fn from(error: LockedFileError) -> Self {
        let why = Said::of(&error.to_string());
        ModelFault::NotWritten { why }.into()
    }
}

fn listed(names: &[String], between: &str) -> String {
    let names: Vec<String> = names.iter().map(|name| shown(name)).collect();
    message(&names.join(between))
}

#[cfg(test)]
pub(super) fn one_of_each() -> Vec<ModelFault> {
    use innkeeper_models::ModelErrorKind;

    let nasty = || super::tests::NASTY.to_owned();
    let said = || Said::new(nasty(), nasty());
    let mut all = vec![
        ModelFault::Exists { name: nasty() },
        ModelFault::Channel { why: said() },
        ModelFault::NeedsKey {
            provider: nasty(),
            key_env: Some("NAME".into()),
        },
        ModelFault::NeedsKey {
            provider: nasty(),
            key_env: None,
        },
        ModelFault::Key { why: said() },
        ModelFault::KeyExists {
            name: nasty(),
            used_by: vec![nasty()],
        },
        ModelFault::KeyExists {
            name: nasty(),
            used_by: Vec::new(),
        },
        ModelFault::KeyStays {
            name: nasty(),
            why: said(),
        },
        ModelFault::InUse {
            name: nasty(),
            routes: vec![nasty()],
        },
        ModelFault::NeedsYes { name: nasty() },
        ModelFault::Declined { name: nasty() },
        ModelFault::NotWritten { why: said() },
        ModelFault::NoAnswers { why: nasty() },
    ];
    for near in [None, Some(nasty())] {
        all.push(ModelFault::UnknownProvider {
            given: nasty(),
            near: near.clone(),
        });
        all.push(ModelFault::UnknownChannel {
            given: nasty(),
            near,
        });
    }
    let errors = ModelErrorKind::ALL.iter();
    let errors = errors.map(|kind| ModelFault::failed(&ModelError::new(*kind, nasty())));
    all.extend(errors);
    all
}
