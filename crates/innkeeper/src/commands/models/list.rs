//! `innkeeper models list`: channels in their order, what they serve and what they lack.

use std::collections::HashMap;
use std::sync::Arc;

use innkeeper_models::{Candidate, Channel, ModelInfo, Price};
use innkeeper_tools::Redactor;
use serde_json::{Value as Json, json};

use super::remote::{self, Answers, Listed};
use super::{Ended, open};
use crate::cli::ModelsListArgs;
use crate::failure::{Failure, ModelFault, Said};
use crate::home::Home;
use crate::lang::Lang;
use crate::models::{HouseModels, REHEARSAL};
use crate::output::Screen;
use crate::suggest::nearest;
use crate::table::Table;

pub(super) fn run(args: &ModelsListArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let house = open(home, None)?;
    let channels = chosen(&house, args.channel.as_deref())?;
    let answers = match args.remote {
        true => remote::ask(&channels, screen)?,
        false => Answers {
            lists: channels.iter().map(|_| None).collect(),
            interrupted: false,
        },
    };
    let answering = house.answers();
    let lists: Vec<Listing> = channels
        .into_iter()
        .zip(answers.lists)
        .map(|(channel, asked)| Listing::of(&house, channel, asked, answering.as_ref()))
        .collect();
    match screen.json {
        true => {
            let mut document = document(&house, &lists, screen.lang);
            house.redactor.redact_json(&mut document);
            screen.document(&document)?;
        }
        false => show(&house, &lists, answering.as_ref(), screen)?,
    }
    Ok(match answers.interrupted {
        true => Ended::Interrupted,
        false => Ended::Done,
    })
}

fn chosen(house: &HouseModels, name: Option<&str>) -> Result<Vec<Arc<Channel>>, Failure> {
    let all = house.channels();
    let Some(name) = name else {
        return Ok(all.to_vec());
    };
    let found: Vec<_> = all
        .iter()
        .filter(|channel| channel.name() == name)
        .cloned()
        .collect();
    match found.is_empty() {
        false => Ok(found),
        true => Err(unknown(name, all)),
    }
}

pub(super) fn unknown(name: &str, all: &[Arc<Channel>]) -> Failure {
    let names = all.iter().map(|channel| channel.name());
    ModelFault::UnknownChannel {
        given: name.to_owned(),
        near: nearest(name, names),
    }
    .into()
}

/// A channel with all that is known of it.
struct Listing {
    channel: Arc<Channel>,
    models: Vec<Entry>,
    /// What it lacks; each reason once.
    lacks: Option<Said>,
    missing_keys: Vec<Said>,
    /// Why its server did not tell.
    error: Option<Said>,
}

struct Entry {
    name: String,
    info: ModelInfo,
    /// By the server's own account.
    remote: bool,
    /// It answers where no model is named.
    default: bool,
}

impl Listing {
    fn of(
        house: &HouseModels,
        channel: Arc<Channel>,
        asked: Option<Listed>,
        answering: Option<&Candidate>,
    ) -> Self {
        let config = channel.config();
        // Its name there.
        let answering = answering
            .filter(|answering| answering.channel.name() == channel.name())
            .map(|answering| answering.model.as_str());
        let entry = |name: &str, context: Option<u64>, remote: bool| {
            let known = house.table.info(channel.name(), channel.provider(), name);
            let context = config.context.or(context).or(known.context);
            let there = config.rename.get(name).map_or(name, String::as_str);
            Entry {
                name: name.to_owned(),
                info: ModelInfo { context, ..known },
                remote,
                default: answering == Some(there),
            }
        };
        let mut models: Vec<Entry> = Vec::new();
        let mut places = HashMap::new();
        let mut put = |new: Entry| match places.get(&new.name) {
            Some(place) => {
                if let Some(old) = models.get_mut(*place) {
                    *old = new;
                }
            }
            None => {
                places.insert(new.name.clone(), models.len());
                models.push(new);
            }
        };
        let named = config.models.iter().map(|model| model.as_str());
        for name in named.chain(config.rename.keys().map(String::as_str)) {
            put(entry(name, None, false));
        }
        let mut error = None;
        match asked {
            None => {}
            Some(Err(why)) => error = Some(why),
            Some(Ok(listed)) => {
                for model in listed {
                    put(entry(&model.id, model.context, true));
                }
            }
        }
        // One that is fitted by a pattern, or by nothing at all, is named nowhere else.
        if let Some(model) = answering.filter(|_| !models.iter().any(|model| model.default)) {
            models.insert(0, entry(model, None, false));
        }
        let lacks = channel.ready().err().map(Said::lack);
        let mut missing_keys: Vec<Said> = Vec::new();
        for missing in channel.missing_keys() {
            let missing = Said::of(missing);
            if !missing_keys.contains(&missing) {
                missing_keys.push(missing);
            }
        }
        Self {
            models,
            lacks,
            missing_keys,
            error,
            channel,
        }
    }

    /// One word that never changes, and why.
    fn state(&self) -> (&'static str, Option<&Said>) {
        match (self.channel.config().disabled, &self.lacks) {
            (true, _) => ("disabled", None),
            (false, None) => ("ready", None),
            (false, Some(why)) => ("not_ready", Some(why)),
        }
    }

