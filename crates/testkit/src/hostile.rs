//! Inputs on which a careless parser takes quadratic time, overflows its stack or drowns in findings.

/// One kind of hostile text.
#[derive(Debug, Clone, Copy)]
pub struct Hostile {
    pub name: &'static str,
    /// A text of about that many bytes.
    pub make: fn(usize) -> String,
}

const REQUEST: &str = "<|[REQUEST_TOOL]|>";
const END: &str = "<|[END_TOOL]|>";

fn repeat(piece: &str, size: usize) -> String {
    piece.repeat(size / piece.len().max(1))
}

fn after(head: &str, piece: &str, size: usize) -> String {
    head.to_owned() + &repeat(piece, size)
}

fn between(head: &str, piece: &str, tail: &str, size: usize) -> String {
    after(head, piece, size) + tail
}

macro_rules! hostile {
    ($($name:literal: |$size:ident| $make:expr;)*) => {
        pub const HOSTILE: &[Hostile] = &[$(Hostile { name: $name, make: |$size| $make },)*];
    };
}

hostile! {
    "unclosed keys": |size| after(&format!("{REQUEST}\n"), "key:»»»v\n", size);
    "unclosed keys, alternate marks": |size| after(&format!("{REQUEST}\n"), "key:>>>v\n", size);
    "unclosed keys, corner marks": |size| after(&format!("{REQUEST}\n"), "key:「始」v\n", size);
    "unclosed keys outside a block": |size| repeat("key:»»»v\n", size);
    "keys on one line": |size| after(REQUEST, "k:»»»v", size);
    "fields on one line": |size| after(REQUEST, "k:»»»v«««,", size);
    "many small fields": |size| between(&format!("{REQUEST}\n"), "k:»»»v«««\n", END, size);
    "start marks": |size| repeat(&format!("{REQUEST}\n"), size);
    "start marks on one line": |size| repeat(REQUEST, size);
    "end marks": |size| repeat(&format!("{END}\n"), size);
    "start and end marks in turn": |size| repeat(&format!("{REQUEST}{END}"), size);
    "end and start marks in turn": |size| repeat(&format!("{END}\n{REQUEST}\n"), size);
    "start marks inside a value": |size| between(&format!("{REQUEST}\ncommand:»»»"), &format!("{REQUEST}\n"), "«««", size);
    "end marks inside a closed value": |size| between(&format!("{REQUEST}\ncommand:»»»"), &format!("{END}\n"), &format!("«««\n{END}"), size);
    "end marks inside an open value": |size| after(&format!("{REQUEST}\ncommand:»»»"), &format!("{END}\n"), size);
    "open blocks, each with an open value": |size| repeat(&format!("{REQUEST}\ncommand:»»»T\n"), size);
    "whole blocks": |size| repeat(&format!("{REQUEST}\ncommand:»»»T«««\n{END}\n"), size);
    "whole blocks inside a value": |size| after(&format!("{REQUEST}\ncommand:»»»"), &format!("{REQUEST}\ncommand:»»»T«««\n{END}\n"), size);
    "whole blocks inside a closed value": |size| between(&format!("{REQUEST}\ncommand:»»»"), &format!("{REQUEST} x {END}\n"), &format!("«««\n{END}"), size);
    "closing marks inside a value": |size| between(&format!("{REQUEST}\ncommand:»»»"), "x«««\n", END, size);
    "closing marks in a row": |size| between(&format!("{REQUEST}\ncommand:»»»"), "«", END, size);
    "opening marks in a row": |size| after(&format!("{REQUEST}\ncommand:"), "»»»", size);
    "colon and opening marks": |size| after(&format!("{REQUEST}\n"), ":>>>", size);
    "key and mark, closing and key": |size| after(&format!("{REQUEST}\n"), "key:»»»«««", size);
    "opening and closing in turn": |size| after(&format!("{REQUEST}\n"), "»»»«««", size);
    "all families in turn": |size| after(&format!("{REQUEST}\n"), "a:»»»<<<「末」\nb:>>>«««「末」\nc:「始」«««<<<\n", size);
    "corner brackets": |size| after(&format!("{REQUEST}\ncommand:「始」"), "「始「末", size);
    "colons": |size| after(&format!("{REQUEST}\n"), ":", size);
    "key-like lines without marks": |size| after(&format!("{REQUEST}\n"), "k: x\n", size);
    "junk lines": |size| between(&format!("{REQUEST}\n"), "words\n", END, size);
    "comment lines": |size| between(&format!("{REQUEST}\n"), "# c\n", END, size);
    "duplicate keys": |size| between(&format!("{REQUEST}\n"), "command:»»»T«««\n", END, size);
    "steps": |size| {
        let mut text = format!("{REQUEST}\n");
        let mut step = 0;
        while text.len() < size {
            step += 1;
            text.push_str(&format!("command_{step}:»»»T«««\nx_{step}:»»»1«««\n"));
        }
        text + END
    };
    "steps and shared parameters": |size| {
        let mut text = format!("{REQUEST}\n");
        let mut step = 0;
        while text.len() < size {
            step += 1;
            text.push_str(&format!("command_{step}:»»»T«««\ncommon_{step}x:»»»1«««\n"));
        }
        text + END
    };
    "one long key": |size| after(&format!("{REQUEST}\n"), "k", size) + ":»»»v«««";
    "one huge value": |size| between(&format!("{REQUEST}\ncommand:»»»T«««\nx:»»»"), "The quick brown fox. ", &format!("«««\n{END}"), size);
    "one huge open value": |size| after(&format!("{REQUEST}\ncommand:»»»T«««\nx:»»»"), "The quick brown fox. ", size);
    "one huge value of guillemets": |size| between(&format!("{REQUEST}\ncommand:»»»T«««\nx:»»»"), "« » ", &format!("«««\n{END}"), size);
    "indented lines": |size| between(&format!("{REQUEST}\n    command:»»»T«««\n    x:»»»\n"), "    line\n", &format!("    «««\n{END}"), size);
    "half marks": |size| repeat("<|[REQUEST_", size);
    "half marks with blanks": |size| repeat("< | [ ", size);
    "less-than": |size| repeat("<", size);
    "less-than and blanks": |size| repeat("< ", size);
    "one less-than, then blanks": |size| after("<", " ", size);
    "a mark broken by blanks": |size| after("<|[REQUEST", " ", size) + "_TOOL]|>";
    "action openings": |size| repeat("<ACTION>", size);
    "action openings with an element": |size| repeat("<ACTION><T>", size);
    "action closings": |size| repeat("</ACTION>", size);
    "whole actions": |size| repeat("<ACTION><T/></ACTION>", size);
    "half action tags": |size| repeat("<ACTIO", size);
    "action tags with endless attributes": |size| after("<ACTION ", "a=\"b\" ", size);
    "action openings with open attributes": |size| repeat("<ACTION a=\"", size);
    "deep xml": |size| after("<ACTION><T>", "<a>", size);
    "deep xml, closed": |size| {
        let levels = size / 7;
        format!("<ACTION><T>{}{}</T></ACTION>", "<a>".repeat(levels), "</a>".repeat(levels))
    };
    "xml siblings": |size| between("<ACTION><T>", "<a>1</a>", "</T></ACTION>", size);
    "xml siblings of many names": |size| {
        let mut text = String::from("<ACTION><T>");
        let mut number = 0;
        while text.len() < size {
            number += 1;
            text.push_str(&format!("<a{number}/>"));
        }
        text + "</T></ACTION>"
    };
    "xml calls": |size| between("<ACTION>", "<T/>", "</ACTION>", size);
    "xml item lists": |size| between("<ACTION><T>", "<l><item>1</item></l>", "</T></ACTION>", size);
    "xml mixed content": |size| between("<ACTION><T><a>", "x<b/>", "</a></T></ACTION>", size);
    "nested mixed content": |size| {
        let levels = size / 8;
        format!("<ACTION><T>{}{}</T></ACTION>", "<a>x".repeat(levels), "</a>".repeat(levels))
    };
    "ampersands": |size| between("<ACTION><T><a>", "&", "</a></T></ACTION>", size);
    "open entities": |size| between("<ACTION><T><a>", "&a", "</a></T></ACTION>", size);
    "entities": |size| between("<ACTION><T><a>", "&amp;", "</a></T></ACTION>", size);
    "less-than in xml": |size| between("<ACTION><T><a>", "< ", "</a></T></ACTION>", size);
    "attributes of a call": |size| {
        let mut text = String::from("<ACTION><T");
        let mut number = 0;
        while text.len() < size {
            number += 1;
            text.push_str(&format!(" a{number}=\"1\""));
        }
        text + "/></ACTION>"
    };
    "unclosed cdata": |size| after("<ACTION><T><a>", "<![CDATA[", size);
    "unclosed cdata in many actions": |size| repeat("<ACTION><a><![CDATA[", size);
    "cdata sections": |size| between("<ACTION><T><a>", "<![CDATA[x]]>", "</a></T></ACTION>", size);
    "cdata with brackets": |size| between("<ACTION><T><a><![CDATA[", "]]", "]]></a></T></ACTION>", size);
    "comment openings": |size| after("<ACTION><T>", "<!--", size);
    "comment openings in many actions": |size| repeat("<ACTION><!--", size);
    "comments": |size| between("<ACTION><T>", "<!-- c -->", "</T></ACTION>", size);
    "tool_call openings": |size| repeat("<tool_call>", size);
    "tool_call openings with a name": |size| repeat("<tool_call name=\"t\">", size);
    "tool_call closings": |size| repeat("</tool_call>", size);
    "whole tool_calls": |size| repeat("<tool_call name=\"t\"></tool_call>", size);
    "tool_calls with open json": |size| repeat("<tool_call>{\"name\":\"t\",\"arguments\":{", size);
    "tool_call with deep json": |size| after("<tool_call>{\"name\":\"t\",\"arguments\":{\"a\":", "[", size);
    "tool_call with an open string": |size| after("<tool_call>{\"name\":\"t\",\"arguments\":{\"a\":\"", "\\\"", size);
    "qwen parameters, open": |size| after("<tool_call><function=f>", "<parameter=p>", size);
    "alternating protocols": |size| repeat(&format!("{REQUEST}<ACTION><tool_call>"), size);
    "an open action, then start marks": |size| repeat(&format!("<ACTION><T>{REQUEST}"), size);
    "fences": |size| repeat("```\n", size);
    "fences around start marks": |size| repeat(&format!("```\n{REQUEST}\n```\n"), size);
    "backticks": |size| repeat("`", size);
    "quoted marks": |size| repeat(&format!("`{REQUEST}` "), size);
    "open quoted marks": |size| repeat(&format!("`{REQUEST}"), size);
    "quoted action tags": |size| repeat("`<ACTION>` ", size);
    "blanks": |size| repeat(" ", size);
    "line breaks": |size| repeat("\n", size);
    "crlf": |size| repeat("\r\n", size);
    "blanks and line breaks in a block": |size| after(REQUEST, " \n", size);
    "plain prose": |size| repeat("The quick brown fox jumps over the lazy dog.\n", size);
    "chinese prose": |size| repeat("天地玄黄，宇宙洪荒。\n", size);
    "nul": |size| repeat("\u{0}", size);
}
