//! What a reader of TOML says of a wrong value, for people: what stands there, what belongs there, and never the value
//! itself, which may be a key that was typed in the wrong line.

use crate::failure::Said;

pub(super) fn plain(message: &str) -> Said {
    for (kind, unfit) in [("invalid type: ", false), ("invalid value: ", true)] {
        if let Some((found, expected)) = message
            .strip_prefix(kind)
            .and_then(|rest| rest.rsplit_once(", expected "))
        {
            let (found, found_zh) = found_kind(found, unfit);
            let (wanted, wanted_zh) = wanted_kind(expected);
            return Said::new(
                format!("there is {found} where {wanted} belongs"),
                format!("此处是{found_zh}，应为{wanted_zh}"),
            );
        }
    }
    if let Some((_, expected)) = message
        .strip_prefix("unknown variant `")
        .and_then(|rest| rest.rsplit_once("`, expected "))
    {
        return Said::new(
            format!("an unknown word, expected {expected}"),
            format!("未知的词，应为 {}", expected.replace(" or ", " 或 ")),
        );
    }
    if let Some(field) = message.strip_prefix("missing field ") {
        return Said::new(format!("{field} is missing"), format!("缺少 {field}"));
    }
    Said::of(message)
}

fn found_kind(found: &str, unfit: bool) -> (&'static str, &'static str) {
    let kinds = [
        ("string", ("a text", "文本")),
        ("character", ("a text", "文本")),
        ("integer", ("a number", "数字")),
        ("floating point", ("a number with a point", "小数")),
        ("boolean", ("`true` or `false`", " true 或 false")),
        ("sequence", ("a list", "列表")),
        ("map", ("a table", "表")),
    ];
    match kinds.into_iter().find(|(kind, _)| found.starts_with(kind)) {
        Some(("integer", _)) if unfit => ("a number that does not fit", "不合适的数字"),
        Some((_, names)) => names,
        None => ("something else", "别的内容"),
    }
}

fn wanted_kind(expected: &str) -> (&str, &str) {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => ("a whole number from 0 up", "不小于 0 的整数"),
        "i8" | "i16" | "i32" | "i64" | "isize" => ("a whole number", "整数"),
        "f32" | "f64" => ("a number", "数字"),
        "a boolean" => ("`true` or `false`", " true 或 false"),
        "a string" | "path string" | "a borrowed string" | "string" => {
            ("a text in quotes", "引号中的文本")
        }
        "a sequence" => ("a list in brackets", "方括号中的列表"),
        "a map" => ("a table", "表"),
        other if other.starts_with("struct ") => ("a table", "表"),
        other => (other, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::Lang;

    #[test]
    fn nobody_has_to_know_the_names_of_types() {
        for (message, english, chinese) in [
            (
                "invalid value: integer `-1`, expected u64",
                "there is a number that does not fit where a whole number from 0 up belongs",
                "此处是不合适的数字，应为不小于 0 的整数",
            ),
            (
                "invalid type: string \"key, expected u32\", expected u32",
                "there is a text where a whole number from 0 up belongs",
                "此处是文本，应为不小于 0 的整数",
            ),
            (
                "invalid type: integer `3`, expected struct Timeouts",
                "there is a number where a table belongs",
                "此处是数字，应为表",
            ),
            (
                "invalid type: boolean `true`, expected a sequence",
                "there is `true` or `false` where a list in brackets belongs",
                "此处是 true 或 false，应为方括号中的列表",
            ),
            (
                "unknown variant `key`, expected `grammar` or `x`",
                "an unknown word, expected `grammar` or `x`",
                "未知的词，应为 `grammar` 或 `x`",
            ),
            ("missing field `name`", "`name` is missing", "缺少 `name`"),
        ] {
            let said = plain(message);
            assert_eq!(said.pick(Lang::En), english);
            assert_eq!(said.pick(Lang::Zh), chinese);
        }
    }
}
