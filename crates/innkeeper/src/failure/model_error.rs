//! Why a model did not answer, in Chinese: cause and remedy by the kind of the error. What the provider or the channel
//! itself said follows as it came.

use innkeeper_models::{ASK_ANOTHER, ModelErrorKind};

/// `why` fits on one line already. `None` where the code is no model's.
pub(super) fn chinese(code: &str, why: &str) -> Option<String> {
    let kinds = ModelErrorKind::ALL.iter();
    let kind = kinds.copied().find(|kind| kind.reason() == code)?;
    let (cause, remedy) = match kind {
        // These kinds have two meanings, and their remedies tell which it is.
        ModelErrorKind::Misdirected if why.contains(ASK_ANOTHER) => (
            "这个模型或渠道做不到所要求的",
            "请换用能做到的模型或渠道；也可以用 dialect 把工具调用写在文本里",
        ),
        ModelErrorKind::TooLarge if why.contains("base URL") => (
            "答复中有一段大得不合理",
            "请检查渠道的 base_url 是不是模型服务器的地址",
        ),
        kind => frame(kind),
    };
    Some(match remedy {
        "" => format!("{cause}（{why}）"),
        remedy => format!("{cause}；{remedy}（{why}）"),
    })
}

const fn frame(kind: ModelErrorKind) -> (&'static str, &'static str) {
    match kind {
        ModelErrorKind::UnknownModel => (
            "没有这个模型",
            "请检查模型的名字，innkeeper models list 会列出已有的",
        ),
        ModelErrorKind::RateLimited => (
            "请求太频繁，服务商要求放慢",
            "请稍后再试，或换用别的密钥或渠道",
        ),
        ModelErrorKind::ServerError => (
            "服务器连接不上或出了故障",
            "请检查服务器是否在运行，稍后再试，或换用别的渠道",
        ),
        ModelErrorKind::Timeout => ("等待答复超时", "请稍后再试，或调高渠道的 timeouts"),
        ModelErrorKind::BrokenStream => ("答复没有结束就中断了", "请再试一次，或换用别的渠道"),
        ModelErrorKind::Malformed => ("答复无法读懂", "请检查渠道的地址，或换用别的渠道"),
        ModelErrorKind::TooLarge => ("答复太长", "请限制 max_tokens"),
        ModelErrorKind::Unauthorized => ("密钥缺失、被拒绝或余额不足", "请检查该渠道的密钥和账户"),
        ModelErrorKind::Refused => ("服务商不接受这个请求", "请修改请求，或换用别的模型或渠道"),
        ModelErrorKind::Misdirected => (
            "渠道的地址或设置不对",
            "请检查渠道的 base_url、证书和请求头",
        ),
        ModelErrorKind::ContextTooLong => (
            "对话超出了模型的上下文长度",
            "请缩短对话、减少提供的工具，或换用上下文更长的模型",
        ),
        ModelErrorKind::Cancelled => ("请求已取消", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_sentence_and_keeps_what_was_said() {
        let mut seen = std::collections::HashSet::new();
        for kind in ModelErrorKind::ALL {
            let said = chinese(kind.reason(), "k2 answered 401: no").unwrap();
            let (frame, rest) = said.split_once('（').unwrap();
            assert_eq!(rest, "k2 answered 401: no）");
            assert!(frame.chars().any(|c| c >= '\u{4e00}'), "{said}");
            assert!(seen.insert(frame.to_owned()), "{said}");
        }
        assert_eq!(chinese("node.unknown", "x"), None);
    }

    #[test]
    fn the_advice_is_that_of_the_meaning() {
        let cannot = format!("k2 answered 400: m does not support tools; {ASK_ANOTHER}");
        let huge = "one event of the reply has more than 9 bytes and was stopped there; check that the base URL is that \
                    of a model server";
        for (kind, why, wanted, wrong) in [
            (
                ModelErrorKind::Misdirected,
                cannot.as_str(),
                "换用能做到的模型",
                "base_url、证书",
            ),
            (
                ModelErrorKind::Misdirected,
                "a redirect",
                "base_url、证书",
                "换用",
            ),
            (ModelErrorKind::TooLarge, huge, "base_url", "max_tokens"),
            (
                ModelErrorKind::TooLarge,
                "more than 9 bytes",
                "max_tokens",
                "base_url",
            ),
        ] {
            let said = chinese(kind.reason(), why).unwrap();
            let frame = said.split_once('（').unwrap().0;
            assert!(frame.contains(wanted) && !frame.contains(wrong), "{said}");
        }
    }
}
