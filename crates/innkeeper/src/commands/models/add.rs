//! `innkeeper models add`: one more channel in the settings, and its key among the secrets.

use std::io::Read;

use innkeeper_models::KeyRef;
use innkeeper_models::provider::{Auth, Provider, Providers};
use innkeeper_tools::{Secret, SecretName, Secrets, SecretsError};
use serde_json::{Value as Json, json};

use super::file::{self, NewChannel};
use super::{Ended, read_settings};
use crate::ask;
use crate::cli::ModelsAddArgs;
use crate::failure::{Failure, ModelFault, Place, shown};
use crate::home::Home;
use crate::input::whole;
use crate::limits::MAX_VALUE_BYTES;
use crate::models::providers;
use crate::output::Screen;
use crate::table::Table;

pub(super) fn run(args: &ModelsAddArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let (providers, problems) = providers(home);
    for problem in &problems {
        let problem = problem.to_string();
        screen.note(&problem, &problem);
    }
    let Some(given) = args.provider.as_deref().filter(|_| !args.list_providers) else {
        list(&providers, screen)?;
        return Ok(Ended::Done);
    };
    let provider = providers
        .get(given)
        .ok_or_else(|| ModelFault::UnknownProvider {
            given: given.to_owned(),
            near: providers.nearest(given).map(str::to_owned),
        })?;
    let name = args.name.clone().unwrap_or_else(|| provider.id.clone());
    let given = args.models.iter().chain(&args.default);
    if given.into_iter().any(|model| !is_model_name(model)) {
        let why = "a model's name has letters and no blanks around them; say it again after --model or --default";
        let why = why.to_owned();
        return Err(ModelFault::Channel { why }.into());
    }
    let mut channel = NewChannel {
        name: name.clone(),
        provider: provider.id.clone(),
        base_url: args.base_url.clone(),
        key: None,
        models: models(args),
        context: None,
    };
    // Before anybody is asked for a key.
    channel.config()?;
    if provider.base_url.is_none() && channel.base_url.is_none() {
        let why = format!(
            "{} has no address of its own; give --base-url",
            provider.label
        );
        return Err(ModelFault::Channel { why }.into());
    }
    let settings = read_settings(home)?;
    let mut there = settings.models.channels.iter();
    if there.any(|channel| channel.name == name) {
        return Err(ModelFault::Exists { name }.into());
    }
    let key = find_key(args, provider, &name, home, screen)?;
    channel.key = key.reference(&name);
    let default = args.default.as_ref().map(|model| full_name(&name, model));
    let secrets = Secrets::new(home.file("secrets.toml"));
    let unkept = |error: SecretsError| refused(&error.to_string());
    let mut kept_before = None;
    if let Key::New(secret) = &key {
        home.create()?;
        kept_before = secrets.get(&secret_name(&name)).map_err(unkept)?;
        secrets.set(&secret_name(&name), secret).map_err(unkept)?;
    }
    if let Err(failure) = file::add(home, std::slice::from_ref(&channel), default.as_deref()) {
        if matches!(key, Key::New(_)) {
            // Nobody would know what it is for. Where it cannot go, it is still for its owner alone.
            let _ = match &kept_before {
                Some(before) => secrets.set(&secret_name(&name), before),
                None => secrets.remove(&secret_name(&name)).map(|_| ()),
            };
        }
        return Err(failure);
    }
    told(&channel, &key, default.as_deref(), screen)?;
    Ok(Ended::Done)
}

fn is_model_name(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && !text.chars().any(char::is_control)
}

/// Those that were named, and the default among them.
fn models(args: &ModelsAddArgs) -> Vec<String> {
    let mut models = args.models.clone();
    if let Some(default) = args.default.as_ref().filter(|_| !models.is_empty()) {
        let serves = |model: &String| innkeeper_tools::Pattern::new(model).matches(default);
        if !models.iter().any(serves) {
            models.push(default.clone());
        }
    }
    models
}

fn full_name(channel: &str, model: &str) -> String {
    match model.strip_prefix(channel) {
        Some(rest) if rest.starts_with('/') => model.to_owned(),
        _ => format!("{channel}/{model}"),
    }
}

pub(super) fn secret_name(channel: &str) -> SecretName {
    SecretName::new(std::iter::once("models").chain(channel.split('.')))
}

fn reference(channel: &str) -> String {
    format!("secret:models.{channel}")
}

/// Where the channel's key is.
enum Key {
    /// It needs none, or finds the usual one of its provider.
    None,
    Variable(String),
    /// Kept before, under this channel's name.
    Kept,
    New(Secret),
}

impl Key {
    fn reference(&self, channel: &str) -> Option<String> {
        match self {
            Self::None => None,
            Self::Variable(name) => Some(format!("${{{name}}}")),
            Self::Kept | Self::New(_) => Some(reference(channel)),
        }
    }
}

