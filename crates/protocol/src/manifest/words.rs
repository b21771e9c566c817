//! What a manifest says, in each language. Both are written for their readers, not translated word by word.

use serde_json::Value as Json;

use super::Locale;
use crate::Protocol;

pub(super) struct Words {
    locale: Locale,
    pub(super) none: &'static str,
    pub(super) both: &'static str,
    pub(super) only_tools: &'static str,
    pub(super) only_skills: &'static str,
    pub(super) tools: &'static str,
    pub(super) skills: &'static str,
    pub(super) parameters: &'static str,
    pub(super) required: &'static str,
    pub(super) optional: &'static str,
    pub(super) each_entry: &'static str,
    pub(super) in_background: &'static str,
    pub(super) verbatim: &'static str,
    pub(super) examples: &'static str,
    pub(super) example: &'static str,
    pub(super) colon: &'static str,
    pub(super) comma: &'static str,
    pub(super) full_stop: &'static str,
    pub(super) space: &'static str,
    pub(super) brackets: (&'static str, &'static str),
    pub(super) range: Bounds,
    pub(super) characters: Bounds,
    pub(super) entries: Bounds,
    pub(super) say: Sayings,
}

/// Sentences of the examples.
pub(super) struct Sayings {
    pub(super) call: &'static str,
    pub(super) reason: &'static str,
    pub(super) long_call: &'static str,
    pub(super) long_reason: &'static str,
    pub(super) long_value: &'static str,
    pub(super) no_call: &'static str,
    pub(super) no_call_reply: &'static str,
    pub(super) correction: &'static str,
    pub(super) correction_reason: &'static str,
    pub(super) sample: &'static str,
}

/// `{a}` and `{b}` stand for the limits.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    between: &'static str,
    from: &'static str,
    to: &'static str,
}

impl Bounds {
    pub(super) fn say(self, low: Option<&Json>, high: Option<&Json>) -> Option<String> {
        let form = match (low, high) {
            (Some(_), Some(_)) => self.between,
            (Some(_), None) => self.from,
            (None, Some(_)) => self.to,
            (None, None) => return None,
        };
        let text = |value: Option<&Json>| value.map(Json::to_string).unwrap_or_default();
        Some(form.replace("{a}", &text(low)).replace("{b}", &text(high)))
    }
}

static EN: Words = Words {
    locale: Locale::En,
    none: "You have no tools or skills. Answer in plain text.",
    both: "You have access to the following tools and skills:",
    only_tools: "You have access to the following tools:",
    only_skills: "You have access to the following skills:",
    tools: "**Tools (direct function calls):**",
    skills: "**Skills (workflow executions):**",
    parameters: "Parameters:",
    required: "required",
    optional: "optional",
    each_entry: "each entry",
    in_background: "Runs in the background: you get a task ID at once and the result later.",
    verbatim: "Taken exactly as written.",
    examples: "**Examples:**",
    example: "Example",
    colon: ": ",
    comma: ", ",
    full_stop: ".",
    space: " ",
    brackets: (" (", ")"),
    range: Bounds {
        between: "From {a} to {b}.",
        from: "At least {a}.",
        to: "At most {b}.",
    },
    characters: Bounds {
        between: "{a} to {b} characters.",
        from: "At least {a} characters.",
        to: "At most {b} characters.",
    },
    entries: Bounds {
        between: "{a} to {b} entries.",
        from: "At least {a} entries.",
        to: "At most {b} entries.",
    },
    say: Sayings {
        call: "explain, then call",
        reason: "I need this before I can answer, so I will call the tool.",
        long_call: "a value of several lines",
        long_reason: "I will hand over the text exactly as it should be.",
        long_value: "# Notes\n\nif a < b && b > 0:\n    print(\"done\")",
        no_call: "no tool is needed",
        no_call_reply: "You're welcome! Tell me if there is anything else I can do.",
        correction: "correct yourself after an error",
        correction_reason: "My apologies, I used the wrong parameter name. Let me try again.",
        sample: "text",
    },
};

