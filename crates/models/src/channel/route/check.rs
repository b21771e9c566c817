//! Whether channels, routes and aliases hold together.

use std::collections::BTreeSet;

use super::{Router, parts, quoted};
use crate::limits::MAX_ALIAS_STEPS;
use crate::names::nearest;

/// What is wrong with channels, routes or aliases taken together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}")]
pub struct RouterError {
    /// `routes[0].to[1]`
    pub place: String,
    pub why: String,
}

impl Router {
    pub(super) fn check(&self) -> Result<(), RouterError> {
        self.check_channels()?;
        self.check_routes()?;
        self.check_aliases()
    }

    fn check_channels(&self) -> Result<(), RouterError> {
        let mut seen = BTreeSet::new();
        for (n, channel) in self.channels.iter().enumerate() {
            if !seen.insert(channel.name()) {
                let why = format!("there are two channels `{}`", channel.name());
                return Err(wrong(format!("channels[{n}].name"), why));
            }
        }
        Ok(())
    }

    fn check_routes(&self) -> Result<(), RouterError> {
        for (n, route) in self.routes.iter().enumerate() {
            if route.to.is_empty() {
                let why = "leads nowhere: name a channel".to_owned();
                return Err(wrong(format!("routes[{n}].to"), why));
            }
            let stars = |text: &str| text.matches('*').count();
            for (t, target) in route.to.iter().enumerate() {
                let place = || format!("routes[{n}].to[{t}]");
                let (head, there) = parts(target);
                if self.called(head).is_empty() {
                    let names = self.channels.iter().map(|channel| channel.name());
                    let near = nearest(head, names);
                    let near =
                        near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                    let why = format!("there is no channel `{}`{near}", quoted(head));
                    return Err(wrong(place(), why));
                }
                let there = there.unwrap_or_default();
                if stars(there) > 1 || stars(there) == 1 && stars(route.model.as_str()) > 1 {
                    let why = "a star stands for the one star of `model`, so each has one at most";
                    return Err(wrong(place(), why.to_owned()));
                }
            }
        }
        Ok(())
    }

    fn check_aliases(&self) -> Result<(), RouterError> {
        for (alias, target) in &self.aliases {
            let place = || format!("aliases.{}", quoted(alias));
            if alias.trim().is_empty() || target.trim().is_empty() {
                return Err(wrong(
                    place(),
                    "an alias and what it means are names".to_owned(),
                ));
            }
            if self.aliases.contains_key(self.unalias(alias)) {
                let why =
                    format!("goes round in a circle, or over more than {MAX_ALIAS_STEPS} others");
                return Err(wrong(place(), why));
            }
        }
        Ok(())
    }
}

fn wrong(place: String, why: String) -> RouterError {
    RouterError { place, why }
}
