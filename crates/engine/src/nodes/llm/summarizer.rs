//! TextSummarizer: a long text made short, by a model or by its first sentences.

use serde_json::json;

use super::ask::{Live, ask};
use crate::NodeError;
use crate::node::{NodeBuilder, NodeType, boolean, integer, text};
use crate::port::ModelCall;

const INSTRUCTION: &str = "Summarise the text that the user sends. Keep names, numbers and results; leave out the rest. Answer with the summary alone.";

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "TextSummarizer",
        "LLM",
        "Summarise text",
        "Makes a long text short. A text that is short enough comes out as it is",
    );
    node.alias("core:TextSummarizerNode");
    let source = node.input(text("text").title("Text").multiline());
    let most = node.input(
        integer("max_chars")
            .title("Most characters")
            .default(1_000)
            .range(1, 1_000_000),
    );
    let mode = node.input(
        text("mode")
            .title("Mode")
            .about("extract: its first sentences, as many as fit. model: a model writes it, if the run has one; else as extract")
            .choice(&["extract", "model"]),
    );
    let model = node.input(
        text("model")
            .title("Model")
            .about("Empty for the default model"),
    );
    let instruction = node.input(
        text("instruction")
            .title("Instruction")
            .about("What the model is told")
            .default(INSTRUCTION)
            .multiline(),
    );
    let summary = node.output(text("summary").title("Summary"));
    let shortened = node.output(boolean("shortened").title("Shortened"));
    let method = node.output(
        text("method")
            .title("Method")
            .about("none, extract or model: how it was done"),
    );
    node.effects();
    node.task(move |mut io| async move {
        let source = io.get(source)?;
        let wanted = io.get(most)?;
        let most = usize::try_from(wanted).unwrap_or_default();
        if most == 0 {
            let message = format!("'max_chars' is {wanted}; it has to be 1 or more");
            return Err(NodeError::invalid("summary.max_chars", message));
        }
        let mode = io.get(mode)?;
        if !matches!(mode.as_str(), "extract" | "model") {
            let message = format!("the mode '{mode}' is neither extract nor model");
            return Err(NodeError::invalid("summary.mode", message));
        }
        if source.chars().nth(most).is_none() {
            io.set(summary, source);
            io.set(shortened, false);
            io.set(method, "none");
            return io.done();
        }
        let by_model = mode == "model" && io.context().models().is_ok();
        let short = match by_model {
            true => {
                let system = format!("{}\nAt most {most} characters.", io.get(instruction)?);
                let call = ModelCall {
                    model: io.get(model)?,
                    messages: vec![
                        json!({"role": "system", "content": system}),
                        json!({"role": "user", "content": source}),
                    ]
                    .into(),
                    ..ModelCall::default()
                };
                let answer = ask(io.context(), call, Live::default()).await?;
                // A model may not count well; the promise is the node's.
                extract(answer.text.trim(), most)
            }
            false => extract(&source, most),
        };
        io.set(summary, short);
        io.set(shortened, true);
        io.set(method, if by_model { "model" } else { "extract" });
        io.done()
    })
}

/// The first sentences that fit, or the beginning of the first one.
fn extract(text: &str, most: usize) -> String {
    let Some((cut, _)) = text.char_indices().nth(most) else {
        return text.to_owned();
    };
    let room = text.get(..cut).unwrap_or_default();
    let is_end = |c: char| matches!(c, '.' | '!' | '?' | '。' | '！' | '？' | '…' | '\n');
    let mut end = None;
    let mut letters = room.char_indices().peekable();
    while let Some((at, c)) = letters.next() {
        // A point within a number or a name ends nothing.
        let is_last = letters.peek().is_none();
        let before_gap = letters.peek().is_some_and(|(_, next)| next.is_whitespace());
        let is_wide = matches!(c, '。' | '！' | '？' | '…' | '\n');
        let ends_text = is_last
            && text
                .get(cut..)
                .is_some_and(|rest| rest.starts_with(char::is_whitespace));
        if is_end(c) && (before_gap || is_wide || ends_text) {
            end = Some(at + c.len_utf8());
        }
    }
    // A first word with a point is no summary.
    match end.filter(|end| *end * 4 >= cut) {
        Some(end) => room.get(..end).unwrap_or_default().trim_end().to_owned(),
        None => {
            let short = room.char_indices().next_back().map_or(0, |(at, _)| at);
            format!("{}…", room.get(..short).unwrap_or_default().trim_end())
        }
    }
}

#[cfg(test)]
#[path = "summarizer_tests.rs"]
mod tests;
