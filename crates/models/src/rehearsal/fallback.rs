//! What the rehearsal says where its script has nothing to say: what it is, what it was sent, and what to do.

use innkeeper_protocol::parse;

use super::pick::Moment;
use super::script::Speaker;
use crate::ModelRequest;
use crate::limits::MAX_ECHOED_CHARS;

pub(super) fn fallback(request: &ModelRequest, moment: &Moment) -> String {
    let count = request.messages.len();
    let tools = request.tools.len();
    let echo = echo(&moment.text);
    if is_chinese(&moment.text) {
        let what = match (moment.speaker, echo) {
            (Speaker::Observation, Some(echo)) => format!("最后是一条工具结果：“{echo}”"),
            (_, Some(echo)) => format!("最后一句是：“{echo}”"),
            (_, None) => "最后一条消息里有工具调用的写法，这里不再重复".to_owned(),
        };
        return format!(
            "这是一次排练：这里没有语言模型，只有一份脚本，而脚本里没有与此相符的场景。\
             我收到了 {count} 条消息和 {tools} 个工具，{what}。\
             想得到真正的回答，请连接一个真实的模型（本机上的：`innkeeper models discover`；用密钥的：`innkeeper models add <provider>`；\
             详见 docs/models.md），或者在脚本里加一个场景。"
        );
    }
    let what = match (moment.speaker, echo) {
        (_, Some(echo)) if echo.is_empty() => "and there is nothing to answer in them".to_owned(),
        (Speaker::Observation, Some(echo)) => format!("the last of them a tool's result: “{echo}”"),
        (_, Some(echo)) => format!("the last of them: “{echo}”"),
        (_, None) => "the last of them with something like a tool call, which is not repeated here"
            .to_owned(),
    };
    format!(
        "This is a rehearsal: there is no language model here, only a script, and the script has no scene for this. \
         I was sent {} and {}, {what}. For a real answer, connect a real model (`innkeeper models discover` for a \
         server on this machine, `innkeeper models add <provider>` for one with a key; docs/models.md tells more), or \
         add a scene to the script.",
        counted(count, "message"),
        counted(tools, "tool"),
    )
}

/// The beginning of it on one line. `None` if repeating it would be calling a tool.
fn echo(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().take(MAX_ECHOED_CHARS).collect();
    let line = words.join(" ");
    let mut echo: String = line.chars().take(MAX_ECHOED_CHARS).collect();
    if echo.len() < line.len() || words.len() == MAX_ECHOED_CHARS {
        echo.push('…');
    }
    let reply = parse(&echo);
    (reply.blocks.is_empty() && reply.diagnostics.is_empty()).then_some(echo)
}

/// Chinese characters, and neither kana nor hangul beside them.
fn is_chinese(text: &str) -> bool {
    let has = |range: &[std::ops::RangeInclusive<char>]| {
        text.chars()
            .any(|c| range.iter().any(|range| range.contains(&c)))
    };
    has(&['\u{3400}'..='\u{4dbf}', '\u{4e00}'..='\u{9fff}'])
        && !has(&['\u{3040}'..='\u{30ff}', '\u{ac00}'..='\u{d7af}'])
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}
