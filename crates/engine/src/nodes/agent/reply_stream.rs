//! ReplyStream: what a person may read of a model's answer while it comes. Calls and their marks are left out.

use innkeeper_protocol::{Dialect, Stream, StreamEvent};

use crate::node::{NodeBuilder, NodeType, text};

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "ReplyStream",
        "Agent",
        "Reply stream",
        "The words of a model's answer as they come, without the tool calls in it",
    );
    let input = node.input(text("input_stream").title("Stream").stream().required());
    let output = node.output(text("reply").title("Reply").stream());
    let whole = node.output(text("text").title("Text").about("The same, whole"));
    node.cached(false);
    node.task(move |mut io| async move {
        let mut reader = io.get(input)?;
        let writer = io.writer(output);
        let mut parser = Stream::new(Dialect::Auto);
        let mut shown = String::new();
        loop {
            let mut words = String::new();
            let mut on = |event: StreamEvent<'_>| {
                if let StreamEvent::Text(text) = event {
                    words.push_str(text);
                }
            };
            let is_over = match reader.next().await {
                Some(chunk) => {
                    let chunk = chunk?;
                    if chunk.is_content() {
                        parser.feed(&chunk.content.to_text(), &mut on);
                    }
                    false
                }
                None => {
                    parser.finish(&mut on);
                    true
                }
            };
            if !words.is_empty() {
                shown.push_str(&words);
                writer.text(words).await?;
            }
            if is_over {
                break;
            }
        }
        io.set(whole, shown);
        io.done()
    })
}
