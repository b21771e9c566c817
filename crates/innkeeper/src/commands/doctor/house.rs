//! The folder for settings and data, and each thing in it, looked at by itself.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use innkeeper_store::{CheckProgress, HomeLock, Store, StoreError};
use innkeeper_tools::Secrets;
use innkeeper_tools::plugin::{Consents, PluginLoader, PluginState};

use super::{Check, models, runs, workflows};
use crate::failure::{Failure, HomeFault, Said, message, shown};
use crate::home::Home;
use crate::lang::Lang;
use crate::platform::plugin_folders;
use crate::settings::{self, Settings};

pub(super) async fn look(
    home: Result<Home, Failure>,
    lang: Lang,
    told: &(dyn Fn(CheckProgress) + Send + Sync),
) -> Vec<Check> {
    let home = match home {
        Ok(home) => home,
        // Everything else lies in it.
        Err(failure) => return vec![Check::failed("home", &failure, lang)],
    };
    let (settings, read) = settings(&home, lang);
    vec![
        folder(&home, lang),
        settings,
        secrets(&home, lang),
        models::look(&home, read.as_ref(), lang),
        database(&home, lang).await,
        runs::look(&home, lang, told).await,
        plugins(&home, &read.unwrap_or_default(), lang),
        workflows::look(&home, lang),
    ]
}

fn folder(home: &Home, lang: Lang) -> Check {
    let path = home.path();
    let name = shown(&path.to_string_lossy());
    let unusable =
        |error: &io::Error| Check::failed("home", &HomeFault::unusable(path, error).into(), lang);
    match fs::metadata(path) {
        Ok(about) if !about.is_dir() => unusable(&io::ErrorKind::NotADirectory.into()),
        Ok(about) => match try_to_write(path) {
            Err(error) => unusable(&error),
            Ok(()) if is_open_to_others(&about) => Check::warn(
                "home",
                lang.pick(
                    format!("{name}: others on this machine can look into it"),
                    format!("{name}：本机的其他用户可以查看"),
                ),
                format!("chmod 700 {name}"),
            ),
            Ok(()) => Check::ok("home", name),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => match try_to_write(above(path)) {
            Err(error) => unusable(&error),
            Ok(()) => Check::ok(
                "home",
                lang.pick(
                    format!("{name}: not there yet; it is made when it is first needed"),
                    format!("{name}：尚不存在；首次需要时会创建"),
                ),
            ),
        },
        Err(error) => unusable(&error),
    }
}

/// The folder in which the missing one would be made.
fn above(path: &Path) -> &Path {
    let mut existing = path.ancestors().skip(1);
    existing
        .find(|path| path.symlink_metadata().is_ok())
        .unwrap_or(path)
}

/// Permissions do not tell all: a disk can be read-only, or full.
fn try_to_write(folder: &Path) -> io::Result<()> {
    let name = format!(".innkeeper-doctor-{}", uuid::Uuid::now_v7().simple());
    let path = folder.join(name);
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .and_then(|mut file| io::Write::write_all(&mut file, b"x"));
    // Where nothing could be made there is nothing to remove.
    let removed = fs::remove_file(&path);
    written.and(removed)
}

#[cfg(unix)]
fn is_open_to_others(about: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o077 != 0
}

#[cfg(not(unix))]
fn is_open_to_others(_: &fs::Metadata) -> bool {
    false
}

pub(super) fn is_missing(path: &Path) -> bool {
    matches!(path.symlink_metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound)
}

/// And what they say, if they can be taken.
fn settings(home: &Home, lang: Lang) -> (Check, Option<Settings>) {
    let path = home.file(settings::FILE);
    match Settings::read(&path) {
        Ok(read) if is_missing(&path) => {
            let said = lang.pick(
                "no innkeeper.toml; the defaults hold",
                "没有 innkeeper.toml；使用默认设置",
            );
            (Check::ok("settings", said), Some(read))
        }
        Ok(read) => {
            let name = shown(&path.to_string_lossy());
            (Check::ok("settings", name), Some(read))
        }
        Err(fault) => (Check::failed("settings", &fault.into(), lang), None),
    }
}

fn secrets(home: &Home, lang: Lang) -> Check {
    let path = home.file("secrets.toml");
    match Secrets::new(&path).names() {
        Ok(_) if is_missing(&path) => {
            Check::ok("secrets", lang.pick("none are kept", "没有保存密钥"))
        }
        Ok(names) => {
            let count = names.len();
            Check::ok(
                "secrets",
                lang.pick(
                    format!("{count} kept in secrets.toml, which only you can read"),
                    format!("secrets.toml 中有 {count} 个，只有你能读取"),
                ),
            )
        }
        Err(error) => Check::fail("secrets", Said::of(&error.to_string()).shown(lang)),
    }
}

async fn database(home: &Home, lang: Lang) -> Check {
    let path = home.file("innkeeper.db");
    if is_missing(&path) && !is_missing(&home.file("blobs")) {
        return Check::fail(
            "database",
            lang.pick(
                "it is gone, but blobs/ holds contents of runs; put innkeeper.db back, or remove blobs/ to begin anew",
                "数据库不见了，但 blobs/ 中有运行的内容；请放回 innkeeper.db，或删除 blobs/ 重新开始",
            ),
        );
    }
    if is_missing(&path) {
        return Check::ok(
            "database",
            lang.pick(
                "not there yet; it is made when it is first needed",
                "尚不存在；首次需要时会创建",
            ),
        );
    }
    let opened = match Store::open(&path).await {
        Ok(store) => {
            let tried = store.try_writing().await;
            tried.and(store.close().await)
        }
        Err(error) => Err(error),
    };
    match opened.and(lock(home).await) {
        Ok(()) => Check::ok("database", shown(&path.to_string_lossy())),
        Err(error) => Check::failed("database", &error.into(), lang),
    }
}

/// Whether this user could drive runs.
async fn lock(home: &Home) -> Result<(), StoreError> {
    // Where there is none, nobody has ever driven one, and nothing is to be made here.
    if is_missing(&home.file("innkeeper.lock")) {
        return Ok(());
    }
    match HomeLock::claim(home.path()).await {
        Ok(_) | Err(StoreError::InUse { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

#[derive(Default)]
struct Counted {
    enabled: usize,
    disabled: usize,
    pending: usize,
    broken: usize,
}

fn plugins(home: &Home, settings: &Settings, lang: Lang) -> Check {
    let folders: Vec<PathBuf> = plugin_folders(home, settings);
    let consents = Consents::new(home.path());
    let mut counted = Counted::default();
    for found in PluginLoader::new(folders).closing(home.path()).scan() {
        let Ok(package) = found.outcome else {
            counted.broken += 1;
            continue;
        };
        match consents.state(&package) {
            Ok(PluginState::Enabled) => counted.enabled += 1,
            Ok(PluginState::Disabled) => counted.disabled += 1,
            Ok(PluginState::Pending { .. }) => counted.pending += 1,
            Err(error) => return Check::fail("plugins", message(&error.to_string())),
        }
    }
    let Counted {
        enabled,
        disabled,
        pending,
        broken,
    } = counted;
    let said = lang.pick(
        format!("{enabled} enabled, {disabled} disabled, {pending} pending, {broken} broken"),
        format!("已启用 {enabled}，已停用 {disabled}，待授权 {pending}，有错误 {broken}"),
    );
    match broken {
        0 => Check::ok("plugins", said),
        _ => {
            let remedy = lang.pick(
                "innkeeper plugin list shows which and why",
                "innkeeper plugin list 会显示是哪些以及原因",
            );
            Check::warn("plugins", said, remedy)
        }
    }
}
