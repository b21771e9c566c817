//! StreamSuffixRelay: something after each piece of text.

use crate::NodeType;
use crate::node::{NodeBuilder, text};
use crate::stream::{Chunk, ChunkKind};

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "StreamSuffixRelay",
        "Streams",
        "Stream suffix",
        "Passes a stream of text on, with a suffix after each chunk",
    );
    let input = node.input(
        text("inputStream")
            .title("Stream")
            .about("Chunks of text; others pass unchanged")
            .required()
            .stream(),
    );
    let suffix = node.input(
        text("suffix")
            .title("Suffix")
            .about("What follows each chunk")
            .default("---"),
    );
    let output = node.output(
        text("outputStream")
            .title("Stream")
            .about("The chunks, each with the suffix")
            .stream(),
    );
    node.task(move |mut io| async move {
        let suffix = io.get(suffix)?;
        let mut stream = io.get(input)?;
        let writer = io.writer(output);
        while let Some(chunk) = stream.next().await {
            let chunk = chunk?;
            let chunk = match chunk.kind {
                ChunkKind::Text => Chunk {
                    content: format!("{}{suffix}", chunk.content.to_text()).into(),
                    ..chunk
                },
                _ => chunk,
            };
            writer.send(chunk).await?;
        }
        io.done()
    })
}
