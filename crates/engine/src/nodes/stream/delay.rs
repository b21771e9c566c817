//! Delay: waits, then passes a value on.

use std::time::Duration;

use crate::limits::MAX_DELAY;
use crate::node::{NodeBuilder, any, convertible, integer};
use crate::{NodeError, NodeType};

/// How often it says how far it is.
const STEP: Duration = Duration::from_secs(1);

pub(super) fn node() -> NodeType {
    let longest = u64::try_from(MAX_DELAY.as_millis()).unwrap_or(u64::MAX);
    let mut node = NodeBuilder::core("Delay", "Flow", "Delay", "Waits, then passes its value on");
    let value = node.input(any("value").title("Value").about("What is passed on"));
    let ms = node.input(
        integer("ms")
            .title("Milliseconds")
            .about("How long to wait: from 0 to 600000, which is ten minutes")
            .default(1_000)
            .range(0, longest),
    );
    let output = node.output(convertible("value").title("Value").about("The same value"));
    node.effects();
    node.task(move |mut io| async move {
        let ms = io.get(ms)?;
        let Some(ms) = u64::try_from(ms).ok().filter(|ms| *ms <= longest) else {
            let message = format!("the input 'ms' is {ms}; it goes from 0 to {longest}");
            return Err(NodeError::invalid("input.range", message));
        };
        let passed = io.get(value)?;
        let whole = Duration::from_millis(ms);
        let mut waited = Duration::ZERO;
        // The task is dropped where it waits when the run is stopped.
        while waited < whole {
            let step = STEP.min(whole - waited);
            tokio::time::sleep(step).await;
            waited += step;
            io.context()
                .progress(waited.as_millis() as f64, whole.as_millis() as f64);
        }
        io.set(output, passed);
        io.done()
    })
}
