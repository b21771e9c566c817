//! What was asked of a workflow cannot be done, or was done and failed.

use super::{Place, message, model_error, shown};
use crate::lang::Lang;
use crate::limits::{MAX_DRAWN_NODES, MAX_DRAWN_WIRES, SHOWN_DEFAULT_CHARS, SHOWN_VALUE_CHARS};

#[derive(Debug)]
pub(crate) enum WorkflowFault {
    Unknown {
        name: String,
        near: Option<String>,
    },
    Ambiguous {
        name: String,
        places: Vec<String>,
    },
    /// It has errors, so it cannot run.
    Broken {
        place: String,
        errors: usize,
        first: String,
    },
    /// What was given is not what it takes.
    Inputs {
        workflow: String,
        faults: Vec<InputFault>,
        /// All that it takes.
        interface: Vec<Taken>,
    },
    /// It ran, and did not complete.
    Failed {
        message: String,
        code: String,
        /// Nodes that failed beside the first.
        more: usize,
    },
    TooLargeToDraw {
        place: String,
        nodes: usize,
        wires: usize,
    },
    UnknownNode {
        name: String,
        near: Option<String>,
    },
    /// A file that a picture was to be written to.
    Unwritable(Place, String),
}

/// What is wrong with one input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InputFault {
    Missing(String),
    Unknown {
        name: String,
        near: Option<String>,
    },
    /// Given more than once, and it takes one value.
    Twice(String),
    Type {
        name: String,
        wanted: &'static str,
        given: String,
        why: Option<String>,
    },
}

/// An input that a workflow takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    /// As JSON.
    pub(crate) default: Option<String>,
    pub(crate) is_needed: bool,
}

impl Taken {
    /// `topic (STRING, needed)`, `count (INTEGER = 3)`
    fn words(&self, lang: Lang) -> String {
        let Self { name, kind, .. } = self;
        let (open, close) = lang.pick((" (", ")"), ("（", "）"));
        match &self.default {
            Some(default) => {
                let default = cut(default, SHOWN_DEFAULT_CHARS);
                format!("{name}{open}{kind} = {default}{close}")
            }
            None if self.is_needed => {
                let needed = lang.pick(", needed", "，必需");
                format!("{name}{open}{kind}{needed}{close}")
            }
            None => format!("{name}{open}{kind}{close}"),
        }
    }
}

impl InputFault {
    fn words(&self, lang: Lang) -> String {
        match self {
            Self::Missing(name) => {
                let name = shown(name);
                lang.pick(format!("'{name}' is missing"), format!("缺少“{name}”"))
            }
            Self::Unknown { name, near } => {
                let name = shown(name);
                let near = near.as_deref().map(shown).map(|near| {
                    lang.pick(
                        format!(" (did you mean '{near}'?)"),
                        format!("（是否想用“{near}”？）"),
                    )
                });
                let near = near.unwrap_or_default();
                lang.pick(
                    format!("there is no '{name}'{near}"),
                    format!("没有“{name}”{near}"),
                )
            }
            Self::Twice(name) => {
                let name = shown(name);
                lang.pick(
                    format!("'{name}' takes one value, and was given several"),
                    format!("“{name}”只取一个值，却给了多个"),
                )
            }
            Self::Type {
                name,
                wanted,
                given,
                why,
            } => {
                let (name, given) = (shown(name), cut(given, SHOWN_VALUE_CHARS));
                let why = why.as_ref().map(|why| format!(" ({})", shown(why)));
                let why = why.unwrap_or_default();
                lang.pick(
                    format!("'{name}' takes {wanted}, and '{given}' is none{why}"),
                    format!("“{name}”应为 {wanted}，而“{given}”不是{why}"),
                )
            }
        }
    }
}