fn find_key(
    args: &ModelsAddArgs,
    provider: &Provider,
    name: &str,
    home: &Home,
    screen: &Screen,
) -> Result<Key, Failure> {
    if let Some(variable) = &args.key_env {
        let named = KeyRef::read(&format!("${{{variable}}}"));
        if named.is_none() {
            // It may be a key that was typed in the wrong place.
            return Err(refused(
                "--key-env takes the name of an environment variable, not the key itself",
            ));
        }
        if std::env::var_os(variable).is_none() {
            screen.note(
                &format!("{variable} is not set now; the channel is ready as soon as it is"),
                &format!("{variable} 目前没有设置；设置之后渠道即可使用"),
            );
        }
        return Ok(Key::Variable(variable.clone()));
    }
    let storable = KeyRef::read(&reference(name)).is_some();
    if args.key_stdin {
        let stdin: &mut dyn Read = &mut std::io::stdin().lock();
        let text = whole(stdin, Place::Stdin, MAX_VALUE_BYTES)?;
        return new_key(Some(text), storable)?.ok_or_else(|| refused("standard input is empty"));
    }
    let kept = Secrets::new(home.file("secrets.toml")).get(&secret_name(name));
    if kept.map_err(|error| refused(&error.to_string()))?.is_some() {
        return Ok(Key::Kept);
    }
    if provider.auth == Auth::None {
        return Ok(Key::None);
    }
    // Another address gets no key that was not meant for it.
    let usual = provider
        .key_env
        .as_deref()
        .filter(|_| args.base_url.is_none());
    if let Some(variable) = usual.filter(|variable| std::env::var_os(variable).is_some()) {
        screen.note(
            &format!("The key is taken from {variable}"),
            &format!("密钥取自 {variable}"),
        );
        return Ok(Key::None);
    }
    if !ask::somebody_is_there() {
        return match args.base_url.is_some() {
            true => Ok(Key::None),
            false => Err(ModelFault::NeedsKey {
                provider: provider.label.clone(),
                key_env: provider.key_env.clone(),
            }
            .into()),
        };
    }
    if let Some(url) = &provider.key_url {
        let url = shown(url);
        screen.note(
            &format!("Keys are made at {url}"),
            &format!("密钥在此创建：{url}"),
        );
    }
    let label = shown(&provider.label);
    let prompt = screen.pick(
        format!("Key for {label} (not shown): "),
        format!("{label} 的密钥（不显示）："),
    );
    let typed = ask::hidden_line(&prompt).map_err(|error| Failure::reading(Place::Stdin, error))?;
    match new_key(typed, storable)? {
        Some(key) => Ok(key),
        None if args.base_url.is_some() => Ok(Key::None),
        None => Err(refused("nothing was typed")),
    }
}

/// Files and shells like to add an end of line.
fn new_key(text: Option<String>, storable: bool) -> Result<Option<Key>, Failure> {
    let text = text.unwrap_or_default();
    let key = text.trim();
    if key.is_empty() {
        return Ok(None);
    }
    if !storable {
        return Err(refused(
            "the channel's name has letters that no name of a secret has; give another with --name",
        ));
    }
    if !key.chars().all(|c| c.is_ascii_graphic()) {
        return Err(refused(
            "it has blanks or letters that no key has; paste it again",
        ));
    }
    Ok(Some(Key::New(Secret::new(key))))
}

fn refused(why: &str) -> Failure {
    let why = why.to_owned();
    ModelFault::Key { why }.into()
}

fn told(
    channel: &NewChannel,
    key: &Key,
    default: Option<&str>,
    screen: &Screen,
) -> Result<(), Failure> {
    let name = &channel.name;
    if screen.json {
        let key = match key {
            Key::None => "none",
            Key::Variable(_) => "environment",
            Key::Kept | Key::New(_) => "secret",
        };
        return screen.document(&json!({
            "name": name,
            "provider": channel.provider,
            "baseUrl": channel.base_url,
            "key": key,
            "models": channel.models,
            "default": default,
        }));
    }
    let exact = channel.models.iter().find(|model| !model.contains('*'));
    let model = default
        .map(str::to_owned)
        .or_else(|| Some(full_name(name, exact?)));
    match model {
        Some(model) => screen.note(
            &format!("The channel {name} is there; innkeeper models test {model} asks it something"),
            &format!("渠道 {name} 已建立；innkeeper models test {model} 可以试问一句"),
        ),
        None => screen.note(
            &format!(
                "The channel {name} is there; innkeeper models list --channel {name} --remote shows its models, innkeeper \
                 models test {name}/MODEL asks one"
            ),
            &format!(
                "渠道 {name} 已建立；innkeeper models list --channel {name} --remote 列出它的模型，innkeeper models test \
                 {name}/MODEL 可以试问"
            ),
        ),
    }
    Ok(())
}

fn list(providers: &Providers, screen: &Screen) -> Result<(), Failure> {
    if screen.json {
        let all: Vec<Json> = providers
            .iter()
            .map(|provider| {
                json!({
                    "id": provider.id,
                    "label": provider.label,
                    "format": provider.format,
                    "baseUrl": provider.base_url,
                    "keyEnv": provider.key_env,
                    "keyUrl": provider.key_url,
                    "local": provider.is_local(),
                })
            })
            .collect();
        return screen.document(&all);
    }
    let headings = screen.pick(
        ["PROVIDER", "NAME", "KEY IN", "ADDRESS"],
        ["服务商", "名称", "密钥变量", "地址"],
    );
    let mut table = Table::new(&headings);
    for provider in providers {
        let address = provider.base_url.as_deref();
        table.row([
            provider.id.as_str(),
            &provider.label,
            provider.key_env.as_deref().unwrap_or_default(),
            address.unwrap_or(screen.pick("(yours: --base-url)", "（自定：--base-url）")),
        ]);
    }
    screen.table(&table)
}
