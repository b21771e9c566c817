//! What a run has used of models, and who: in words, and as tables.

use innkeeper_agent::run::{Spent, Used};

use super::words::duration;
use crate::lang::Lang;
use crate::table::Table;

/// In dollars. What nobody knows the price of is said, and is not nothing. `None` where nothing was paid for.
pub(super) fn cost(cost: f64, unpriced: u32, lang: Lang) -> Option<String> {
    let known = (cost > 0.0).then(|| format!("${cost:.4}"));
    let unknown = match unpriced {
        0 => None,
        1 => Some(lang.pick(
            "the price of 1 request is not known".to_owned(),
            "1 次请求的价格未知".to_owned(),
        )),
        many => Some(lang.pick(
            format!("the price of {many} requests is not known"),
            format!("{many} 次请求的价格未知"),
        )),
    };
    match (known, unknown) {
        (Some(known), Some(unknown)) => Some(format!("{known} + ? ({unknown})")),
        (known, unknown) => known.or(unknown),
    }
}

/// Who asked models, and what tools took.
pub(super) fn tables(spent: &Spent, lang: Lang) -> (Option<Table>, Option<Table>) {
    (models(spent, lang), tools(spent, lang))
}

fn models(spent: &Spent, lang: Lang) -> Option<Table> {
    let headings = lang.pick(
        [
            "WHO", "REQUESTS", "TOKENS", "SENT", "CACHED", "RECEIVED", "COST",
        ],
        ["谁", "请求", "词元", "发送", "缓存", "收到", "费用"],
    );
    let mut table = Table::new(&headings);
    let mut row = |who: &str, used: &Used| {
        let price = short_cost(used);
        table.row([
            who,
            &used.requests.to_string(),
            &used.tokens.to_string(),
            &used.prompt_tokens.to_string(),
            &used.cached_tokens.to_string(),
            &used.completion_tokens.to_string(),
            &price,
        ]);
    };
    let mut any = false;
    for (agent, used) in &spent.by_agent {
        row(agent, used);
        any = true;
    }
    if spent.compaction.requests > 0 {
        let who = lang.pick("  of it summaries", "  其中摘要");
        row(who, &spent.compaction);
    }
    for (tool, used) in &spent.by_tool {
        if used.models.requests > 0 {
            row(tool, &used.models);
            any = true;
        }
    }
    any.then_some(table)
}

fn tools(spent: &Spent, lang: Lang) -> Option<Table> {
    let headings = lang.pick(
        ["TOOL", "CALLS", "FAILED", "TIME", "≈TOKENS SHOWN"],
        ["工具", "调用", "失败", "用时", "≈展示词元"],
    );
    let mut table = Table::new(&headings);
    for (tool, used) in &spent.by_tool {
        table.row([
            tool.as_str(),
            &used.calls.to_string(),
            &used.failed.to_string(),
            &duration(used.elapsed_ms),
            &used.shown_tokens.to_string(),
        ]);
    }
    (!spent.by_tool.is_empty()).then_some(table)
}

/// A question mark where some of it is not known.
fn short_cost(used: &Used) -> String {
    match (used.cost > 0.0, used.unpriced > 0) {
        (true, false) => format!("${:.4}", used.cost),
        (true, true) => format!("${:.4} + ?", used.cost),
        (false, true) => "?".to_owned(),
        (false, false) => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_that_nobody_knows_is_said() {
        for (dollars, unpriced, said) in [
            (0.0, 0, None),
            (0.25, 0, Some("$0.2500")),
            (0.0, 1, Some("the price of 1 request is not known")),
            (
                0.25,
                2,
                Some("$0.2500 + ? (the price of 2 requests is not known)"),
            ),
        ] {
            assert_eq!(cost(dollars, unpriced, Lang::En).as_deref(), said);
        }
    }
}
