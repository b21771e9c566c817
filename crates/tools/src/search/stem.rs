//! Takes the endings off English words, no more than helps to find tools: plurals, `-ed`, `-ing`, and the nouns that people
//! make of verbs (`conversion`, `converter`). Both sides are cut alike, so what is left need not be a word.

/// Words of other scripts, short ones and those with digits stay as they are.
pub(super) fn stem(word: &mut String) {
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return;
    }
    plural(word);
    for (ending, instead, keeps) in ENDINGS {
        if let Some(rest) = word.strip_suffix(ending)
            && rest.len() >= *keeps
            && has_vowel(rest)
        {
            word.truncate(rest.len());
            word.push_str(instead);
            break;
        }
    }
    halve(word);
    // `delete`, `deleted` and `deleting` end alike.
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
    if word.len() > 2 && word.ends_with('y') {
        word.pop();
        word.push('i');
    }
}

/// An ending, what stands in its place, and how many letters must be left before it.
const ENDINGS: &[(&str, &str, usize)] = &[
    ("ization", "ize", 3),
    ("ation", "ate", 3),
    ("ition", "ite", 3),
    ("ersion", "ert", 3),
    ("ing", "", 3),
    ("ed", "", 3),
    ("er", "", 4),
    ("or", "", 4),
    ("ly", "", 4),
];

fn plural(word: &mut String) {
    if word.ends_with("ies") && word.len() > 4 {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if ["sses", "shes", "ches", "xes", "zes"]
        .iter()
        .any(|ending| word.ends_with(ending))
    {
        word.truncate(word.len() - 2);
    } else if word.ends_with('s')
        && !["ss", "us", "is", "news"]
            .iter()
            .any(|ending| word.ends_with(ending))
    {
        word.pop();
    }
}

fn has_vowel(text: &str) -> bool {
    text.contains(['a', 'e', 'i', 'o', 'u', 'y'])
}

/// `running` is `run`; `call`, `fill` and `pass` stay.
fn halve(word: &mut String) {
    let mut last = word.bytes().rev();
    let (Some(one), Some(other)) = (last.next(), last.next()) else {
        return;
    };
    if one == other && word.len() > 3 && !b"aeiouls".contains(&one) {
        word.pop();
    }
}
