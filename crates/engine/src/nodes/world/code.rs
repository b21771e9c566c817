//! Code: a few lines of Python or JavaScript, run in the sandbox through the code interpreter.
//!
//! A small program of ours reads the code and its variables from standard input, so that lines in error messages are
//! those of the code, and gives everything back as one JSON text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json, json};

use super::call::call_kept;
use super::file;
use crate::NodeError;
use crate::limits::{MAX_CODE_NODE_ANSWER, MAX_CODE_NODE_ERROR_CHARS};
use crate::node::{NodeBuilder, NodeContext, NodeType, any, boolean, integer, text};

/// Where an answer lies that is too long to be printed.
const ANSWER_FILE: &str = "code-result.json";
/// The setting by which a workflow says so of its code.
const DETERMINISTIC: &str = "deterministic";
const PYTHON: &str = include_str!("code_run.py");
const JAVASCRIPT: &str = include_str!("code_run.cjs");

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "Code",
        "World",
        "Code",
        "Runs Python or JavaScript in the sandbox. Inputs of any name are variables; what is assigned to 'result' comes out",
    );
    node.alias("core:CodeNode");
    let code = node.input(
        text("code")
            .title("Code")
            .about("Assign to 'result' what should come out; what is printed comes out as 'stdout'")
            .category("Code")
            .multiline()
            .required(),
    );
    let language = node.input(
        text("language")
            .title("Language")
            .choice(&["python", "javascript"]),
    );
    let timeout = node.input(
        integer("timeout")
            .title("Timeout")
            .about("Seconds")
            .optional(),
    );
    node.setting(
        boolean(DETERMINISTIC)
            .title("Deterministic")
            .about("The same code gives the same for the same inputs: its result is kept for later runs")
            .default(false),
    );
    let result = node.output(any("result").title("Result"));
    let stdout = node.output(text("stdout").title("Printed"));
    let error = node.output(
        text("error")
            .title("Error")
            .about("What went wrong in the code; empty if nothing did"),
    );
    node.dynamic().effects();
    let declared = timeout.index() + 1;
    let node = node.task(move |mut io| async move {
        let (source, timeout) = (io.get(code)?, io.get(timeout)?);
        let (language, program) = match io.get(language)?.as_str() {
            "python" => ("python", PYTHON),
            "javascript" => ("node", JAVASCRIPT),
            other => {
                let message = format!("the language '{other}' is neither python nor javascript");
                return Err(NodeError::invalid("code.language", message));
            }
        };
        let slots = io.info().inputs.iter().enumerate().skip(declared);
        let variables: Map<String, Json> = slots
            .map(|(index, slot)| (slot.key.to_string(), io.input(index).as_value().into_json()))
            .collect();
        let asked = json!({
            "code": source, "inputs": variables, "most": MAX_CODE_NODE_ANSWER, "file": ANSWER_FILE,
        });
        let mut arguments = Map::new();
        arguments.insert("language".into(), language.into());
        arguments.insert("code".into(), program.into());
        arguments.insert("stdin".into(), asked.to_string().into());
        if let Some(timeout) = timeout {
            arguments.insert("timeout".into(), timeout.into());
        }
        let is_same = io.config(DETERMINISTIC).as_bool() == Some(true);
        let kept = io.context().kept().filter(|_| is_same).cloned();
        let tool = "CodeInterpreter:execute";
        let ran = call_kept(io.context(), tool, arguments, kept.as_ref()).await?;
        match answer(io.context(), &ran).await? {
            Some(told) => {
                // Files are more than a result, and may be changed by anybody before the next run. Whoever ran the code has
                // judged as well: hooks may have changed what is seen here.
                if let Some(kept) = kept
                    && text_of(&told, "error").is_empty()
                    && !has_files(&ran)
                {
                    kept.keep();
                }
                io.set(result, told.get("result").cloned().unwrap_or_default());
                io.set(stdout, text_of(&told, "stdout"));
                io.set(error, text_of(&told, "error"));
            }
            // The program itself did not get to its end: out of time, out of memory.
            None => {
                io.set(stdout, text_of(&ran, "stdout"));
                io.set(error, why(&ran));
            }
        }
        io.done()
    });
    node.keeping_own_if(DETERMINISTIC)
}

fn has_files(ran: &Json) -> bool {
    let made = ["files", "files_not_kept"].map(|key| ran.get(key).and_then(Json::as_array));
    made.into_iter().flatten().any(|list| !list.is_empty())
}

async fn answer(context: &NodeContext, ran: &Json) -> Result<Option<Json>, NodeError> {
    let printed = text_of(ran, "stdout");
    let Ok(told) = serde_json::from_str::<Json>(printed.trim()) else {
        // It says that all went well, and has not said what came of it.
        return match ran.get("exit").and_then(Json::as_i64) {
            Some(0) => Err(lost(
                "the code, or a program that it started, wrote to standard output by itself or ended the process",
            )),
            _ => Ok(None),
        };
    };
    if told.get("file").and_then(Json::as_str) != Some(ANSWER_FILE) {
        return Ok(told.is_object().then_some(told));
    }
    let files = ran.get("files").and_then(Json::as_array);
    let kept = files.into_iter().flatten().find(|file| {
        let name = file.get("name").and_then(Json::as_str);
        name == Some(ANSWER_FILE)
    });
    let uri = kept.and_then(|file| file.get("uri")).and_then(Json::as_str);
    let Some(uri) = uri else {
        return Err(lost("it was too large to be kept"));
    };
    let told = match file::read(context, uri, 1, None).await {
        Ok(text) => serde_json::from_str::<Json>(&text.content).ok(),
        // One long text is one long line.
        Err(error) if error.code == file::LINE_TOO_LONG => {
            let read = file::read_base64(context, uri).await;
            let bytes = read.map_err(unread)?;
            let bytes = STANDARD.decode(bytes.as_bytes()).ok();
            bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok())
        }
        Err(error) => return Err(unread(error)),
    };
    let told = told.filter(Json::is_object);
    told.map(Some)
        .ok_or_else(|| lost("its file is not as the code left it"))
}

/// That a file is not fit to be read is told as what it means here; that it may not be read, as it is.
fn unread(error: NodeError) -> NodeError {
    let is_unfit = ["file.", "workspace."]
        .iter()
        .any(|family| error.code.starts_with(family));
    match is_unfit {
        true => lost(&error.message),
        false => error,
    }
}

fn lost(why: &str) -> NodeError {
    let message = format!(
        "the result of the code could not be read back: {why}; use print for what is to be shown, and files of your own for what is long"
    );
    NodeError::invalid("code.result_lost", message)
}

fn text_of(json: &Json, key: &str) -> String {
    let text = json.get(key).and_then(Json::as_str);
    text.unwrap_or_default().to_owned()
}

fn why(ran: &Json) -> String {
    let parts = ["note", "stderr"].map(|key| text_of(ran, key));
    let said: Vec<_> = parts.iter().filter(|part| !part.is_empty()).collect();
    let mut why = match said.as_slice() {
        [] => format!(
            "the code ended with {}",
            ran.get("exit").unwrap_or(&Json::Null)
        ),
        [one] => one.to_string(),
        [one, two, ..] => format!("{one}\n{two}"),
    };
    if let Some((cut, _)) = why.char_indices().nth(MAX_CODE_NODE_ERROR_CHARS) {
        why.truncate(cut);
    }
    why
}
