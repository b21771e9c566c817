//! `innkeeper models discover`: servers on this machine, and channels for them.

use std::collections::BTreeSet;

use innkeeper_models::{Found, Place, discover};
use serde_json::json;

use super::file::{self, Addition, NewChannel};
use super::{Ended, open};
use crate::cli::ModelsDiscoverArgs;
use crate::failure::{Failure, shown};
use crate::home::Home;
use crate::models::{HouseModels, REHEARSAL, is_model_name};
use crate::output::Screen;
use crate::runtime::block_on;
use crate::table::Table;

pub(super) fn run(
    args: &ModelsDiscoverArgs,
    home: &Home,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let house = open(home, None)?;
    let places = match args.ports.as_slice() {
        [] => Place::usual(&house.providers),
        ports => {
            let mut seen = BTreeSet::new();
            let each = ports.iter().filter(|port| seen.insert(**port));
            each.map(|port| Place { port: *port }).collect()
        }
    };
    let found = block_on(async { Ok(discover(&house.client, &places).await) })?;
    let added = match args.add {
        true => add(&house, home, &found)?,
        false => Addition::default(),
    };
    let channels = &added.channels;
    if screen.json {
        let names: Vec<&str> = channels
            .iter()
            .map(|channel| channel.name.as_str())
            .collect();
        screen.document(&json!({ "found": found, "added": names }))?;
        return Ok(Ended::Done);
    }
    show(&house, &found, screen)?;
    for channel in channels {
        connected(&house, channel, &found, screen);
    }
    if let Some(default) = added.default.as_deref().map(shown) {
        screen.note(
            &format!("{default} answers from now on where no model is named"),
            &format!("今后没有指明模型时由 {default} 答复"),
        );
    }
    if args.add && channels.is_empty() && !found.is_empty() {
        screen.note(
            "Nothing to add: they have channels already, or want a key (innkeeper models add custom --base-url URL)",
            "没有可添加的：它们已有渠道，或需要密钥（innkeeper models add custom --base-url URL）",
        );
    }
    Ok(Ended::Done)
}

/// With a model of it that can be asked, where it told one.
fn connected(house: &HouseModels, channel: &NewChannel, found: &[Found], screen: &Screen) {
    let own = channel.base_url.as_deref();
    let address = own.or_else(|| usual_address(house, &channel.provider));
    let mut servers = found.iter();
    let server = servers.find(|server| Some(server.base_url.as_str()) == address);
    let model = server.and_then(|server| server.models.first());
    let name = shown(&channel.name);
    match model.map(|model| shown(&model.id)) {
        Some(model) => screen.note(
            &format!("The channel {name} is there; innkeeper models test {name}/{model} asks it something"),
            &format!("渠道 {name} 已建立；innkeeper models test {name}/{model} 可以试问一句"),
        ),
        None => screen.note(
            &format!(
                "The channel {name} is there and has no model yet; once it has, innkeeper models list --channel {name} \
                 --remote shows it"
            ),
            &format!(
                "渠道 {name} 已建立，但还没有模型；有了之后，innkeeper models list --channel {name} --remote 会列出"
            ),
        ),
    }
}

fn usual_address<'h>(house: &'h HouseModels, provider: &str) -> Option<&'h str> {
    house.providers.get(provider)?.base_url.as_deref()
}

