//! FileRead and FileWrite.

use serde_json::Value as Json;

use super::file;
use crate::NodeError;
use crate::node::{NodeBuilder, NodeType, boolean, integer, text};

const PATH: &str =
    "A path in the project like reports/today.md, or user://…, shared://…, fam://<project>/…";

pub(super) fn read() -> NodeType {
    let mut node = NodeBuilder::core("FileRead", "World", "Read file", "Reads a text file");
    node.alias("core:FileReadNode");
    let path = node.input(text("path").title("Path").about(PATH).required());
    let start = node.input(
        integer("start_line")
            .title("From line")
            .about("Counted from 1")
            .default(1)
            .range(1, i64::MAX),
    );
    let count = node.input(
        integer("line_count")
            .title("Lines")
            .about("How many; to the end if left out")
            .optional(),
    );
    let content = node.output(text("content").title("Content"));
    let whole = node.output(text("path").title("Path"));
    let lines = node.output(
        integer("lines")
            .title("Lines")
            .about("How many the whole file has"),
    );
    let sha256 = node.output(text("sha256").title("SHA-256"));
    node.effects();
    node.task(move |mut io| async move {
        let (path, start, count) = (io.get(path)?, io.get(start)?, io.get(count)?);
        let start = u64::try_from(start).unwrap_or(1);
        let count = count.map(|count| u64::try_from(count).unwrap_or(1).max(1));
        let read = file::read(io.context(), &path, start, count).await?;
        io.set(content, read.content);
        io.set(whole, read.path);
        io.set(lines, read.lines);
        io.set(sha256, read.sha256);
        io.done()
    })
}

pub(super) fn write() -> NodeType {
    let mut node = NodeBuilder::core(
        "FileWrite",
        "World",
        "Write file",
        "Writes a text into a file, or adds it to the file's end; folders that are missing are made",
    );
    node.alias("core:FileWriteNode");
    let path = node.input(text("path").title("Path").about(PATH).required());
    let content = node.input(text("content").title("Content").multiline());
    let mode = node.input(
        text("mode")
            .title("Mode")
            .about("overwrite: the file is replaced. append: the text is added as it is, without a line break")
            .choice(&["overwrite", "append"]),
    );
    let whole = node.output(text("path").title("Path"));
    let bytes = node.output(
        integer("bytes")
            .title("Bytes")
            .about("How long the file is now"),
    );
    let created = node.output(
        boolean("created")
            .title("Created")
            .about("Whether there was no such file before; only told when a file is overwritten"),
    );
    node.effects();
    node.task(move |mut io| async move {
        let (path, content, mode) = (io.get(path)?, io.get(content)?, io.get(mode)?);
        let tool = match mode.as_str() {
            "overwrite" => "File.Write",
            "append" => "File.Append",
            other => {
                let message = format!("the mode '{other}' is neither overwrite nor append");
                return Err(NodeError::invalid("file.mode", message));
            }
        };
        let written = file::write(io.context(), &path, &content, tool).await?;
        let known = written.get("path").and_then(Json::as_str);
        io.set(whole, known.unwrap_or(&path));
        let size = written.get("bytes").and_then(Json::as_u64);
        io.set(bytes, size.unwrap_or_default());
        let is_new = written.get("created").and_then(Json::as_bool);
        io.set(created, is_new.unwrap_or_default());
        io.done()
    })
}
