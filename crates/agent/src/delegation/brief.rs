//! What an agent is told that gets a task, or the whole run, from another: its last message before it begins.

use std::fmt::Write;

use innkeeper_protocol::Locale;
use innkeeper_tools::ToolError;
use serde_json::{Map, Value as Json, json};

use super::arguments::{optional, required, texts};
use super::rules::Purpose;
use crate::limits::{MAX_BRIEF_CHARS, MAX_BRIEF_ENTRIES, MAX_TASK_TITLE_CHARS};

/// As the caller wrote it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Brief {
    pub objective: String,
    pub title: Option<String>,
    pub parts: Vec<(Part, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Context,
    ExpectedOutput,
    Reason,
    Files,
    MustPreserve,
    Criteria,
}

impl Brief {
    pub(super) fn of_task(fields: &Map<String, Json>) -> Result<Self, ToolError> {
        let mut brief = Self::begin(fields, "task")?;
        for (name, part) in [
            ("context", Part::Context),
            ("expectedOutput", Part::ExpectedOutput),
        ] {
            brief.text(fields, "task", name, part)?;
        }
        for (name, part) in [
            ("workspaceRefs", Part::Files),
            ("constraints", Part::MustPreserve),
            ("successCriteria", Part::Criteria),
        ] {
            brief.list(fields, "task", name, part)?;
        }
        Ok(brief)
    }

    pub(super) fn of_handoff(fields: &Map<String, Json>) -> Result<Self, ToolError> {
        let mut brief = Self::begin(fields, "handoff")?;
        for (name, part) in [("reason", Part::Reason), ("contextSummary", Part::Context)] {
            brief.text(fields, "handoff", name, part)?;
        }
        for (name, part) in [
            ("workspaceRefs", Part::Files),
            ("mustPreserve", Part::MustPreserve),
            ("completionCriteria", Part::Criteria),
        ] {
            brief.list(fields, "handoff", name, part)?;
        }
        Ok(brief)
    }

    fn begin(fields: &Map<String, Json>, of: &str) -> Result<Self, ToolError> {
        Ok(Self {
            objective: required(fields, of, "objective", MAX_BRIEF_CHARS)?,
            title: optional(fields, of, "title", MAX_BRIEF_CHARS)?,
            parts: Vec::new(),
        })
    }

    fn text(
        &mut self,
        fields: &Map<String, Json>,
        of: &str,
        name: &str,
        part: Part,
    ) -> Result<(), ToolError> {
        if let Some(text) = optional(fields, of, name, MAX_BRIEF_CHARS)? {
            self.parts.push((part, text));
        }
        Ok(())
    }

    fn list(
        &mut self,
        fields: &Map<String, Json>,
        of: &str,
        name: &str,
        part: Part,
    ) -> Result<(), ToolError> {
        let entries = texts(fields, of, name, MAX_BRIEF_ENTRIES, MAX_BRIEF_CHARS)?;
        if !entries.is_empty() {
            let lines: Vec<String> = entries.iter().map(|entry| format!("- {entry}")).collect();
            self.parts.push((part, lines.join("\n")));
        }
        Ok(())
    }

    /// In a line, for people.
    pub fn title(&self) -> String {
        let text = self.title.as_deref().unwrap_or(&self.objective);
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").chars().take(MAX_TASK_TITLE_CHARS).collect()
    }

    /// The message, in the language of the house's prompts.
    pub fn message(&self, caller: &str, purpose: Purpose, locale: Locale) -> Json {
        let mut text = match (purpose, locale) {
            (Purpose::Delegate, Locale::En) => format!(
                "The agent '{caller}' gives you a task. Work on it by yourself; nobody answers questions meanwhile. You see \
                 the files as they were when the task was given, and what you write is seen by '{caller}' when you are done. \
                 End with `task.return`: a summary of what you did and found, and the files that matter. Nothing else that \
                 you say reaches anyone."
            ),
            (Purpose::Delegate, Locale::Zh) => format!(
                "智能体“{caller}”交给你一项任务。请独立完成，期间没有人回答问题。你看到的文件是任务下达时的样子，你写的内容在你完成后\
                 才会被“{caller}”看到。最后调用 `task.return`：说明你做了什么、发现了什么，以及重要的文件。除此之外你说的话没有人看到。"
            ),
            (Purpose::Handoff, Locale::En) => format!(
                "The agent '{caller}' hands this run over to you. From now on it is yours: its files, what was published of \
                 it, and its end. Go on from where it stands."
            ),
            (Purpose::Handoff, Locale::Zh) => format!(
                "智能体“{caller}”把这次运行移交给你。从现在起由你负责：它的文件、已发布的内容以及它的结束。请从当前进度继续。"
            ),
        };
        let mut section = |head: &str, body: &str| {
            // Writing into a String cannot fail.
            let _ = write!(text, "\n\n{head}\n{body}");
        };
        let pick = |english: &'static str, chinese: &'static str| match locale {
            Locale::En => english,
            Locale::Zh => chinese,
        };
        if let Some(title) = &self.title {
            section(pick("Title:", "标题："), title);
        }
        section(pick("What is to be done:", "要做的事："), &self.objective);
        for (part, body) in &self.parts {
            let head = match part {
                Part::Context => pick("What you should know:", "背景："),
                Part::ExpectedOutput => pick("What is expected:", "期望的结果："),
                Part::Reason => pick("Why:", "原因："),
                Part::Files => pick("Files to look at:", "相关文件："),
                Part::MustPreserve => pick("What must stay as it is:", "必须保留："),
                Part::Criteria => pick("It is done when:", "完成的标准："),
            };
            section(head, body);
        }
        json!({"role": "user", "content": text})
    }
}
