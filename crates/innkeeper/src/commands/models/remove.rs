//! `innkeeper models remove`: a channel less, and its key with it.

use serde_json::json;

use super::{Ended, file, list, open};
use crate::ask;
use crate::cli::ModelsRemoveArgs;
use crate::failure::{Failure, ModelFault, Place, shown};
use crate::home::Home;
use crate::lang::Lang;
use crate::output::Screen;

pub(super) fn run(args: &ModelsRemoveArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let house = open(home, None)?;
    let name = args.name.as_str();
    let all = house.channels();
    if !all.iter().any(|channel| channel.name() == name) {
        return Err(list::unknown(name, all));
    }
    if !args.yes {
        let given = || name.to_owned();
        if !ask::somebody_is_there() {
            return Err(ModelFault::NeedsYes { name: given() }.into());
        }
        if !agreed(name, screen)? {
            return Err(ModelFault::Declined { name: given() }.into());
        }
    }
    let removed = file::remove(home, name, args.keep_key)?;
    if screen.json {
        let doubts: Vec<&str> = removed
            .doubts
            .iter()
            .map(|doubt| doubt.pick(screen.lang))
            .collect();
        screen.document(&json!({
            "name": name,
            "keyRemoved": removed.key,
            "defaultRemoved": removed.default,
            "answersNow": removed.answers,
            "problems": doubts,
        }))?;
        return Ok(Ended::Done);
    }
    let shown_name = shown(name);
    match removed.key {
        true => screen.note(
            &format!("The channel {shown_name} and its key are gone"),
            &format!("渠道 {shown_name} 及其密钥已移除"),
        ),
        false => screen.note(
            &format!("The channel {shown_name} is gone"),
            &format!("渠道 {shown_name} 已移除"),
        ),
    }
    if let Some(default) = &removed.default {
        let default = shown(default);
        screen.note(
            &format!("{default} was the default model; it is no longer"),
            &format!("{default} 原是默认模型，现已取消"),
        );
    }
    if let Some(model) = removed.answers.as_deref().map(shown) {
        screen.note(
            &format!("{model} answers from now on where no model is named"),
            &format!("今后没有指明模型时由 {model} 答复"),
        );
    }
    for doubt in &removed.doubts {
        let (english, chinese) = (doubt.shown(Lang::En), doubt.shown(Lang::Zh));
        screen.note(&english, &chinese);
    }
    Ok(Ended::Done)
}

fn agreed(name: &str, screen: &Screen) -> Result<bool, Failure> {
    let name = shown(name);
    let asked = screen.pick(
        format!("Remove the channel {name}? [y/N] "),
        format!("移除渠道 {name}？[y/N] "),
    );
    let answer = ask::line(&asked).map_err(|error| Failure::reading(Place::Stdin, error))?;
    let answer = answer.unwrap_or_default().trim().to_lowercase();
    Ok(matches!(answer.as_str(), "y" | "yes" | "是"))
}