impl WorkflowFault {
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "workflow.unknown",
            Self::Ambiguous { .. } => "workflow.ambiguous",
            Self::Broken { .. } => "workflow.broken",
            Self::Inputs { .. } => "workflow.inputs",
            Self::Failed { .. } => "workflow.failed",
            Self::TooLargeToDraw { .. } => "workflow.too_large_to_draw",
            Self::UnknownNode { .. } => "node.unknown",
            Self::Unwritable(..) => "output.unwritable",
        }
    }

    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::Broken { .. }
            | Self::Failed { .. }
            | Self::TooLargeToDraw { .. }
            | Self::Unwritable(..) => 1,
            Self::Unknown { .. }
            | Self::Ambiguous { .. }
            | Self::Inputs { .. }
            | Self::UnknownNode { .. } => 2,
        }
    }

    pub(super) fn sentence(&self, lang: Lang) -> String {
        match self {
            Self::Unknown {
                name,
                near: Some(near),
            } => {
                let (name, near) = (shown(name), shown(near));
                lang.pick(
                    format!("there is no workflow '{name}', did you mean '{near}'?"),
                    format!("没有工作流“{name}”，是否想用“{near}”？"),
                )
            }
            Self::Unknown { name, near: None } => {
                let name = shown(name);
                lang.pick(
                    format!(
                        "there is no workflow '{name}', and no such file; innkeeper workflow list shows those there are"
                    ),
                    format!(
                        "没有工作流“{name}”，也没有这个文件；innkeeper workflow list 会列出所有工作流"
                    ),
                )
            }
            Self::Ambiguous { name, places } => {
                let name = shown(name);
                let places = message(&places.join(lang.pick(", ", "、")));
                lang.pick(
                    format!("more than one workflow is called '{name}': {places}; name the file"),
                    format!("不止一个工作流叫“{name}”：{places}；请指定文件"),
                )
            }
            Self::Broken {
                place,
                errors,
                first,
            } => {
                let (place, first) = (shown(place), message(first));
                lang.pick(
                    format!(
                        "{place}: it cannot run (errors: {errors}): {first}; innkeeper workflow check shows all"
                    ),
                    format!(
                        "{place}：无法运行（错误 {errors} 处）：{first}；innkeeper workflow check 会列出全部"
                    ),
                )
            }
            Self::Inputs {
                workflow,
                faults,
                interface,
            } => {
                let (workflow, faults) = (shown(workflow), listed(faults, lang));
                let takes = match interface.is_empty() {
                    true => lang.pick("none", "无").to_owned(),
                    false => {
                        let words: Vec<String> =
                            interface.iter().map(|taken| taken.words(lang)).collect();
                        message(&words.join(lang.pick(", ", "、")))
                    }
                };
                lang.pick(
                    format!("{workflow}: wrong inputs: {faults}; it takes {takes}"),
                    format!("{workflow}：输入有误：{faults}；它的输入：{takes}"),
                )
            }
            Self::Failed {
                message: text,
                code,
                more,
            } => {
                let (text, code) = (message(text), shown(code));
                let chinese = model_error::chinese(&code, &text);
                let said = lang.pick(
                    format!("the run failed: {text} ({code})"),
                    format!(
                        "运行失败：{}（{code}）",
                        chinese.as_deref().unwrap_or(&text)
                    ),
                );
                let beside = match more {
                    0 => String::new(),
                    more => lang.pick(
                        format!("; failed nodes beside it: {more}"),
                        format!("；另有 {more} 个节点失败"),
                    ),
                };
                said + &beside
            }
            Self::TooLargeToDraw {
                place,
                nodes,
                wires,
            } => {
                let place = shown(place);
                lang.pick(
                    format!(
                        "{place}: {nodes} nodes and {wires} wires are too many for a picture (at most {MAX_DRAWN_NODES} and {MAX_DRAWN_WIRES}); draw its groups one by one"
                    ),
                    format!(
                        "{place}：{nodes} 个节点和 {wires} 条连线太多，无法画成图（最多 {MAX_DRAWN_NODES} 和 {MAX_DRAWN_WIRES}）；请逐个绘制其节点组"
                    ),
                )
            }
            Self::UnknownNode {
                name,
                near: Some(near),
            } => {
                let (name, near) = (shown(name), shown(near));
                lang.pick(
                    format!("there is no node type '{name}', did you mean {near}?"),
                    format!("没有节点类型“{name}”，是否想用 {near}？"),
                )
            }
            Self::UnknownNode { name, near: None } => {
                let name = shown(name);
                lang.pick(
                    format!(
                        "there is no node type '{name}'; innkeeper workflow nodes shows those there are"
                    ),
                    format!("没有节点类型“{name}”；innkeeper workflow nodes 会列出所有类型"),
                )
            }
            Self::Unwritable(place, why) => {
                let (place, why) = (place.name(lang), shown(why));
                lang.pick(
                    format!(
                        "{place}: cannot be written ({why}); check the path and its permissions"
                    ),
                    format!("{place}：无法写入（{why}）；请检查路径和权限"),
                )
            }
        }
    }
}

fn listed(faults: &[InputFault], lang: Lang) -> String {
    let words: Vec<String> = faults.iter().map(|fault| fault.words(lang)).collect();
    message(&words.join(lang.pick("; ", "；")))
}

/// The beginning of a value, for inside a sentence.
fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", shown(text.get(..end).unwrap_or_default())),
        None => shown(text),
    }
}

#[cfg(test)]
pub(super) fn one_of_each() -> Vec<WorkflowFault> {
    let nasty = || super::tests::NASTY.to_owned();
    let faults = vec![
        InputFault::Missing(nasty()),
        InputFault::Unknown {
            name: nasty(),
            near: Some(nasty()),
        },
        InputFault::Twice(nasty()),
        InputFault::Type {
            name: nasty(),
            wanted: "INTEGER",
            given: nasty().repeat(9),
            why: Some(nasty()),
        },
    ];
    vec![
        WorkflowFault::Unknown {
            name: nasty(),
            near: None,
        },
        WorkflowFault::Unknown {
            name: nasty(),
            near: Some(nasty()),
        },
        WorkflowFault::Ambiguous {
            name: nasty(),
            places: vec![nasty(), nasty()],
        },
        WorkflowFault::Broken {
            place: nasty(),
            errors: 2,
            first: nasty(),
        },
        WorkflowFault::Inputs {
            workflow: nasty(),
            faults,
            interface: vec![Taken {
                name: nasty(),
                kind: "INTEGER",
                default: Some(nasty()),
                is_needed: false,
            }],
        },
        WorkflowFault::Inputs {
            workflow: nasty(),
            faults: Vec::new(),
            interface: Vec::new(),
        },
        WorkflowFault::Failed {
            message: nasty(),
            code: nasty(),
            more: 3,
        },
        WorkflowFault::TooLargeToDraw {
            place: nasty(),
            nodes: 9,
            wires: 8,
        },
        WorkflowFault::UnknownNode {
            name: nasty(),
            near: None,
        },
        WorkflowFault::UnknownNode {
            name: nasty(),
            near: Some(nasty()),
        },
        WorkflowFault::Unwritable(Place::file(std::path::Path::new(&nasty())), nasty()),
    ]
}
