//! What is written down and leads nowhere, and why the rehearsal model answers where a real one was meant to.

use std::sync::Arc;

use innkeeper_models::{Candidate, Channel, ModelErrorKind, Route};

use super::{HouseModels, REHEARSAL};
use crate::failure::{Said, shown};
use crate::lang::Lang;

impl HouseModels {
    /// Everything that a person should put in order.
    pub(crate) fn doubts(&self) -> Vec<Said> {
        let files = self
            .problems
            .iter()
            .map(|problem| Said::of(&problem.to_string()));
        let default = self.written.default.as_deref();
        let default = default.and_then(|name| self.doubt_of_default(name));
        let dangling = self.written.aliases.iter();
        let dangling = dangling.filter(|(alias, _)| self.leads_nowhere(alias));
        let aliases = dangling.map(|(alias, meant)| {
                let (alias, meant) = (shown(alias), shown(meant));
                Said::new(
                    format!("the alias {alias} leads to no model: change {meant} in [models.aliases], or take it out"),
                    format!("别名 {alias} 没有通向任何模型：请修改 [models.aliases] 中的 {meant}，或删除它"),
                )
        });
        let closed = self.written.routes.iter();
        let closed = closed.filter(|route| self.is_closed(route));
        let routes = closed.map(|route| {
                let model = shown(route.model.as_str());
                Said::new(
                    format!("the route {model} leads to disabled channels alone: enable one, or change its `to`"),
                    format!("路由 {model} 只通向已停用的渠道：请启用其中之一，或修改它的 `to`"),
                )
        });
        let missing = files.chain(default).chain(aliases).chain(routes);
        let rehearsal = self.not_ready_note();
        missing
            .chain(rehearsal.map(|[english, chinese]| Said::new(english, chinese)))
            .collect()
    }

    /// Why the rehearsal answers though a model was connected, in English and in Chinese: whoever has just connected one
    /// would be told to connect one.
    pub(crate) fn not_ready_note(&self) -> Option<[String; 2]> {
        let why = self.why_rehearsal()?;
        let why = [Lang::En, Lang::Zh].map(|lang| why.shown(lang));
        Some(why.map(|why| self.redactor.redact_text(&why).into_owned()))
    }

    pub(crate) fn chooses_default(&self) -> bool {
        self.written.default.is_some()
    }

    /// Who answers where no model is named, if it is a channel's model.
    pub(crate) fn answers(&self) -> Option<Candidate> {
        let name = self
            .models
            .default_name()
            .filter(|name| !is_rehearsal(name))?;
        let found = self.router()?.candidates(name).ok()?;
        found
            .into_iter()
            .find(|found| found.channel.ready().is_ok())
    }

    fn doubt_of_default(&self, name: &str) -> Option<Said> {
        let error = self.models.get(name).err()?;
        let name = shown(name);
        Some(match error.kind {
            ModelErrorKind::UnknownModel => Said::new(
                format!(
                    "the default {name} leads to no model: change `default` in [models], or take it out"
                ),
                format!(
                    "默认模型 {name} 没有通向任何模型：请修改 [models] 中的 `default`，或删除它"
                ),
            ),
            _ => Said::new(
                format!("the default {name} cannot answer: no channel that serves it is ready"),
                format!("默认模型 {name} 无法答复：提供它的渠道都未就绪"),
            ),
        })
    }

    fn leads_nowhere(&self, name: &str) -> bool {
        let found = self.models.get(name);
        found.is_err_and(|error| error.kind == ModelErrorKind::UnknownModel)
    }

    fn is_closed(&self, route: &Route) -> bool {
        let heads: Vec<&str> = route
            .to
            .iter()
            .map(|target| target.split(['/', ':']).next().unwrap_or_default())
            .collect();
        let mut open = self
            .channels()
            .iter()
            .filter(|channel| !channel.config().disabled);
        !open.any(|channel| {
            heads
                .iter()
                .any(|head| channel.name() == *head || channel.provider().id == *head)
        })
    }

    fn why_rehearsal(&self) -> Option<Said> {
        if self.written.default.is_some() || !self.models.default_name().is_some_and(is_rehearsal) {
            return None;
        }
        let mut open = self
            .channels()
            .iter()
            .filter(|channel| !channel.config().disabled);
        let first: &Arc<Channel> = open
            .clone()
            .find(|channel| channel.ready().is_ok())
            .or_else(|| open.next())?;
        let name = shown(first.name());
        Some(match first.ready() {
            Err(why) => {
                let why = Said::lack(why);
                Said::new(
                    format!(
                        "the rehearsal model answers, since {name} is not ready: {}",
                        why.pick(Lang::En)
                    ),
                    format!("由排练模型答复，因为 {name} 未就绪：{}", why.pick(Lang::Zh)),
                )
            }
            Ok(()) => Said::new(
                format!(
                    "the rehearsal model answers, since no default is chosen and no channel names a model: write default = \
                     \"{name}/MODEL\" into [models] (innkeeper models list --remote shows what there is)"
                ),
                format!(
                    "由排练模型答复，因为没有选定默认模型，也没有渠道写明模型：请在 [models] 中写 default = \"{name}/MODEL\"\
                     （innkeeper models list --remote 会列出有哪些）"
                ),
            ),
        })
    }
}

/// Also with something behind it: `rehearsal/slow`.
fn is_rehearsal(name: &str) -> bool {
    name.split(['/', ':']).next() == Some(REHEARSAL)
}
