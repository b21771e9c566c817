//! Everything that can end a command early: its stable code, its exit code, and one line for the person.
//!
//! A line names the place, the cause and what to do. It is always exactly one line, whatever bytes a file
//! name or an argument holds.

mod home;
mod model_error;
mod models;
mod plugin;
mod runs;
mod said;
mod said_calls;
mod said_questions;
mod said_runs;
mod said_skills;
mod said_states;
mod serve;
mod settings;
mod tools;
mod workflow;

use std::borrow::Cow;
use std::io;
use std::path::Path;

use innkeeper_store::StoreError;

use crate::lang::Lang;
use crate::limits::{MAX_REPLY_BYTES, MAX_SHOWN_CHARS, MAX_SHOWN_MESSAGE_CHARS, MIB};

pub(crate) use home::HomeFault;
pub(crate) use models::ModelFault;
pub(crate) use plugin::PluginFault;
pub(crate) use runs::{RunFault, in_words};
pub(crate) use said::Said;
pub(crate) use serve::ServeFault;
pub(crate) use settings::{SettingsFault, Spot};
pub(crate) use tools::{Expected, ToolFault};
pub(crate) use workflow::{InputFault, Taken, WorkflowFault};

#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line itself; the sentence is made in `usage`.
    Usage(String),
    /// No file was named for this command, and nobody pipes anything in.
    NoInput(&'static str),
    NotFound(Place),
    /// Neither a file nor a folder, where standard input is not read.
    NothingThere(Place),
    NoSuchFolder(Place),
    IsDirectory(Place),
    NotAFolder(Place),
    Unreadable(Place, io::Error),
    TooLarge(Place, u64),
    /// Not UTF-8 text, as this byte shows.
    NotText(Place, u64),
    Line(Place, u64, LineProblem),
    /// Text that should be a JSON object.
    NotJson(Place, String),
    Home(HomeFault),
    Settings(SettingsFault),
    Store(StoreError),
    Tool(ToolFault),
    Plugin(PluginFault),
    Model(ModelFault),
    Workflow(WorkflowFault),
    Run(RunFault),
    Serve(ServeFault),
    /// The system has no room for another thread, or the like.
    System(io::Error),
    Unwritable(io::Error),
    /// Whoever read our output has gone away: nobody is left to be told.
    ReaderGone,
}

/// What is wrong with one line of `--jsonl` input.
#[derive(Debug)]
pub(crate) enum LineProblem {
    Blank,
    TooLong(u64),
    NotUtf8(usize),
    NotAString(JsonKind),
    NotJson(serde_json::Error),
}

/// What stands on a line where a string should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonKind {
    Object,
    Array,
    Number,
    Literal,
    BareText,
}

impl JsonKind {
    fn name(self, lang: Lang) -> &'static str {
        match (self, lang) {
            (Self::Object, Lang::En) => "an object",
            (Self::Object, Lang::Zh) => "对象",
            (Self::Array, Lang::En) => "an array",
            (Self::Array, Lang::Zh) => "数组",
            (Self::Number, Lang::En) => "a number",
            (Self::Number, Lang::Zh) => "数字",
            (Self::Literal, Lang::En) => "true, false or null",
            (Self::Literal, Lang::Zh) => "true、false 或 null",
            (Self::BareText, Lang::En) => "text without quotes",
            (Self::BareText, Lang::Zh) => "没有引号的文本",
        }
    }
}

/// Where input came from, as the person knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    File(String),
    Stdin,
}

impl Place {
    pub(crate) fn file(path: &Path) -> Self {
        Self::File(shown(&path.to_string_lossy()))
    }

    pub(crate) fn name(&self, lang: Lang) -> &str {
        match (self, lang) {
            (Self::File(name), _) => name,
            (Self::Stdin, Lang::En) => "standard input",
            (Self::Stdin, Lang::Zh) => "标准输入",
        }
    }
}

