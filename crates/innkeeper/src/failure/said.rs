//! A sentence in both languages, and Chinese for what other parts of the platform say in English.
//!
//! Those parts speak one language. Their sentences about channels, keys and settings are few and made of fixed words
//! around names, so they are found by those words; a sentence that is not known stays as it is.

use super::message;
use super::said_calls::PHRASES as PHRASES_OF_CALLS;
use super::said_questions::PHRASES as PHRASES_OF_QUESTIONS;
use super::said_runs::PHRASES as PHRASES_OF_RUNS;
use super::said_skills::PHRASES as PHRASES_OF_SKILLS;
use super::said_states::PHRASES as PHRASES_OF_STATES;
use crate::lang::Lang;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    english: String,
    chinese: String,
}

/// Sentences in sentences: a header lacks its value because a file cannot be read.
const MAX_DEPTH: usize = 4;

impl Said {
    pub(crate) fn new(english: impl Into<String>, chinese: impl Into<String>) -> Self {
        Self {
            english: english.into(),
            chinese: chinese.into(),
        }
    }

    /// What another part has said.
    pub(crate) fn of(english: &str) -> Self {
        Self::new(english, translated(english, MAX_DEPTH))
    }

    /// `no key: …, and …`: each reason once.
    pub(crate) fn lack(english: &str) -> Self {
        let Some(reasons) = english.strip_prefix("no key: ") else {
            return Self::of(english);
        };
        let (reasons, made_at) = match reasons.split_once("; keys are made at ") {
            Some((reasons, url)) => (reasons, Some(url)),
            None => (reasons, None),
        };
        let mut said: Vec<Self> = Vec::new();
        for reason in reasons.split(", and ").map(Self::of) {
            if !said.contains(&reason) {
                said.push(reason);
            }
        }
        let join = |lang: Lang, between: &str| {
            let reasons: Vec<&str> = said.iter().map(|reason| reason.pick(lang)).collect();
            reasons.join(between)
        };
        let mut all = Self::new(
            format!("no key: {}", join(Lang::En, ", and ")),
            format!("没有密钥：{}", join(Lang::Zh, "，并且")),
        );
        if let Some(url) = made_at {
            all.english.push_str(&format!("; keys are made at {url}"));
            all.chinese.push_str(&format!("；密钥在此创建：{url}"));
        }
        all
    }

    /// With a word before it that is the same in both languages.
    pub(crate) fn after(self, place: &str) -> Self {
        Self {
            english: format!("{place}: {}", self.english),
            chinese: format!("{place}：{}", self.chinese),
        }
    }

    pub(crate) fn pick(&self, lang: Lang) -> &str {
        lang.pick(&self.english, &self.chinese)
    }

    /// As part of a line.
    pub(crate) fn shown(&self, lang: Lang) -> String {
        message(self.pick(lang))
    }
}

fn translated(english: &str, depth: usize) -> String {
    let known = PHRASES_OF_RUNS
        .iter()
        .chain(PHRASES_OF_SKILLS)
        .chain(PHRASES_OF_CALLS)
        .chain(PHRASES_OF_STATES)
        .chain(PHRASES_OF_QUESTIONS)
        .chain(PHRASES);
    let known = known.filter(|_| depth > 0);
    let mut found = known.filter_map(|(pattern, chinese)| {
        let names = names(pattern, english)?;
        let mut said = (*chinese).to_owned();
        for (number, name) in names.iter().enumerate() {
            let name = translated(name, depth - 1);
            said = said.replacen(&format!("{{{number}}}"), &name, 1);
        }
        Some(said)
    });
    found.next().unwrap_or_else(|| english.to_owned())
}

/// What stands for each `{}` of a pattern that fits the whole text.
fn names<'t>(pattern: &str, text: &'t str) -> Option<Vec<&'t str>> {
    let mut words = pattern.split("{}");
    let mut rest = text.strip_prefix(words.next()?)?;
    let mut words: Vec<&str> = words.collect();
    let Some(last) = words.pop() else {
        return rest.is_empty().then(Vec::new);
    };
    let mut names = Vec::new();
    for word in words {
        // A name may have brackets of its own, and they come first.
        let (name, after) = match word {
            " (" => rest.rsplit_once(word)?,
            word => rest.split_once(word)?,
        };
        names.push(name);
        rest = after;
    }
    names.push(rest.strip_suffix(last)?);
    Some(names)
}

