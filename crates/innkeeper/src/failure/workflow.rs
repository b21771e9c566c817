//! What was asked of a workflow cannot be done, or was done and failed.

use std::fmt::Write as _;

use super::{Place, message, shown};
use crate::lang::Lang;
use crate::limits::{MAX_DRAWN_NODES, MAX_DRAWN_WIRES};

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
        /// All that it takes, in words.
        interface: Vec<String>,
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

impl InputFault {
    fn words(&self, lang: Lang) -> String {
        match (self, lang) {
            (Self::Missing(name), Lang::En) => format!("'{}' is missing", shown(name)),
            (Self::Missing(name), Lang::Zh) => format!("缺少“{}”", shown(name)),
            (Self::Unknown { name, near }, Lang::En) => {
                let near = near
                    .as_ref()
                    .map(|near| format!(" (did you mean '{}'?)", shown(near)));
                format!("there is no '{}'{}", shown(name), near.unwrap_or_default())
            }
            (Self::Unknown { name, near }, Lang::Zh) => {
                let near = near
                    .as_ref()
                    .map(|near| format!("（是否想用“{}”？）", shown(near)));
                format!("没有“{}”{}", shown(name), near.unwrap_or_default())
            }
            (Self::Twice(name), Lang::En) => {
                format!("'{}' takes one value, and was given several", shown(name))
            }
            (Self::Twice(name), Lang::Zh) => format!("“{}”只取一个值，却给了多个", shown(name)),
            (
                Self::Type {
                    name,
                    wanted,
                    given,
                    why,
                },
                lang,
            ) => {
                let (name, given) = (shown(name), brief(given));
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

    pub(super) fn english(&self) -> String {
        match self {
            Self::Unknown { name, near } => match near {
                Some(near) => format!(
                    "there is no workflow '{}', did you mean '{}'?",
                    shown(name),
                    shown(near)
                ),
                None => format!(
                    "there is no workflow '{}', and no such file; innkeeper workflow list shows those there are",
                    shown(name)
                ),
            },
            Self::Ambiguous { name, places } => format!(
                "more than one workflow is called '{}': {}; name the file",
                shown(name),
                message(&places.join(", "))
            ),
            Self::Broken {
                place,
                errors,
                first,
            } => format!(
                "{}: it cannot run (errors: {errors}): {}; innkeeper workflow check shows all",
                shown(place),
                message(first)
            ),
            Self::Inputs {
                workflow,
                faults,
                interface,
            } => format!(
                "{}: wrong inputs: {}; it takes {}",
                shown(workflow),
                listed(faults, Lang::En),
                match interface.is_empty() {
                    true => "none".to_owned(),
                    false => message(&interface.join(", ")),
                }
            ),
            Self::Failed {
                message: text,
                code,
                more,
            } => {
                let mut said = format!("the run failed: {} ({})", message(text), shown(code));
                if *more > 0 {
                    let _ = write!(said, "; failed nodes beside it: {more}");
                }
                said
            }
            Self::TooLargeToDraw {
                place,
                nodes,
                wires,
            } => format!(
                "{}: {nodes} nodes and {wires} wires are too many for a picture (at most {MAX_DRAWN_NODES} and {MAX_DRAWN_WIRES}); draw its groups one by one",
                shown(place)
            ),
            Self::UnknownNode { name, near } => match near {
                Some(near) => format!(
                    "there is no node type '{}', did you mean {}?",
                    shown(name),
                    shown(near)
                ),
                None => format!(
                    "there is no node type '{}'; innkeeper workflow nodes shows those there are",
                    shown(name)
                ),
            },
            Self::Unwritable(place, why) => format!(
                "{}: cannot be written ({}); check the path and its permissions",
                place.name(Lang::En),
                shown(why)
            ),
        }
    }

    pub(super) fn chinese(&self) -> String {
        match self {
            Self::Unknown { name, near } => match near {
                Some(near) => format!("没有工作流“{}”，是否想用“{}”？", shown(name), shown(near)),
                None => format!(
                    "没有工作流“{}”，也没有这个文件；innkeeper workflow list 会列出所有工作流",
                    shown(name)
                ),
            },
            Self::Ambiguous { name, places } => format!(
                "不止一个工作流叫“{}”：{}；请指定文件",
                shown(name),
                message(&places.join("、"))
            ),
            Self::Broken {
                place,
                errors,
                first,
            } => format!(
                "{}：无法运行（错误 {errors} 处）：{}；innkeeper workflow check 会列出全部",
                shown(place),
                message(first)
            ),
            Self::Inputs {
                workflow,
                faults,
                interface,
            } => format!(
                "{}：输入有误：{}；它的输入：{}",
                shown(workflow),
                listed(faults, Lang::Zh),
                match interface.is_empty() {
                    true => "无".to_owned(),
                    false => message(&interface.join("、")),
                }
            ),
            Self::Failed {
                message: text,
                code,
                more,
            } => {
                let mut said = format!("运行失败：{}（{}）", message(text), shown(code));
                if *more > 0 {
                    let _ = write!(said, "；另有 {more} 个节点失败");
                }
                said
            }
            Self::TooLargeToDraw {
                place,
                nodes,
                wires,
            } => format!(
                "{}：{nodes} 个节点和 {wires} 条连线太多，无法画成图（最多 {MAX_DRAWN_NODES} 和 {MAX_DRAWN_WIRES}）；请逐个绘制其节点组",
                shown(place)
            ),
            Self::UnknownNode { name, near } => match near {
                Some(near) => format!("没有节点类型“{}”，是否想用 {}？", shown(name), shown(near)),
                None => format!(
                    "没有节点类型“{}”；innkeeper workflow nodes 会列出所有类型",
                    shown(name)
                ),
            },
            Self::Unwritable(place, why) => format!(
                "{}：无法写入（{}）；请检查路径和权限",
                place.name(Lang::Zh),
                shown(why)
            ),
        }
    }
}

fn listed(faults: &[InputFault], lang: Lang) -> String {
    let words: Vec<String> = faults.iter().map(|fault| fault.words(lang)).collect();
    message(&words.join(lang.pick("; ", "；")))
}

/// A value inside a sentence.
fn brief(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((cut, _)) => format!("{}…", shown(text.get(..cut).unwrap_or_default())),
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
            interface: vec![nasty()],
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
