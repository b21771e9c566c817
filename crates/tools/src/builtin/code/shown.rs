//! What is shown of a long text: its beginning and its end, with how much is missing between them.
//!
//! Lengths are those in JSON, which is what a result is shown in: a line break counts for two, a control character for
//! six.

/// What of a text is worth more, where not all of it can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Beginning,
    End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) cut: bool,
}

pub(super) fn shown(text: &str, most: usize, weight: Weight) -> Shown {
    if text.chars().map(length).sum::<usize>() <= most {
        return Shown {
            text: text.to_owned(),
            cut: false,
        };
    }
    let head = match weight {
        Weight::Beginning => most * 2 / 3,
        Weight::End => most / 3,
    };
    let beginning = fitting(text.chars(), head);
    let end = fitting(text.chars().rev(), most - head);
    let bytes = |chars: usize| text.chars().take(chars).map(char::len_utf8).sum::<usize>();
    let all = text.chars().count();
    let missing = all - beginning - end;
    let (first, _) = text.split_at(bytes(beginning));
    let (_, last) = text.split_at(bytes(all - end));
    Shown {
        text: format!("{first}\n[… {missing} characters are left out here …]\n{last}"),
        cut: true,
    }
}

/// How many characters have room.
fn fitting(chars: impl Iterator<Item = char>, mut room: usize) -> usize {
    chars
        .take_while(|&c| match room.checked_sub(length(c)) {
            Some(rest) => {
                room = rest;
                true
            }
            None => false,
        })
        .count()
}

fn length(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if c < ' ' => 6,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_and_end_are_shown_within_their_room() {
        for (text, most, weight, expected) in [
            ("", 0, Weight::Beginning, ""),
            ("abc", 3, Weight::Beginning, "abc"),
            ("a\n", 3, Weight::Beginning, "a\n"),
            (
                "abcdefghij",
                6,
                Weight::Beginning,
                "abcd\n[… 4 characters are left out here …]\nij",
            ),
            (
                "abcdefghij",
                6,
                Weight::End,
                "ab\n[… 4 characters are left out here …]\nghij",
            ),
            (
                "数据\n\n数据",
                5,
                Weight::End,
                "数\n[… 2 characters are left out here …]\n\n数据",
            ),
            (
                "\u{1}\u{1}",
                11,
                Weight::Beginning,
                "\u{1}\n[… 1 characters are left out here …]\n",
            ),
        ] {
            let shown = shown(text, most, weight);
            assert_eq!(shown.text, expected, "{text:?} {most}");
            assert_eq!(shown.cut, text != expected, "{text:?} {most}");
        }
    }

    #[test]
    fn a_length_is_the_length_in_json() {
        let text: String = (0..0x300).filter_map(char::from_u32).collect();
        let written = serde_json::to_string(&text).unwrap();
        let counted: usize = text.chars().map(length).sum();
        assert_eq!(counted + 2, written.chars().count());
    }
}
