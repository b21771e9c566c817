//! What the machine gives: interpreters for scripts, and a sandbox to run them in.

use std::path::Path;
use std::process::Stdio;

use innkeeper_sandbox::{Layer, LayerState, Sandbox, SandboxOptions, Strength};
use innkeeper_tools::script::Interpreters;
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

use super::Check;
use crate::failure::{cause, message, shown};
use crate::lang::Lang;
use crate::limits::{MAX_VERSION_BYTES, SANDBOX_TRIAL_TIMEOUT, VERSION_TIMEOUT};

pub(super) fn version(lang: Lang) -> Check {
    let (version, system, machine) = (
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
    );
    Check::ok(
        "version",
        lang.pick(
            format!("innkeeper {version} on {system} {machine}"),
            format!("innkeeper {version}，{system} {machine}"),
        ),
    )
}

/// Those that scripts are usually written for. None of them is needed as long as no script wants it.
pub(super) async fn interpreters(lang: Lang) -> Vec<Check> {
    let interpreters = Interpreters::default();
    let mut checks = Vec::new();
    for name in ["python", "node", "bash"] {
        checks.push(match interpreters.locate(name).await {
            Ok(found) => {
                let path = shown(&found.path.to_string_lossy());
                let version = version_of(&found.path).await;
                Check::ok(
                    name,
                    match version {
                        Some(version) => format!("{path} ({version})"),
                        None => path,
                    },
                )
            }
            Err(error) => Check::warn(
                name,
                message(&error.to_string()),
                lang.pick(
                    format!("install it, or leave it: only scripts for {name} need it"),
                    format!("安装它，或不予理会：只有 {name} 脚本需要它"),
                ),
            ),
        });
    }
    checks
}

/// What the program itself says, in one short line; nothing if it takes long or says nothing.
async fn version_of(program: &Path) -> Option<String> {
    let mut child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .ok()?;
    let mut said = Vec::new();
    let mut stdout = child.stdout.take()?.take(MAX_VERSION_BYTES);
    let read = timeout(VERSION_TIMEOUT, stdout.read_to_end(&mut said)).await;
    read.ok()?.ok()?;
    let text = String::from_utf8_lossy(&said);
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| shown(line))
}

/// Tries the sandbox that scripts would run in.
pub(super) async fn strength(lang: Lang) -> Strength {
    let options = match SandboxOptions::own_binary() {
        Ok(options) => options,
        Err(error) => return unusable(cause(&error)),
    };
    let sandbox = Sandbox::new(options);
    match timeout(SANDBOX_TRIAL_TIMEOUT, sandbox.strength()).await {
        Ok(strength) => strength,
        Err(_) => unusable(
            lang.pick(
                "a program that does nothing did not end in it",
                "一个什么都不做的程序没有在其中结束",
            )
            .to_owned(),
        ),
    }
}

fn unusable(detail: String) -> Strength {
    Strength {
        usable: false,
        layers: vec![LayerState {
            layer: Layer::Launcher,
            active: false,
            detail,
        }],
        remedy: None,
    }
}

pub(super) fn sandbox(strength: &Strength, lang: Lang) -> Check {
    let layers = strength.layers.iter();
    let missing: Vec<_> = layers
        .filter(|state| !state.active)
        .map(|state| layer_name(state.layer, lang))
        .collect();
    let missing = missing.join(lang.pick(", ", "、"));
    if !strength.usable {
        let check = Check::fail(
            "sandbox",
            lang.pick(
                "it cannot be had, so no script is run",
                "无法使用，因此不运行任何脚本",
            ),
        );
        return Check {
            remedy: strength.remedy.as_deref().map(message),
            ..check
        };
    }
    match missing.is_empty() {
        true => Check::ok("sandbox", lang.pick("every layer holds", "每一层都有效")),
        false => Check::ok(
            "sandbox",
            lang.pick(
                format!("all that is needed holds; without {missing}"),
                format!("所需的各层都有效；缺少 {missing}"),
            ),
        ),
    }
}

pub(super) fn layer_name(layer: Layer, lang: Lang) -> String {
    let chinese = match layer {
        Layer::Platform => "平台",
        Layer::Launcher => "启动器",
        Layer::UserNamespace => "用户命名空间",
        Layer::OtherNamespaces => "挂载、PID、网络、IPC 和 UTS 命名空间",
        Layer::Root => "独立的根目录",
        Layer::Proc => "独立的 /proc",
        Layer::Unprivileged => "没有任何特权的用户",
        Layer::Seccomp => "seccomp 过滤器",
        Layer::Landlock => "Landlock",
        Layer::Rlimits => "资源限制",
        Layer::Cgroup => "cgroup",
    };
    lang.pick(layer.to_string(), chinese.to_owned())
}
