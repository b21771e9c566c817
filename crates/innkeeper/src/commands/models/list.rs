//! `innkeeper models list`: channels in their order, what they serve and what they lack.

use std::sync::Arc;

use futures_util::future::join_all;
use innkeeper_models::{Channel, ListedModel, ModelError, ModelInfo, Price};
use innkeeper_tools::Redactor;
use serde_json::{Value as Json, json};

use super::{Ended, open};
use crate::cli::ModelsListArgs;
use crate::failure::{Failure, ModelFault};
use crate::home::Home;
use crate::models::{HouseModels, REHEARSAL};
use crate::output::Screen;
use crate::runtime::block_on;
use crate::suggest::nearest;
use crate::table::Table;

pub(super) fn run(args: &ModelsListArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let house = open(home, None)?;
    let channels = chosen(&house, args.channel.as_deref())?;
    let asked = match args.remote {
        true => block_on(async { Ok(ask(&channels).await) })?,
        false => channels.iter().map(|_| None).collect(),
    };
    let lists: Vec<Listing> = channels
        .into_iter()
        .zip(asked)
        .map(|(channel, asked)| Listing::of(&house, channel, asked))
        .collect();
    match screen.json {
        true => {
            let mut document = document(&house, &lists);
            house.redactor.redact_json(&mut document);
            screen.document(&document)?;
        }
        false => show(&house, &lists, screen)?,
    }
    Ok(Ended::Done)
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

type Answer = Option<Result<Vec<ListedModel>, ModelError>>;

/// All at once. Whoever is disabled or lacks something is not asked.
async fn ask(channels: &[Arc<Channel>]) -> Vec<Answer> {
    let asks = channels.iter().map(|channel| async {
        match !channel.config().disabled && channel.ready().is_ok() {
            true => Some(channel.list_models().await),
            false => None,
        }
    });
    join_all(asks).await
}

/// A channel with all that is known of it.
struct Listing {
    channel: Arc<Channel>,
    models: Vec<Entry>,
    /// Why its server did not tell.
    error: Option<String>,
}

struct Entry {
    name: String,
    info: ModelInfo,
    /// By the server's own account.
    remote: bool,
}

impl Listing {
    fn of(house: &HouseModels, channel: Arc<Channel>, asked: Answer) -> Self {
        let entry = |name: &str, context: Option<u64>, remote: bool| {
            let known = house.table.info(channel.name(), channel.provider(), name);
            let context = channel.config().context.or(context).or(known.context);
            Entry {
                name: name.to_owned(),
                info: ModelInfo { context, ..known },
                remote,
            }
        };
        let config = channel.config();
        let named = config.models.iter().map(|model| model.as_str());
        let named = named.chain(config.rename.keys().map(String::as_str));
        let mut models: Vec<Entry> = named.map(|name| entry(name, None, false)).collect();
        let mut error = None;
        match asked {
            None => {}
            Some(Err(refusal)) => error = Some(refusal.message),
            Some(Ok(listed)) => {
                for model in listed {
                    match models.iter_mut().find(|known| known.name == model.id) {
                        Some(known) => *known = entry(&model.id, model.context, true),
                        None => models.push(entry(&model.id, model.context, true)),
                    }
                }
            }
        }
        Self {
            channel,
            models,
            error,
        }
    }

    /// One word that never changes, and why.
    fn state(&self) -> (&'static str, Option<&str>) {
        match (self.channel.config().disabled, self.channel.ready()) {
            (true, _) => ("disabled", None),
            (false, Ok(())) => ("ready", None),
            (false, Err(why)) => ("not_ready", Some(why)),
        }
    }

    fn json(&self) -> Json {
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
        json!({
            "name": self.channel.name(),
            "provider": provider.id,
            "baseUrl": config.base_url.as_ref().or(provider.base_url.as_ref()),
            "state": state,
            "why": why,
            "missingKeys": self.channel.missing_keys(),
            "models": models,
            "error": self.error,
        })
    }
}

fn dollars(price: Option<Price>) -> Option<f64> {
    price.map(Price::dollars_per_million)
}

fn document(house: &HouseModels, lists: &[Listing]) -> Json {
    let problems: Vec<String> = house.problems.iter().map(ToString::to_string).collect();
    json!({
        "default": house.models.default_name(),
        "channels": lists.iter().map(Listing::json).collect::<Vec<_>>(),
        "registered": [REHEARSAL],
        "problems": problems,
    })
}

fn show(house: &HouseModels, lists: &[Listing], screen: &Screen) -> Result<(), Failure> {
    let redactor = &house.redactor;
    let default = house.models.default_name().unwrap_or_default();
    let headings = screen.pick(
        ["MODEL", "CONTEXT", "PRICE", "STATE"],
        ["模型", "上下文", "价格", "状态"],
    );
    let mut table = Table::new(&headings);
    for list in lists {
        rows(list, default, redactor, screen, &mut table);
    }
    let mark = if default == REHEARSAL { " *" } else { "" };
    let plays = screen.pick("plays its script", "按脚本演示");
    table.told([&*format!("{REHEARSAL}{mark}"), "", "", plays]);
    screen.table(&table)?;
    for problem in &house.problems {
        let problem = problem.to_string();
        screen.note(&problem, &problem);
    }
    let shown = redactor.redact_text(default).into_owned();
    screen.note(
        &format!("* {shown} answers where no model is named; prices are dollars per million tokens, in/out"),
        &format!("* 没有指明模型时由 {shown} 答复；价格为每百万词元的美元数（输入/输出）"),
    );
    if lists.is_empty() {
        screen.note(
            "No model is connected yet: innkeeper models discover --add finds those of this machine, innkeeper models add \
             PROVIDER connects others",
            "尚未接入模型：innkeeper models discover --add 寻找本机的模型，innkeeper models add PROVIDER 接入其他模型",
        );
    }
    Ok(())
}

fn rows(list: &Listing, default: &str, redactor: &Redactor, screen: &Screen, table: &mut Table) {
    let (state, why) = list.state();
    let state = match state {
        "ready" => screen.pick("ready", "就绪"),
        "disabled" => screen.pick("disabled", "已停用"),
        _ => screen.pick("not ready", "未就绪"),
    };
    let why = why.or(list.error.as_deref());
    let told = why.map_or_else(|| state.to_owned(), |why| format!("{state}: {why}"));
    let told = redactor.redact_text(&told);
    let name = list.channel.name();
    if list.models.is_empty() {
        let all = screen.pick("(any)", "（任意）");
        table.told([&*format!("{name}/{all}"), "", "", &told]);
    }
    for model in &list.models {
        let whole = format!("{name}/{}", model.name);
        let mark = if whole == default { " *" } else { "" };
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
    for missing in list.channel.missing_keys() {
        table.told(["", "", "", &redactor.redact_text(missing)]);
    }
}