static ZH: Words = Words {
    locale: Locale::Zh,
    none: "你目前没有可用的工具或技能，请直接用文字回答。",
    both: "你可以使用以下工具和技能：",
    only_tools: "你可以使用以下工具：",
    only_skills: "你可以使用以下技能：",
    tools: "**工具（直接调用函数）：**",
    skills: "**技能（执行工作流）：**",
    parameters: "参数：",
    required: "必填",
    optional: "可选",
    each_entry: "每一项",
    in_background: "在后台运行：先返回任务 ID，结果稍后送达。",
    verbatim: "内容会原样保留。",
    examples: "**示例：**",
    example: "示例",
    colon: "：",
    comma: "，",
    full_stop: "。",
    space: "",
    brackets: ("（", "）"),
    range: Bounds {
        between: "取值 {a} 到 {b}。",
        from: "不小于 {a}。",
        to: "不大于 {b}。",
    },
    characters: Bounds {
        between: "长度 {a} 到 {b} 个字符。",
        from: "至少 {a} 个字符。",
        to: "最多 {b} 个字符。",
    },
    entries: Bounds {
        between: "{a} 到 {b} 项。",
        from: "至少 {a} 项。",
        to: "最多 {b} 项。",
    },
    say: Sayings {
        call: "先说明理由，再调用",
        reason: "要回答这个问题，我得先查一下，所以调用这个工具。",
        long_call: "多行内容",
        long_reason: "我把这段文字原样交给工具。",
        long_value: "# 笔记\n\nif a < b && b > 0:\n    print(\"完成\")",
        no_call: "不需要工具",
        no_call_reply: "不客气！还有什么需要，随时告诉我。",
        correction: "收到错误后自行纠正",
        correction_reason: "抱歉，刚才参数名写错了，我改正后再试一次。",
        sample: "文本",
    },
};

impl Words {
    pub(super) fn of(locale: Locale) -> &'static Self {
        match locale {
            Locale::En => &EN,
            Locale::Zh => &ZH,
        }
    }

    pub(super) fn how_to(&self, protocol: Protocol) -> &'static str {
        match (protocol, self.locale) {
            (Protocol::Tam, Locale::En) => include_str!("how_to/tam.en.md"),
            (Protocol::Tam, Locale::Zh) => include_str!("how_to/tam.zh.md"),
            (Protocol::Action, Locale::En) => include_str!("how_to/action.en.md"),
            (Protocol::Action, Locale::Zh) => include_str!("how_to/action.zh.md"),
            (Protocol::ToolCall, Locale::En) => include_str!("how_to/tool_call.en.md"),
            (Protocol::ToolCall, Locale::Zh) => include_str!("how_to/tool_call.zh.md"),
            // A provider knows how its own calls are made.
            (Protocol::Native(_), _) => "",
        }
        .trim_end()
    }

    pub(super) fn array_of(&self, inner: &str) -> String {
        match self.locale {
            Locale::En => format!("array of {inner}"),
            Locale::Zh => format!("{inner} 数组"),
        }
    }

    pub(super) fn one_of(&self, choices: &[String]) -> String {
        match self.locale {
            Locale::En => format!("One of: {}.", choices.join(", ")),
            Locale::Zh => format!("可选值：{}。", choices.join("、")),
        }
    }

    pub(super) fn always(&self, value: &str) -> String {
        match self.locale {
            Locale::En => format!("Always {value}."),
            Locale::Zh => format!("固定为 {value}。"),
        }
    }

    pub(super) fn default(&self, value: &str) -> String {
        match self.locale {
            Locale::En => format!("Default: {value}."),
            Locale::Zh => format!("默认：{value}。"),
        }
    }

    pub(super) fn format(&self, form: &str) -> String {
        match self.locale {
            Locale::En => format!("Format: {form}."),
            Locale::Zh => format!("格式：{form}。"),
        }
    }

    pub(super) fn pattern(&self, pattern: &str) -> String {
        match self.locale {
            Locale::En => format!("Must match {pattern}"),
            Locale::Zh => format!("须匹配 {pattern}"),
        }
    }

    pub(super) fn more(&self, count: usize) -> String {
        match self.locale {
            Locale::En => format!("and {count} more"),
            Locale::Zh => format!("另有 {count} 个"),
        }
    }

    pub(super) fn more_parameters(&self, count: usize) -> String {
        match self.locale {
            Locale::En => format!("({count} more are not shown)"),
            Locale::Zh => format!("（另有 {count} 个未列出）"),
        }
    }

    pub(super) fn more_tools(&self, count: usize) -> String {
        match self.locale {
            Locale::En => format!("({count} more tools or skills are not shown)"),
            Locale::Zh => format!("（另有 {count} 个工具或技能未列出）"),
        }
    }
}