/// A channel for each that has none and wants no key. The first model answers where none is named, unless there is
/// somebody already.
fn add(house: &HouseModels, home: &Home, found: &[Found]) -> Result<Addition, Failure> {
    file::add(home, |settings| {
        let there = &settings.models.channels;
        let mut addition = Addition::default();
        for server in found.iter().filter(|server| !server.needs_key) {
            let is_connected = there.iter().any(|channel| {
                let own = channel.base_url.as_deref();
                own.or_else(|| usual_address(house, &channel.provider)) == Some(&server.base_url)
            });
            if is_connected {
                continue;
            }
            let channels = &addition.channels;
            let taken = |name: &str| {
                there.iter().any(|channel| channel.name == name)
                    || channels.iter().any(|channel| channel.name == name)
            };
            let name = match taken(server.provider) || server.provider == "custom" {
                true => format!("{}-{}", server.provider, server.port),
                false => server.provider.to_owned(),
            };
            if taken(&name) {
                continue;
            }
            if let Some(model) = server.models.iter().find(|model| is_model_name(&model.id)) {
                let default = || format!("{name}/{}", model.id);
                addition.default.get_or_insert_with(default);
            }
            let is_usual = usual_address(house, server.provider) == Some(&server.base_url);
            addition.channels.push(NewChannel {
                name,
                provider: server.provider.to_owned(),
                base_url: (!is_usual).then(|| server.base_url.clone()),
                context: window(server),
                ..NewChannel::default()
            });
        }
        let answers = house.models.default_name() != Some(REHEARSAL);
        if settings.models.default.is_some() || answers {
            addition.default = None;
        }
        Ok(addition)
    })
}

/// What a channel's models hold, if the server tells the same of all of them. Ollama tells what a model was made for,
/// and gives it less unless somebody says otherwise.
fn window(server: &Found) -> Option<u64> {
    if server.provider == "ollama" {
        return None;
    }
    let (first, others) = server.models.split_first()?;
    let context = first.context.filter(|tokens| *tokens > 0)?;
    let same = others.iter().all(|model| model.context == Some(context));
    same.then_some(context)
}

fn show(house: &HouseModels, found: &[Found], screen: &Screen) -> Result<(), Failure> {
    if found.is_empty() {
        screen.note(
            "No model server answers on this machine; start Ollama, LM Studio, llama.cpp or vLLM, or name its port with --port",
            "本机没有模型服务器应答；请启动 Ollama、LM Studio、llama.cpp 或 vLLM，或用 --port 指明端口",
        );
        return Ok(());
    }
    let headings = screen.pick(
        ["SERVER", "VERSION", "ADDRESS", "MODEL", "CONTEXT"],
        ["服务器", "版本", "地址", "模型", "上下文"],
    );
    let mut table = Table::new(&headings);
    for server in found {
        let provider = house.providers.get(server.provider);
        let label = provider.map_or(server.provider, |provider| provider.label.as_str());
        let version = server.version.as_deref().unwrap_or_default();
        if server.models.is_empty() {
            let none = match server.needs_key {
                true => screen.pick("(wants a key)", "（需要密钥）"),
                false => screen.pick("(none)", "（无）"),
            };
            table.row([label, version, &server.base_url, none, ""]);
        }
        for model in &server.models {
            let context = model.context.map(|tokens| tokens.to_string());
            table.row([
                label,
                version,
                &server.base_url,
                &model.id,
                &context.unwrap_or_default(),
            ]);
        }
    }
    screen.table(&table)
}

#[cfg(test)]
mod tests {
    use innkeeper_models::ListedModel;

    use super::*;

    #[test]
    fn a_window_is_written_down_where_it_is_known_of_all() {
        type Row<'r> = (&'static str, &'r [Option<u64>], Option<u64>);
        let rows: [Row<'_>; 7] = [
            ("llamacpp", &[Some(4_096)], Some(4_096)),
            ("vllm", &[Some(8_192), Some(8_192)], Some(8_192)),
            ("lmstudio", &[Some(8_192), Some(4_096)], None),
            ("lmstudio", &[Some(8_192), None], None),
            ("vllm", &[Some(0)], None),
            ("vllm", &[], None),
            ("ollama", &[Some(131_072)], None),
        ];
        for (provider, contexts, expected) in rows {
            let models = contexts.iter().map(|context| ListedModel {
                id: "m".into(),
                context: *context,
            });
            let server = Found {
                provider,
                port: 1,
                base_url: String::new(),
                version: None,
                needs_key: false,
                models: models.collect(),
            };
            assert_eq!(window(&server), expected, "{provider} {contexts:?}");
        }
    }

    #[test]
    fn it_comes_back_from_the_settings() {
        let channel = NewChannel {
            name: "lab".into(),
            provider: "ollama".into(),
            context: Some(4_096),
            ..NewChannel::default()
        };
        let config = channel.config().ok().unwrap();
        assert_eq!(config.context, Some(4_096));
    }
}
