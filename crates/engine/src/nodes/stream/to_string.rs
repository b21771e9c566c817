//! StreamToString: a whole text from its pieces.

use crate::limits::{MAX_COLLECTED_BYTES, MAX_LISTED_CHUNKS};
use crate::node::{NodeBuilder, any, array, integer, text};
use crate::{NodeError, NodeType};

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "StreamToString",
        "Streams",
        "Stream to text",
        "Waits for the end of a stream and gives its text as one",
    );
    node.alias("core:StreamToStringNode");
    let input = node.input(
        any("stream")
            .title("Stream")
            .about("Chunks of text; values that are no text are written as JSON")
            .required()
            .stream(),
    );
    let separator = node.input(
        text("separator")
            .title("Separator")
            .about("Stands between the chunks"),
    );
    let whole = node.output(text("text").title("Text").about("All chunks together"));
    let chunks = node.output(
        array("chunks")
            .title("Chunks")
            .about("The text of each chunk"),
    );
    let count = node.output(
        integer("count")
            .title("Count")
            .about("How many chunks there were"),
    );
    node.task(move |mut io| async move {
        let separator = io.get(separator)?;
        let mut stream = io.get(input)?;
        let mut joined = String::new();
        let mut listed: Vec<serde_json::Value> = Vec::new();
        let mut number = 0usize;
        while let Some(chunk) = stream.next().await {
            let chunk = chunk?;
            if !chunk.is_content() {
                continue;
            }
            let piece = chunk.content.to_text();
            if number > 0 {
                joined.push_str(&separator);
            }
            joined.push_str(&piece);
            number += 1;
            if joined.len() > MAX_COLLECTED_BYTES {
                let message = format!(
                    "the text of the stream is longer than {MAX_COLLECTED_BYTES} bytes; take it chunk by chunk"
                );
                return Err(NodeError::invalid("stream.too_long", message));
            }
            if listed.len() < MAX_LISTED_CHUNKS {
                listed.push(piece.into());
            }
        }
        io.set(whole, joined);
        io.set(chunks, listed);
        io.set(count, number);
        io.done()
    })
}
