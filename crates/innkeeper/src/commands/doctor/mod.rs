//! `innkeeper doctor`: what works on this machine, what does not, and what to do about it.
//!
//! Looks, changes nothing, and never gives up half way: whatever is broken is a line of its own. The house is
//! looked at in `house.rs`, `models.rs`, `runs.rs` and `workflows.rs`, the machine in `machine.rs`. Only `repair.rs` changes
//! something.

mod house;
mod machine;
mod models;
mod repair;
mod runs;
mod workflows;

use innkeeper_sandbox::{LayerState, Strength};
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::Ended;
use crate::cli::DoctorArgs;
use crate::failure::Failure;
use crate::home::Home;
use crate::lang::Lang;
use crate::output::Screen;
use crate::runtime::block_on;
use crate::table::Table;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Check {
    /// Stable, in English.
    name: &'static str,
    state: State,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    /// It works, though not all that there could be.
    Warn,
    /// Something that is needed does not work.
    Fail,
}

impl State {
    const fn mark(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

impl Check {
    fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self {
            name,
            state: State::Ok,
            detail: detail.into(),
            remedy: None,
        }
    }

    fn warn(name: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            state: State::Warn,
            remedy: Some(remedy.into()),
            ..Self::ok(name, detail)
        }
    }

    fn fail(name: &'static str, detail: impl Into<String>) -> Self {
        Self {
            state: State::Fail,
            ..Self::ok(name, detail)
        }
    }

    /// The sentence of a failure names the remedy itself.
    fn failed(name: &'static str, failure: &Failure, lang: Lang) -> Self {
        Self::fail(
            name,
            format!("{} [{}]", failure.sentence(lang), failure.code()),
        )
    }
}

/// All that was found.
struct Findings {
    checks: Vec<Check>,
    sandbox: Strength,
}

impl Findings {
    fn is_sound(&self) -> bool {
        !self.checks.iter().any(|check| check.state == State::Fail)
    }

    fn document(&self) -> Json {
        let layers: Vec<Json> = self
            .sandbox
            .layers
            .iter()
            .map(|state| {
                json!({
                    "layer": state.layer.as_str(),
                    "active": state.active,
                    "required": state.layer.is_required(),
                    "detail": state.detail,
                })
            })
            .collect();
        json!({
            "ok": self.is_sound(),
            "checks": self.checks,
            "sandbox": {
                "usable": self.sandbox.usable,
                "layers": layers,
                "remedy": self.sandbox.remedy,
            },
        })
    }

    fn table(&self, lang: Lang) -> Table {
        let mut table = Table::plain().wrapped();
        for check in &self.checks {
            let name = name_of(check.name, lang);
            table.told([check.state.mark(), name, &check.detail]);
            if let Some(remedy) = &check.remedy {
                table.told(["", "", &format!("→ {remedy}")]);
            }
        }
        table
    }

    /// A table of its own: the names of layers are long.
    fn layers(&self, lang: Lang) -> Table {
        let mut table = Table::plain().wrapped();
        for state in &self.sandbox.layers {
            let name = machine::layer_name(state.layer, lang);
            let need = match state.layer.is_required() {
                true => lang.pick("required", "必需"),
                false => lang.pick("optional", "可选"),
            };
            table.told([layer_state(state).mark(), &name, need, &state.detail]);
        }
        table
    }
}

fn layer_state(state: &LayerState) -> State {
    match (state.active, state.layer.is_required()) {
        (true, _) => State::Ok,
        (false, false) => State::Warn,
        (false, true) => State::Fail,
    }
}

fn name_of(name: &'static str, lang: Lang) -> &'static str {
    let chinese = NAMES.iter().find(|(known, _)| *known == name);
    lang.pick(name, chinese.map_or(name, |(_, chinese)| chinese))
}

/// Every check in the order in which it is shown, and its name in Chinese.
const NAMES: &[(&str, &str)] = &[
    ("version", "版本"),
    ("home", "数据文件夹"),
    ("settings", "设置"),
    ("secrets", "密钥"),
    ("models", "模型"),
    ("database", "数据库"),
    ("runs", "运行"),
    ("plugins", "插件"),
    ("workflows", "工作流"),
    ("python", "python"),
    ("node", "node"),
    ("bash", "bash"),
    ("sandbox", "沙箱"),
];

pub(crate) fn run(
    args: &DoctorArgs,
    home: Result<Home, Failure>,
    screen: &Screen,
) -> Result<Ended, Failure> {
    if args.repair {
        return repair::run(args, &home?, screen);
    }
    let lang = screen.lang;
    let findings = block_on(async {
        let mut checks = vec![machine::version(lang)];
        checks.extend(house::look(home, lang, &runs::progress(screen)).await);
        checks.extend(machine::interpreters(lang).await);
        let sandbox = machine::strength(lang).await;
        checks.push(machine::sandbox(&sandbox, lang));
        Ok(Findings { checks, sandbox })
    })?;
    let ended = match findings.is_sound() {
        true => Ended::Done,
        false => Ended::Failed,
    };
    match screen.json {
        true => screen.document(&findings.document())?,
        false => {
            screen.table(&findings.table(lang))?;
            if !findings.sandbox.layers.is_empty() {
                let heading = screen.pick("Layers of the sandbox", "沙箱的各层");
                screen.text(&format!("\n{heading}"))?;
                screen.table(&findings.layers(lang))?;
            }
            if findings.is_sound() {
                screen.note("Everything that is needed works", "所需的一切都正常");
            } else {
                screen.note(
                    "Not everything works; see the lines that begin with fail",
                    "并非一切正常；请看以 fail 开头的各行",
                );
            }
        }
    }
    Ok(ended)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
