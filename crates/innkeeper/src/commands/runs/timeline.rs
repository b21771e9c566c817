//! A run as it is seen: what the model writes as it comes, and a line for each thing that happens. On a terminal words are
//! streamed; elsewhere there are only lines, on standard error.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use innkeeper_agent::run::TimelineProjection;
use innkeeper_protocol::event::{InvocationId, RunEvent, RunEventKind};

use super::agents::{self, Names};
use super::speech::Piece;
use super::weave::{Thread, Weave};
use super::words::{Line, Tone, line};
use crate::failure::{Failure, message};
use crate::limits::MAX_INLINE_CHARS;
use crate::output::{Screen, printable};

/// Arguments that are texts to be read: shown in lines of their own.
const TEXTS: [&str; 6] = [
    "content",
    "old_string",
    "new_string",
    "code",
    "text",
    "body",
];

pub(super) struct Timeline {
    screen: Screen,
    way: Way,
    colours: bool,
    /// Before every line, where several runs are shown.
    name: String,
    /// What the cursor stands behind.
    at: At,
    weave: Weave,
    /// Who is at work in it.
    names: Names,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Words as they come, and lines.
    Live,
    /// The same in whole lines, each with the name of its run.
    Woven,
    Lines,
    Silent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum At {
    LineStart,
    /// Of the model, perhaps at the beginning of one of its lines.
    Words {
        line_start: bool,
    },
    Thought,
    /// Behind the name of a call and some of its arguments.
    Call,
    Argument {
        name: String,
        /// So much of it stands on the line.
        chars: usize,
    },
    Text {
        name: String,
    },
}

impl Timeline {
    pub(super) fn new(screen: &Screen) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_terminal = io::stderr().is_terminal() && !dumb;
        Self {
            screen: *screen,
            way: match (screen.quiet || screen.json, screen.is_terminal()) {
                (true, _) => Way::Silent,
                (false, true) => Way::Live,
                (false, false) => Way::Lines,
            },
            colours: is_terminal && !plain,
            name: String::new(),
            at: At::LineStart,
            weave: Weave::default(),
            names: Names::default(),
        }
    }

    /// One of several: lines with its name.
    pub(super) fn of(screen: &Screen, name: &str) -> Self {
        let mut timeline = Self::new(screen);
        if timeline.way == Way::Live {
            timeline.way = Way::Woven;
        }
        timeline.name = format!("{name} ");
        timeline
    }

    /// Before each line, where several runs are shown.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether what the model says is shown while it is said.
    pub(super) fn is_live(&self) -> bool {
        matches!(self.way, Way::Live | Way::Woven)
    }