impl Failure {
    /// What opening or reading `place` failed with.
    pub(crate) fn reading(place: Place, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound(place),
            io::ErrorKind::IsADirectory => Self::IsDirectory(place),
            _ => Self::Unreadable(place, error),
        }
    }

    pub(crate) fn writing(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::Unwritable(error),
        }
    }

    /// Stable: scripts and documentation refer to it.
    pub(crate) fn code(&self) -> &str {
        match self {
            Self::Usage(_) => "cli.usage",
            Self::NoInput(_) => "cli.no_input",
            Self::NotFound(_) | Self::NothingThere(_) | Self::NoSuchFolder(_) => "input.not_found",
            Self::IsDirectory(_) => "input.is_directory",
            Self::NotAFolder(_) => "input.not_a_folder",
            Self::Unreadable(..) => "input.unreadable",
            Self::TooLarge(..) => "input.too_large",
            Self::NotText(..) => "input.not_text",
            Self::Line(..) => "input.bad_line",
            Self::NotJson(..) => "input.not_json",
            Self::Home(fault) => fault.code(),
            Self::Settings(fault) => fault.code(),
            Self::Store(error) => error.code(),
            Self::Tool(fault) => fault.code(),
            Self::Plugin(fault) => fault.code(),
            Self::Model(fault) => fault.code(),
            Self::Workflow(fault) => fault.code(),
            Self::Run(fault) => fault.code(),
            Self::Serve(fault) => fault.code(),
            Self::System(_) => "system.failed",
            Self::Unwritable(_) | Self::ReaderGone => "output.unwritable",
        }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::ReaderGone => 0,
            // Whoever waits for the home to be free can tell it from any other failure.
            Self::Store(StoreError::InUse { .. }) => 6,
            Self::Unwritable(_) | Self::System(_) | Self::Store(_) => 1,
            Self::Tool(fault) => fault.exit_code(),
            Self::Plugin(fault) => fault.exit_code(),
            Self::Model(fault) => fault.exit_code(),
            Self::Workflow(fault) => fault.exit_code(),
            Self::Run(fault) => fault.exit_code(),
            Self::Serve(fault) => fault.exit_code(),
            _ => 2,
        }
    }

    pub(crate) fn line(&self, lang: Lang) -> String {
        format!("innkeeper: {} [{}]", self.sentence(lang), self.code())
    }

    /// Without the code.
    pub(crate) fn sentence(&self, lang: Lang) -> String {
        match lang {
            Lang::En => self.english(),
            Lang::Zh => self.chinese(),
        }
    }

    fn english(&self) -> String {
        let name = |place: &Place| place.name(Lang::En).to_owned();
        match self {
            Self::Usage(sentence) => sentence.clone(),
            Self::NoInput(command) => format!(
                "no input: name a file (innkeeper {command} reply.txt), pipe text in \
                 (my-model | innkeeper {command}), or give - to type it here"
            ),
            Self::NotFound(place) => format!(
                "{}: there is no such file; check the path, or give - to read standard input",
                name(place)
            ),
            Self::NothingThere(place) => {
                format!(
                    "{}: there is no such file or folder; check the path",
                    name(place)
                )
            }
            Self::NoSuchFolder(place) => {
                format!("{}: there is no such folder; check the path", name(place))
            }
            Self::IsDirectory(place) => {
                format!("{}: this is a folder; name a file in it", name(place))
            }
            Self::NotAFolder(place) => {
                format!("{}: this is no folder; name the folder itself", name(place))
            }
            Self::Unreadable(place, error) => format!(
                "{}: cannot be read ({}); check the path and its permissions",
                name(place),
                cause(error)
            ),
            Self::TooLarge(place, limit) => format!(
                "{}: larger than {} MiB; {}",
                name(place),
                limit / MIB,
                match *limit == MAX_REPLY_BYTES {
                    true =>
                        "cut it into single replies (innkeeper parse --jsonl takes many of them)",
                    false => "give less",
                }
            ),
            Self::NotText(place, offset) => format!(
                "{}: not text: byte {offset} does not belong into UTF-8 text; give a text file saved as UTF-8",
                name(place)
            ),
            Self::Line(place, number, problem) => {
                format!("{}: line {number}: {}", name(place), problem.english())
            }
            Self::NotJson(place, why) => format!(
                "{}: not a JSON object ({why}); write it as {{\"name\": \"value\"}}",
                name(place)
            ),
            Self::Home(fault) => fault.english(),
            Self::Settings(fault) => fault.english(),
            Self::Store(error) => message(&error.to_string()),
            Self::Tool(fault) => fault.english(),
            Self::Plugin(fault) => fault.english(),
            Self::Model(fault) => fault.english(),
            Self::Workflow(fault) => fault.sentence(Lang::En),
            Self::Run(fault) => fault.sentence(Lang::En),
            Self::Serve(fault) => fault.english(),
            Self::System(error) => format!(
                "the system cannot start what is needed ({}); end other programs and try again",
                cause(error)
            ),
            Self::Unwritable(error) => format!(
                "standard output: cannot be written ({}); check the disk the output goes to",
                cause(error)
            ),
            Self::ReaderGone => "standard output was closed".into(),
        }
    }

    fn chinese(&self) -> String {
        let name = |place: &Place| place.name(Lang::Zh).to_owned();
        match self {
            Self::Usage(sentence) => sentence.clone(),
            Self::NoInput(command) => format!(
                "没有输入：请指定文件（innkeeper {command} reply.txt）、用管道传入文本\
                 （my-model | innkeeper {command}），或用 - 在此直接输入"
            ),
            Self::NotFound(place) => format!(
                "{}：文件不存在；请检查路径，或用 - 从标准输入读取",
                name(place)
            ),
            Self::NothingThere(place) => {
                format!("{}：没有这个文件或文件夹；请检查路径", name(place))
            }
            Self::NoSuchFolder(place) => {
                format!("{}：文件夹不存在；请检查路径", name(place))
            }
            Self::IsDirectory(place) => {
                format!("{}：这是一个文件夹；请指定其中的文件", name(place))
            }
            Self::NotAFolder(place) => {
                format!("{}：这不是文件夹；请指定文件夹本身", name(place))
            }
            Self::Unreadable(place, error) => format!(
                "{}：无法读取（{}）；请检查路径和权限",
                name(place),
                cause(error)
            ),
            Self::TooLarge(place, limit) => format!(
                "{}：超过 {} MiB；{}",
                name(place),
                limit / MIB,
                match *limit == MAX_REPLY_BYTES {
                    true => "请拆成单条回复（innkeeper parse --jsonl 可以一次读取多条）",
                    false => "请减少内容",
                }
            ),
            Self::NotText(place, offset) => format!(
                "{}：不是文本：第 {offset} 字节不属于 UTF-8 文本；请提供以 UTF-8 保存的文本文件",
                name(place)
            ),
            Self::Line(place, number, problem) => {
                format!("{}：第 {number} 行：{}", name(place), problem.chinese())
            }
            Self::NotJson(place, why) => format!(
                "{}：不是 JSON 对象（{why}）；请写成 {{\"name\": \"value\"}}",
                name(place)
            ),
            Self::Home(fault) => fault.chinese(),
            Self::Settings(fault) => fault.chinese(),
            Self::Store(error) => {
                let english = error.to_string();
                match Said::of(&english).shown(Lang::Zh) {
                    // One that has no words of its own yet.
                    same if same == message(&english) => format!("数据库出错：{same}"),
                    chinese => chinese,
                }
            }
            Self::Tool(fault) => fault.chinese(),
            Self::Plugin(fault) => fault.chinese(),
            Self::Model(fault) => fault.chinese(),
            Self::Workflow(fault) => fault.sentence(Lang::Zh),
            Self::Run(fault) => fault.sentence(Lang::Zh),
            Self::Serve(fault) => fault.chinese(),
            Self::System(error) => format!(
                "系统无法启动所需的线程（{}）；请结束其他程序后重试",
                cause(error)
            ),
            Self::Unwritable(error) => format!(
                "标准输出：无法写入（{}）；请检查输出所在的磁盘",
                cause(error)
            ),
            Self::ReaderGone => "标准输出已关闭".into(),
        }
    }
}