/// The more exact one first. A number says which `{}` stands there.
#[rustfmt::skip]
const PHRASES: &[(&str, &str)] = &[
    // What a channel lacks.
    ("the environment variable {} is not set", "环境变量 {0} 没有设置"),
    ("secrets.toml has no `{}`", "secrets.toml 中没有 `{0}`"),
    ("no address: set `base_url` of the channel `{}`", "没有地址：请设置渠道 `{0}` 的 `base_url`"),
    ("the header `{}` has no value: {}", "请求头 `{0}` 没有值：{1}"),
    ("the timeout `{}` of {} is 0; write at least 1, in milliseconds", "{1} 的超时 `{0}` 为 0；请写至少 1（毫秒）"),
    ("{} has no address of its own; set the channel's `base_url`", "{0} 没有自己的地址；请设置渠道的 `base_url`"),
    ("the base URL of {} is not right: {}", "{0} 的地址不对：{1}"),
    ("it cannot be read ({}); write it like https://api.example.com/v1", "无法读懂（{0}）；请写成 https://api.example.com/v1 的样子"),
    ("it must begin with http:// or https://", "须以 http:// 或 https:// 开头"),
    ("it holds a name or password; give the key as the channel's key or header instead", "其中有用户名或密码；请把密钥写在渠道的 keys 或 headers 里"),
    ("it ends with `?…` or `#…`; leave that away", "以 `?…` 或 `#…` 结尾；请去掉"),
    ("it names no host", "其中没有主机名"),
    ("{} has more than {} headers; leave some away", "{0} 的请求头超过 {1} 个；请减少"),
    ("no key is sent to {} ({}) over plain http, where anyone on the way can read it; write https:// in its base URL",
     "不会通过明文 http 把密钥发给 {0}（{1}），途中任何人都能读到；请在地址中写 https://"),
    ("the header '{}' of {} belongs to the connection; leave it away", "{1} 的请求头“{0}”属于连接本身；请去掉"),
    ("the value of the header '{}' of {} cannot be sent: it has a line break or letters beyond ASCII, or more than {} bytes",
     "{1} 的请求头“{0}”无法发送：其中有换行或 ASCII 以外的字符，或超过 {2} 字节"),
    ("'{}' of {} is no name of a header; use letters, digits and dashes", "{1} 的“{0}”不是请求头的名字；请用字母、数字和连字符"),
    // What makes no channel.
    ("`name` of a channel is made of letters, digits, dots, dashes and underlines", "渠道的 `name` 由字母、数字、点、连字符和下划线组成"),
    ("`base_url` of the channel `{}` has a part after `?` or `#`; it ends with the path", "渠道 `{0}` 的 `base_url` 在 `?` 或 `#` 之后还有内容；它应以路径结束"),
    ("`base_url` of the channel `{}` {}", "渠道 `{0}` 的 `base_url` {1}"),
    ("is no address; one begins with https:// or http://", "不是地址；地址以 https:// 或 http:// 开头"),
    ("is no address of the web; it begins with https:// or http://", "不是网址；网址以 https:// 或 http:// 开头"),
    ("holds a name or a password; show keys with `keys` or `headers`, where they stay secret", "含有用户名或密码；请用 `keys` 或 `headers` 给出密钥，以免泄露"),
    ("holds a key; show keys with `keys` or `headers`, where they stay secret", "含有密钥；请用 `keys` 或 `headers` 给出密钥，以免泄露"),
    ("`{}` of the channel `{}` is at most {}", "渠道 `{1}` 的 `{0}` 最多为 {2}"),
    ("`{}` of the channel `{}` is at least 1", "渠道 `{1}` 的 `{0}` 至少为 1"),
    ("`keys` names where a key is and never holds one: put it into an environment variable and write \"{}\", or into secrets.toml and write \"{}\"",
     "`keys` 只写密钥在哪里，绝不写密钥本身：请把密钥放进环境变量并写 \"{0}\"，或放进 secrets.toml 并写 \"{1}\""),
    ("the header `{}` looks like a secret, and the settings hold none: put it into an environment variable and write \"{}\", or into secrets.toml and write \"{}\"",
     "请求头 `{0}` 看来是机密，而设置文件不存放机密：请把它放进环境变量并写 \"{1}\"，或放进 secrets.toml 并写 \"{2}\""),
    ("the header `{}` is a text, perhaps with one \"{}\" in it, or \"secret:name\"", "请求头 `{0}` 是文本，其中可以有一个 \"{1}\"，或写 \"secret:name\""),
    ("`{}` has more than {} entries", "`{0}` 超过 {1} 项"),
    ("`headers` is a table of names and texts", "`headers` 是名字和文本的表"),
    ("a price is a number of dollars per million tokens, from 0 to {}", "价格是每百万词元的美元数，从 0 到 {0}"),
    // What does not hold together.
    ("there are two channels `{}`", "有两个渠道都叫 `{0}`"),
    ("leads nowhere: name a channel", "没有指向任何渠道：请写一个渠道"),
    ("there is no channel `{}`; did you mean `{}`?", "没有渠道 `{0}`；是否想写 `{1}`？"),
    ("there is no channel `{}`", "没有渠道 `{0}`"),
    ("a star stands for the one star of `model`, so each has one at most", "星号代表 `model` 中唯一的星号，所以两边都最多一个"),
    ("an alias and what it means are names", "别名和它所指的都须是名字"),
    ("goes round in a circle, or over more than {} others", "绕成了圈，或经过 {0} 个以上的别名"),
    // Files.
    ("{} can be read by others (mode {}); run `{}` and, if they are not to be trusted, replace the keys in it",
     "{0} 可被他人读取（权限 {1}）；请运行 `{2}`，若他人不可信，再更换其中的密钥"),
    ("{} is no TOML: look at line {}", "{0} 不是 TOML：请看第 {1} 行"),
    ("secrets.toml: {} is no text; put the value in quotes", "secrets.toml：{0} 不是文本；请给值加上引号"),
    ("secrets.toml: '{}' stands in the way; it is a value, not a table", "secrets.toml：“{0}”挡在前面；它是值，不是表"),
    ("secrets.toml: '{}' is a table with other secrets in it; choose another name", "secrets.toml：“{0}”是存有其他密钥的表；请另选名字"),
    ("'{}' is no name for a secret", "“{0}”不能作为密钥的名字"),
    ("the secret {} is shorter than {} characters; it would be found everywhere and could not be kept out of what is shown",
     "密钥 {0} 不足 {1} 个字符；它会到处被找到，无法从显示内容中隐去"),
    ("the secret {} is longer than {} bytes or contains a NUL character, so no program could be given it",
     "密钥 {0} 超过 {1} 字节或含有 NUL 字符，无法交给任何程序"),
    ("{} is no plain file", "{0} 不是普通文件"),
    ("{} is larger than {} bytes", "{0} 超过 {1} 字节"),
    ("{} cannot be opened: {}", "无法打开 {0}：{1}"),
    ("{} cannot be read: {}", "无法读取 {0}：{1}"),
    ("{} cannot be created: {}", "无法创建 {0}：{1}"),
    ("{} cannot be locked: {}", "无法锁定 {0}：{1}"),
    ("{} cannot be removed: {}", "无法删除 {0}：{1}"),
    ("{} cannot be written: {}", "无法写入 {0}：{1}"),
    ("{} cannot be replaced: {}", "无法替换 {0}：{1}"),
    ("{} cannot be looked at: {}", "无法查看 {0}：{1}"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn chinese(english: &str) -> String {
        Said::of(english).chinese
    }

    #[test]
    fn sentences_are_known_by_their_fixed_words() {
        for (english, expected) in [
            ("", ""),
            ("something new", "something new"),
            (
                "secrets.toml has no `models.a`",
                "secrets.toml 中没有 `models.a`",
            ),
            (
                "the header `x` has no value: the environment variable K is not set",
                "请求头 `x` 没有值：环境变量 K 没有设置",
            ),
            (
                "no key is sent to q2 (OpenAI-compatible) (example.com) over plain http, where anyone on the way can \
                 read it; write https:// in its base URL",
                "不会通过明文 http 把密钥发给 q2 (OpenAI-compatible)（example.com），途中任何人都能读到；请在地址中写 https://",
            ),
            (
                "`retries` of the channel `a` is at most 10",
                "渠道 `a` 的 `retries` 最多为 10",
            ),
            (
                "`base_url` of the channel `a` is no address; one begins with https:// or http://",
                "渠道 `a` 的 `base_url` 不是地址；地址以 https:// 或 http:// 开头",
            ),
            (
                "there is no channel `a`; did you mean `b`?",
                "没有渠道 `a`；是否想写 `b`？",
            ),
            (
                "there is no profile 'a', did you mean 'b'?",
                "没有配置“a”，是否想用“b”？",
            ),
        ] {
            assert_eq!(chinese(english), expected);
            assert_eq!(Said::of(english).pick(Lang::En), english);
        }
    }

    #[test]
    fn a_reason_is_given_once() {
        let said = Said::lack(
            "no key: secrets.toml has no `a`, and the environment variable B is not set, and secrets.toml has no `a`; \
             keys are made at https://x.example",
        );
        assert_eq!(
            said.pick(Lang::En),
            "no key: secrets.toml has no `a`, and the environment variable B is not set; keys are made at https://x.example"
        );
        assert_eq!(
            said.pick(Lang::Zh),
            "没有密钥：secrets.toml 中没有 `a`，并且环境变量 B 没有设置；密钥在此创建：https://x.example"
        );
        let other = "no address: set `base_url` of the channel `a`";
        assert_eq!(Said::lack(other), Said::of(other));
    }

    #[test]
    fn every_phrase_uses_all_its_names() {
        for (english, chinese) in PHRASES
            .iter()
            .chain(PHRASES_OF_RUNS)
            .chain(PHRASES_OF_SKILLS)
            .chain(PHRASES_OF_STATES)
            .chain(PHRASES_OF_QUESTIONS)
            .chain(PHRASES_OF_CALLS)
        {
            let count = english.matches("{}").count();
            for number in 0..count {
                assert!(chinese.contains(&format!("{{{number}}}")), "{english}");
            }
            assert_eq!(chinese.matches('{').count(), count, "{english}");
        }
    }

    #[test]
    fn sentences_in_sentences_end() {
        let deep = format!("{}x", "the header `h` has no value: ".repeat(50));
        assert!(chinese(&deep).ends_with('x'));
    }
}
