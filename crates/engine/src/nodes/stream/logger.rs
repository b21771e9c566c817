//! StreamLogger: shows what passes.

use crate::NodeType;
use crate::limits::MAX_LOGGED_CHARS;
use crate::node::{NodeBuilder, any};
use crate::stream::Chunk;

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "StreamLogger",
        "Streams",
        "Stream logger",
        "Passes a stream on unchanged and shows each chunk as a preview",
    );
    let input = node.input(
        any("inputStream")
            .title("Stream")
            .about("What is shown and passed on")
            .required()
            .stream(),
    );
    let output = node.output(
        any("outputStream")
            .title("Stream")
            .about("The same stream")
            .stream(),
    );
    // Showing is what it is for: a result of an earlier run would show nothing.
    node.effects();
    node.task(move |mut io| async move {
        let mut stream = io.get(input)?;
        let writer = io.writer(output);
        let mut number = 0u64;
        while let Some(chunk) = stream.next().await {
            let chunk = chunk?;
            number += 1;
            io.context().preview(line(number, &chunk));
            writer.send(chunk).await?;
        }
        io.context().preview(format!("end after {number} chunks"));
        io.done()
    })
}

fn line(number: u64, chunk: &Chunk) -> String {
    let text = chunk.content.to_text();
    let mut shown: String = text.chars().take(MAX_LOGGED_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{number} {}: {shown}", chunk.kind.as_str())
}