impl LineProblem {
    fn english(&self) -> String {
        match self {
            Self::Blank => "is blank; put one JSON string on every line".into(),
            Self::TooLong(limit) => format!(
                "is longer than {} MiB; parse such a reply from a file of its own, without --jsonl",
                limit / MIB
            ),
            Self::NotUtf8(offset) => {
                format!("byte {offset} of the line is not valid UTF-8; save the input as UTF-8")
            }
            Self::NotAString(found) => format!(
                "expected a JSON string, found {}; quote the reply, as jq -c '.text' does",
                found.name(Lang::En)
            ),
            Self::NotJson(error) => format!(
                "not a JSON string (column {}: {}); quote and escape the reply, as jq -c '.text' does",
                error.column(),
                json_cause(error)
            ),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::Blank => "空行；每行应有一个 JSON 字符串".into(),
            Self::TooLong(limit) => format!(
                "超过 {} MiB；请把这条回复单独存成文件，不加 --jsonl 解析",
                limit / MIB
            ),
            Self::NotUtf8(offset) => {
                format!("行内第 {offset} 字节不是有效的 UTF-8；请以 UTF-8 保存输入")
            }
            Self::NotAString(found) => format!(
                "应为 JSON 字符串，实际是{}；请给回复加上引号，例如用 jq -c '.text' 生成",
                found.name(Lang::Zh)
            ),
            Self::NotJson(error) => format!(
                "不是 JSON 字符串（第 {} 列：{}）；请给回复加引号并转义，例如用 jq -c '.text' 生成",
                error.column(),
                json_cause(error)
            ),
        }
    }
}

