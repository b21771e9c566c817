//! `innkeeper models add`: one more channel in the settings, and its key among the secrets.

use std::io::Read;

use innkeeper_models::provider::{Auth, Provider, Providers};
use innkeeper_models::{ChannelConfig, KeyRef};
use innkeeper_tools::Secret;
use serde_json::{Value as Json, json};

use super::file::{self, Addition, NewChannel, NewKey};
use super::{Ended, read_settings};
use crate::ask;
use crate::cli::ModelsAddArgs;
use crate::failure::{Failure, ModelFault, Place, Said, shown};
use crate::home::Home;
use crate::input::whole;
use crate::limits::MAX_VALUE_BYTES;
use crate::models::{REHEARSAL, is_model_name, providers};
use crate::output::Screen;
use crate::settings::{is_rehearsal, no_name};
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
    if name == REHEARSAL {
        return Err(ModelFault::Channel {
            why: is_rehearsal(),
        }
        .into());
    }
    let default = args.default.as_deref();
    let default = default.map(|model| bare(&name, model, &args.models));
    let mut given = args.models.iter().map(String::as_str).chain(default);
    if given.any(|model| !is_model_name(model)) {
        return Err(ModelFault::Channel { why: no_name() }.into());
    }
    let mut channel = NewChannel {
        name: name.clone(),
        provider: provider.id.clone(),
        base_url: args.base_url.clone(),
        key: None,
        models: models(&args.models, default),
        context: None,
    };
    // Before anybody is asked for a key.
    channel.config()?;
    if provider.base_url.is_none() && channel.base_url.is_none() {
        let why = Said::new(
            format!(
                "{} has no address of its own; give --base-url",
                provider.label
            ),
            format!("{} 没有自己的地址；请给出 --base-url", provider.label),
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
    let default = default.map(|model| format!("{name}/{model}"));
    let new_key = match &key {
        Key::New(secret) => Some(NewKey {
            secret: secret.clone(),
            replaces: args.replace_key,
        }),
        Key::None | Key::Variable(_) | Key::Kept => None,
    };
    // Somebody else may have been quicker, so all of it is looked at once more.
    let added = file::add(home, |_| {
        Ok(Addition {
            channels: vec![channel.clone()],
            default,
            key: new_key,
        })
    })?;
    if args.replace_key {
        tell_users(&name, &settings.models.channels, screen);
    }
    told(&channel, &key, added.default.as_deref(), screen)?;
    Ok(Ended::Done)
}

/// Others may show the key that was written over.
fn tell_users(name: &str, channels: &[ChannelConfig], screen: &Screen) {
    let users = channels.iter();
    let users = users.filter(|other| file::uses_key_of(other, name));
    let users: Vec<String> = users.map(|other| shown(&other.name)).collect();
    if !users.is_empty() {
        let (key, users) = (file::secret_name(name), users.join(", "));
        screen.note(
            &format!("The key {key} is another now, for {users} too"),
            &format!("密钥 {key} 已更换，{users} 也用它"),
        );
    }
}

/// The default without the name of the new channel, which people write before it or not. What is given as a model of the
/// channel is meant as it stands: some are called like their provider.
pub(super) fn bare<'m>(channel: &str, default: &'m str, models: &[String]) -> &'m str {
    let own = default.strip_prefix(channel);
    let own = own.and_then(|rest| rest.strip_prefix(['/', ':']));
    let is_served = models.iter().any(|model| model == default);
    own.filter(|_| !is_served).unwrap_or(default)
}

/// Those that were named, and the default among them.
pub(super) fn models(given: &[String], default: Option<&str>) -> Vec<String> {
    let mut models = given.to_vec();
    if let Some(default) = default.filter(|_| !models.is_empty()) {
        let serves = |model: &String| innkeeper_tools::Pattern::new(model).matches(default);
        if !models.iter().any(serves) {
            models.push(default.to_owned());
        }
    }
    models
}

pub(super) fn reference(channel: &str) -> String {
    format!("secret:models.{channel}")
}

/// Where the channel's key is.
pub(super) enum Key {
    /// It needs none, or finds the usual one of its provider.
    None,
    Variable(String),
    /// Kept before, under this channel's name.
    Kept,
    New(Secret),
}

impl Key {
    pub(super) fn reference(&self, channel: &str) -> Option<String> {
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
                "--key-env 后面是环境变量的名字，而不是密钥本身",
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
        return new_key(Some(text), storable)?
            .ok_or_else(|| refused("standard input is empty", "标准输入是空的"));
    }
    let kept = file::secrets(home).get(&file::secret_name(name));
    let kept = kept.map_err(|error| ModelFault::Key {
        why: Said::of(&error.to_string()),
    })?;
    if kept.is_some() && !args.replace_key {
        let kept = file::secret_name(name);
        // Nobody wrote down whom it was given for. The provider itself is meant by its own name, and nobody else.
        let is_its_own =
            name == provider.id && args.base_url.is_none() && provider.auth != Auth::None;
        if !is_its_own && !args.use_kept_key {
            return Err(refused(
                &format!(
                    "secrets.toml keeps a key {kept}, which may be meant for another server; --use-kept-key shows it to \
                     this one, --replace-key asks for another, --name makes a channel without it"
                ),
                &format!(
                    "secrets.toml 中有密钥 {kept}，它可能属于另一台服务器；--use-kept-key 把它用于这台服务器，--replace-key \
                     询问新的密钥，--name 则另起渠道"
                ),
            ));
        }
        screen.note(
            &format!("The key {kept} of secrets.toml is used; --replace-key asks for another"),
            &format!("沿用 secrets.toml 中的密钥 {kept}；--replace-key 会询问新的密钥"),
        );
        return Ok(Key::Kept);
    }
    if provider.auth == Auth::None && !args.replace_key {
        return Ok(Key::None);
    }
    // Another address gets no key that was not meant for it.
    let usual = provider
        .key_env
        .as_deref()
        .filter(|_| args.base_url.is_none() && !args.replace_key);
    if let Some(variable) = usual.filter(|variable| std::env::var_os(variable).is_some()) {
        screen.note(
            &format!("The key is taken from {variable}"),
            &format!("密钥取自 {variable}"),
        );
        return Ok(Key::None);
    }
    if !ask::somebody_is_there() {
        return match args.base_url.is_some() && !args.replace_key {
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
        None if args.base_url.is_some() && !args.replace_key => Ok(Key::None),
        None => Err(refused("nothing was typed", "什么也没有输入")),
    }
}

/// Files and shells like to add an end of line.
pub(super) fn new_key(text: Option<String>, storable: bool) -> Result<Option<Key>, Failure> {
    let text = text.unwrap_or_default();
    let key = text.trim();
    if key.is_empty() {
        return Ok(None);
    }
    if !storable {
        return Err(refused(
            "the channel's name has letters that no name of a secret has; give another with --name",
            "渠道的名字含有密钥名不能用的字符；请用 --name 另起名字",
        ));
    }
    if !key.chars().all(|c| c.is_ascii_graphic()) {
        return Err(refused(
            "it has blanks or letters that no key has; paste it again",
            "其中有空白或密钥不会有的字符；请重新粘贴",
        ));
    }
    Ok(Some(Key::New(Secret::new(key))))
}

fn refused(english: &str, chinese: &str) -> Failure {
    let why = Said::new(english, chinese);
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
        .or_else(|| Some(format!("{name}/{}", exact?)));
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