    /// Each line of the text, with the name of its run where several are shown.
    pub(super) fn named<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.name.is_empty() {
            return Cow::Borrowed(text);
        }
        let lines = text.lines().map(|line| format!("{}{line}", self.name));
        Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
    }

    /// Who is at work in the run already.
    pub(super) fn know(&mut self, agents: &TimelineProjection) {
        self.names = agents::names(agents);
    }

    /// Stands before what is told of one that works for the one whose words are shown.
    pub(super) fn before(&self, agent: &InvocationId) -> Option<String> {
        let name = self.names.at_task(agent)?;
        Some(format!("  [{}] ", message(name)))
    }

    pub(super) fn event(&mut self, event: &RunEvent) {
        self.names.hear(event);
        let Some(line) = line(event, &self.names, self.screen.lang) else {
            return;
        };
        let scope = event.scope.as_ref();
        let agent = scope.and_then(|scope| self.before(&scope.invocation_id));
        let is_shown = match (self.way, &event.kind) {
            (Way::Silent, _) => false,
            (Way::Live | Way::Woven, RunEventKind::ModelCompleted(_)) if agent.is_some() => true,
            // It was said already, word by word; and whoever is asked sees the question.
            (
                Way::Live | Way::Woven,
                RunEventKind::ModelCompleted(_) | RunEventKind::ToolCallAwaitingApproval(_),
            ) => false,
            (Way::Live | Way::Woven | Way::Lines, _) => true,
        };
        if is_shown {
            self.line(agent.as_deref().unwrap_or_default(), &line);
        }
    }

    /// `agent` stands before what is not told of the one whose run it is.
    fn line(&mut self, agent: &str, line: &Line) {
        self.end_line();
        let text = format!("{}{agent}{} {}", self.name, line.sign, message(&line.text));
        let painted = match line.tone {
            Tone::Plain => text,
            Tone::Quiet => self.paint("2", &text),
            Tone::Good => self.paint("32", &text),
            Tone::Warning => self.paint("33", &text),
            Tone::Bad => self.paint("31", &text),
        };
        say(&format!("{painted}\n"));
    }

    /// A remark of ours.
    pub(super) fn remark(&mut self, english: &str, chinese: &str) {
        self.remark_on(&InvocationId::root(), english, chinese);
    }

    /// The same on what an agent does.
    pub(super) fn remark_on(&mut self, agent: &InvocationId, english: &str, chinese: &str) {
        if self.way != Way::Silent {
            let line = Line {
                sign: "·",
                tone: Tone::Warning,
                text: self.screen.pick(english, chinese).to_owned(),
            };
            let agent = self.before(agent);
            self.line(agent.as_deref().unwrap_or_default(), &line);
        }
    }

    pub(super) fn piece(&mut self, piece: &Piece) -> Result<(), Failure> {
        if self.way == Way::Woven {
            let lines = self.weave.hear(piece, is_text);
            return lines
                .into_iter()
                .try_for_each(|(thread, line)| self.woven(thread, &line));
        }
        match piece {
            Piece::Words(text) => {
                let goes_on = matches!(self.at, At::Words { .. });
                // What stands between a call and the words around it is no line of its own.
                let text = match goes_on {
                    true => text.as_str(),
                    false => text.trim_start_matches(['\r', '\n']),
                };
                if text.is_empty() {
                    return Ok(());
                }
                if !goes_on {
                    self.end_line();
                }
                self.screen.piece(text)?;
                self.at = At::Words {
                    line_start: text.ends_with('\n'),
                };
            }
            Piece::Thought(text) => {
                if self.at != At::Thought {
                    self.end_line();
                    if !self.colours {
                        say(self.screen.pick("(thinks) ", "（思考）"));
                    }
                }
                say(&self.paint("2", &printable(text)));
                self.at = At::Thought;
            }
            Piece::Call(name) => {
                self.end_line();
                say(&self.paint("36", &format!("→ {}", message(name))));
                self.at = At::Call;
            }
            Piece::Argument { name, text } if is_text(name) => self.text(name, text),
            Piece::Argument { name, text } => self.argument(name, text),
            Piece::End => self.end_line(),
        }
        Ok(())
    }

    fn woven(&self, thread: Thread, line: &str) -> Result<(), Failure> {
        let name = &self.name;
        match thread {
            Thread::Words => return self.screen.text(&format!("{name}{line}")),
            Thread::Thought => {
                let thinks = self.screen.pick("(thinks) ", "（思考）");
                let text = format!("{name}{thinks}{}", printable(line));
                say(&format!("{}\n", self.paint("2", &text)));
            }
            Thread::Call => {
                let text = format!("{name}→ {}", printable(line));
                say(&format!("{}\n", self.paint("36", &text)));
            }
            Thread::Text => {
                let text = format!("{name}  │ {}", printable(line));
                say(&format!("{}\n", self.paint("2", &text)));
            }
        }
        Ok(())
    }

    /// A short argument, on the line of its call.
    fn argument(&mut self, name: &str, text: &str) {
        let mut chars = match &self.at {
            At::Argument { name: at, chars } if at == name => *chars,
            At::Call | At::Argument { .. } => {
                say(&self.paint("2", &format!(" {}=", message(name))));
                0
            }
            _ => {
                self.end_line();
                say(&self.paint("2", &format!("  {}=", message(name))));
                0
            }
        };
        let fitting: String = text
            .chars()
            .take(MAX_INLINE_CHARS.saturating_sub(chars))
            .collect();
        let mut shown = printable(&fitting).replace(['\n', '\t'], " ");
        if chars < MAX_INLINE_CHARS && chars + text.chars().count() > MAX_INLINE_CHARS {
            shown.push('…');
        }
        say(&self.paint("2", &shown));
        chars += text.chars().count();
        self.at = At::Argument {
            name: name.to_owned(),
            chars,
        };
    }

    /// A long one, below it: what is being written into a file.
    fn text(&mut self, name: &str, text: &str) {
        let (margin, colour) = margin(name);
        let mut out = String::new();
        if !matches!(&self.at, At::Text { name: at } if at == name) {
            self.end_line();
            out.push_str(margin);
        }
        let shown = printable(text);
        out.push_str(&shown.replace('\n', &format!("\n{margin}")));
        say(&self.paint(colour, &out));
        self.at = At::Text {
            name: name.to_owned(),
        };
    }

    /// What follows begins a line of its own.
    pub(super) fn end_line(&mut self) {
        if let Some((thread, line)) = self.weave.cut() {
            // Whoever has closed standard output is told by the next word, or by the end.
            let _ = self.woven(thread, &line);
        }
        match std::mem::replace(&mut self.at, At::LineStart) {
            At::LineStart | At::Words { line_start: true } => {}
            _ => say("\n"),
        }
    }

    /// The person has typed a line, so the cursor stands below it.
    pub(super) fn was_typed(&mut self) {
        self.at = At::LineStart;
    }

    fn paint(&self, code: &str, text: &str) -> String {
        match self.colours && !text.is_empty() {
            true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }
}

/// Of a step of a block the name has a number: `content_2`.
fn bare(name: &str) -> &str {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit());
    bare.strip_suffix('_').unwrap_or(name)
}

fn is_text(name: &str) -> bool {
    TEXTS.contains(&bare(name)) || TEXTS.contains(&name)
}

/// What stands before each line of it, and its colour: what goes, what comes, what is written.
fn margin(name: &str) -> (&'static str, &'static str) {
    match bare(name) {
        "old_string" => ("  - ", "31"),
        "new_string" => ("  + ", "32"),
        _ => ("  │ ", "2"),
    }
}

/// Whoever does not listen misses only this.
fn say(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_known_in_every_step_of_a_block() {
        for (name, expected) in [
            ("content", true),
            ("content_2", true),
            ("new_string", true),
            ("old_string_3", true),
            ("path", false),
            ("path_1", false),
            ("_1", false),
        ] {
            assert_eq!(is_text(name), expected, "{name}");
        }
    }
}
