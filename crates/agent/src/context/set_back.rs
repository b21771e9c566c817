//! What a model is told whose conversation does not end where its run does: a person has taken something back, or it goes on
//! from the middle of another run.

use innkeeper_protocol::Locale;
use serde_json::{Value as Json, json};

use crate::limits::MAX_PUBLISHED_TOLD;
use crate::run::{Published, SetBack};

pub fn set_back(set_back: &SetBack, locale: Locale) -> Json {
    let content = match (set_back, locale) {
        (SetBack::Fork { .. }, Locale::En) => {
            "You go on from here in a run of your own: this conversation and the files are as they were at this point of \
             an earlier run. What that run did afterwards is not here, and what it published is not yours."
                .to_owned()
        }
        (SetBack::Fork { .. }, Locale::Zh) => {
            "你从这里开始独立的一次运行：对话和文件都是之前某次运行到这一步时的样子。那次运行之后做的事不在这里，它发布的内容也不算你的。"
                .to_owned()
        }
        (
            SetBack::Rollback {
                published,
                withdrawn,
                ..
            },
            locale,
        ) => {
            let head = match locale {
                Locale::En => {
                    "A person has set this run to the point you see above. All that was done after it has been taken \
                     back: the files are as they were at this point. What tools did outside the workspace is not undone."
                }
                Locale::Zh => {
                    "有人把这次运行退回到了上面这一步。之后所做的一切都已撤回：文件恢复到这一步时的样子。工具在工作区以外做的事没有撤销。"
                }
            };
            let stays = match locale {
                Locale::En => "Published since then, and still to be seen by the reader",
                Locale::Zh => "之后已发布、读者仍能看到的",
            };
            let gone = match locale {
                Locale::En => "No longer published, whatever is said above",
                Locale::Zh => "无论上面怎么说，已不再发布的",
            };
            [
                Some(head.to_owned()),
                listed(stays, published, locale),
                listed(gone, withdrawn, locale),
            ]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("\n")
        }
    };
    json!({"role": "user", "content": content})
}

fn listed(head: &str, published: &[Published], locale: Locale) -> Option<String> {
    if published.is_empty() {
        return None;
    }
    let shown = published.iter().take(MAX_PUBLISHED_TOLD);
    let shown: Vec<String> = shown
        .map(|one| format!("{} ({})", one.path, one.message_id))
        .collect();
    let more = match published.len() > MAX_PUBLISHED_TOLD {
        true => " …",
        false => "",
    };
    let (colon, comma) = match locale {
        Locale::En => (": ", ", "),
        Locale::Zh => ("：", "、"),
    };
    Some(format!("{head}{colon}{}{more}", shown.join(comma)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_languages_say_what_stays_and_what_is_gone_and_no_more_than_that() {
        let one = |number: usize| Published {
            path: format!("output/{number}.md"),
            message_id: number.to_string(),
        };
        let rollback = |published: Vec<Published>, withdrawn| SetBack::Rollback {
            checkpoint: "cp_000001".into(),
            published,
            withdrawn,
        };
        let text = |set: &SetBack, locale| {
            set_back(set, locale)["content"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        for locale in [Locale::En, Locale::Zh] {
            let plain = rollback(Vec::new(), Vec::new());
            assert_eq!(text(&plain, locale).lines().count(), 1);
            let both = rollback(vec![one(1)], vec![one(2)]);
            let told = text(&both, locale);
            let lines: Vec<_> = told.lines().collect();
            assert_eq!(lines.len(), 3);
            assert!(lines[1].ends_with("output/1.md (1)"), "{told}");
            assert!(lines[2].ends_with("output/2.md (2)"), "{told}");
            let many = rollback((0..=MAX_PUBLISHED_TOLD).map(one).collect(), Vec::new());
            let told = text(&many, locale);
            assert!(told.ends_with(" …") && !told.contains(&format!("({MAX_PUBLISHED_TOLD})")));
        }
        let fork = SetBack::Fork {
            checkpoint: "now".into(),
        };
        assert_ne!(text(&fork, Locale::En), text(&fork, Locale::Zh));
    }
}