/// The words of the system without its number.
pub(crate) fn cause(error: &io::Error) -> String {
    let words = error.to_string();
    let words = words.split(" (os error").next().unwrap_or_default();
    shown(words)
}

/// The words of the JSON reader without its own position, which counts from the line we gave it.
pub(crate) fn json_cause(error: &serde_json::Error) -> String {
    let words = error.to_string();
    let words = words.split(" at line ").next().unwrap_or_default();
    shown(words)
}

/// Something the user gave, fit for one line of a terminal: no line breaks, no control characters (which
/// could rewrite the screen), not too long.
pub(crate) fn shown(text: &str) -> String {
    on_one_line(text, MAX_SHOWN_CHARS)
}

/// The same for words in which line breaks mean no more than blanks do.
pub(crate) fn told(text: &str) -> String {
    on_one_line(&unbroken(text), MAX_SHOWN_CHARS)
}

/// The same for a sentence that was made by another part of the platform and may be longer.
pub(crate) fn message(text: &str) -> String {
    on_one_line(&unbroken(text), MAX_SHOWN_MESSAGE_CHARS)
}

/// One blank for each line break, with the blanks around it.
fn unbroken(text: &str) -> Cow<'_, str> {
    if !text.contains(['\n', '\t']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut breaks = false;
    for character in text.chars() {
        match character {
            '\n' | '\t' => breaks = true,
            ' ' | '\r' if breaks => {}
            character => {
                if std::mem::take(&mut breaks) {
                    out.truncate(out.trim_end_matches([' ', '\r']).len());
                    if !out.is_empty() {
                        out.push(' ');
                    }
                }
                out.push(character);
            }
        }
    }
    if breaks {
        out.truncate(out.trim_end_matches([' ', '\r']).len());
    }
    Cow::Owned(out)
}

fn on_one_line(text: &str, limit: usize) -> String {
    let mut out = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == limit {
            out.push('…');
            break;
        }
        if is_unprintable(character) {
            out.extend(character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    out
}

/// What could rewrite the screen or break the line.
pub(crate) fn is_unprintable(character: char) -> bool {
    character.is_control() || is_line_or_direction_mark(character)
}

/// Line separators, and marks that turn the direction of the text around them.
fn is_line_or_direction_mark(character: char) -> bool {
    matches!(character, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

macro_rules! from_faults {
    ($($fault:ident => $kind:ident;)*) => {$(
        impl From<$fault> for Failure {
            fn from(fault: $fault) -> Self {
                Self::$kind(fault)
            }
        }
    )*};
}

from_faults! {
    HomeFault => Home;
    SettingsFault => Settings;
    StoreError => Store;
    ToolFault => Tool;
    PluginFault => Plugin;
    ModelFault => Model;
    WorkflowFault => Workflow;
    ServeFault => Serve;
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