    fn json(&self, lang: Lang) -> Json {
        let (state, why) = self.state();
        let config = self.channel.config();
        let provider = self.channel.provider();
        let models: Vec<Json> = self
            .models
            .iter()
            .map(|model| {
                json!({
                    "name": model.name,
                    "context": model.info.context,
                    "inputPrice": dollars(model.info.input),
                    "outputPrice": dollars(model.info.output),
                    "remote": model.remote,
                })
            })
            .collect();
        let missing: Vec<&str> = self.missing_keys.iter().map(|why| why.pick(lang)).collect();
        json!({
            "name": self.channel.name(),
            "provider": provider.id,
            "baseUrl": config.base_url.as_ref().or(provider.base_url.as_ref()),
            "state": state,
            "why": why.map(|why| why.pick(lang)),
            "missingKeys": missing,
            "models": models,
            "error": self.error.as_ref().map(|why| why.pick(lang)),
        })
    }
}

fn dollars(price: Option<Price>) -> Option<f64> {
    price.map(Price::dollars_per_million)
}

/// All of them as one document. A server's own words in it may hold a key.
pub(super) fn told(house: &HouseModels) -> Json {
    let answering = house.answers();
    let channels = house.channels().iter().cloned();
    let lists: Vec<Listing> = channels
        .map(|channel| Listing::of(house, channel, None, answering.as_ref()))
        .collect();
    document(house, &lists, Lang::En)
}

fn document(house: &HouseModels, lists: &[Listing], lang: Lang) -> Json {
    let doubts = house.doubts();
    let problems: Vec<&str> = doubts.iter().map(|doubt| doubt.pick(lang)).collect();
    json!({
        "default": house.models.default_name(),
        "channels": lists.iter().map(|list| list.json(lang)).collect::<Vec<_>>(),
        "registered": [REHEARSAL],
        "problems": problems,
    })
}

fn show(
    house: &HouseModels,
    lists: &[Listing],
    answering: Option<&Candidate>,
    screen: &Screen,
) -> Result<(), Failure> {
    let redactor = &house.redactor;
    let default = house.models.default_name().unwrap_or_default();
    let headings = screen.pick(
        ["MODEL", "CONTEXT", "PRICE", "STATE"],
        ["模型", "上下文", "价格", "状态"],
    );
    let mut table = Table::new(&headings);
    for list in lists {
        rows(list, redactor, screen, &mut table);
    }
    let mark = if default == REHEARSAL { " *" } else { "" };
    let plays = screen.pick("plays its script", "按脚本排练");
    table.told([&*format!("{REHEARSAL}{mark}"), "", "", plays]);
    screen.table(&table)?;
    for doubt in house.doubts() {
        let [english, chinese] = [Lang::En, Lang::Zh].map(|lang| {
            let said = doubt.shown(lang);
            redactor.redact_text(&said).into_owned()
        });
        screen.note(&english, &chinese);
    }
    if answering.is_some() || default == REHEARSAL {
        let who = answering.map(|found| format!("{}/{}", found.channel.name(), found.model));
        let shown = match who.filter(|who| who != default) {
            Some(who) => format!("{default} ({who})"),
            None => default.to_owned(),
        };
        let shown = redactor.redact_text(&shown).into_owned();
        screen.note(
            &format!("* {shown} answers where no model is named; prices are dollars per million tokens, in/out"),
            &format!("* 没有指明模型时由 {shown} 答复；价格为每百万词元的美元数（输入/输出）"),
        );
    }
    if house.channels().is_empty() {
        screen.note(
            "No model is connected yet: innkeeper models discover --add finds those of this machine, innkeeper models add \
             PROVIDER connects others",
            "尚未接入模型：innkeeper models discover --add 寻找本机的模型，innkeeper models add PROVIDER 接入其他模型",
        );
    }
    Ok(())
}

fn rows(list: &Listing, redactor: &Redactor, screen: &Screen, table: &mut Table) {
    let (state, why) = list.state();
    let state = match state {
        "ready" => screen.pick("ready", "就绪"),
        "disabled" => screen.pick("disabled", "已停用"),
        _ => screen.pick("not ready", "未就绪"),
    };
    let why = why.or(list.error.as_ref()).map(|why| why.pick(screen.lang));
    let between = screen.pick(": ", "：");
    let told = why.map_or_else(|| state.to_owned(), |why| format!("{state}{between}{why}"));
    let told = redactor.redact_text(&told);
    let name = list.channel.name();
    for model in &list.models {
        let whole = format!("{name}/{}", model.name);
        let mark = if model.default { " *" } else { "" };
        let shown = redactor.redact_text(&whole);
        let context = model.info.context.map(|tokens| tokens.to_string());
        let price = match (model.info.input, model.info.output) {
            (Some(input), Some(output)) => format!(
                "{}/{}",
                input.dollars_per_million(),
                output.dollars_per_million()
            ),
            _ => String::new(),
        };
        table.told([
            &*format!("{shown}{mark}"),
            &context.unwrap_or_default(),
            &price,
            &told,
        ]);
    }
    // A server that has told its models serves those.
    if list.channel.config().models.is_empty() && !list.models.iter().any(|model| model.remote) {
        let all = screen.pick("(any)", "（任意）");
        table.told([&*format!("{name}/{all}"), "", "", &told]);
    }
    for missing in &list.missing_keys {
        let missing = missing.pick(screen.lang);
        table.told(["", "", "", &redactor.redact_text(missing)]);
    }
}
