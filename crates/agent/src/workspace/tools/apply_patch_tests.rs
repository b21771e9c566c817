use innkeeper_protocol::ErrorCode as Code;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::super::super::testing::House;
use super::*;

const PATH: &str = "output/a.md";

fn patch(old: &str, new: &str) -> Json {
    json!({"path": PATH, "old_string": old, "new_string": new})
}

async fn read(house: &House, start: usize, most: usize) {
    let arguments = json!({"path": PATH, "start_char": start, "max_chars": most});
    house.call("workspace.read_file", arguments).await.unwrap();
}

async fn read_all(house: &House) {
    house
        .call("workspace.read_file", json!({"path": PATH}))
        .await
        .unwrap();
}

async fn refused(house: &House, arguments: Json) -> String {
    house.refused("workspace.apply_patch", arguments).await.1
}

#[tokio::test]
async fn a_piece_is_replaced_exactly() {
    for (text, old, new, all, expected, replacements) in [
        ("one two", "two", "2", false, "one 2", 1),
        ("一二三😀", "二三", "2", false, "一2😀", 1),
        ("a b a", "a", "A", true, "A b A", 2),
        ("a\nb", "a\n", "", false, "b", 1),
        ("aaa", "aa", "b", true, "ba", 1),
        // Models do not see that the lines end with CR LF.
        ("a\r\nb\r\nc", "a\nb", "x\ny", false, "x\r\ny\r\nc", 1),
        ("a\r\nb\nc", "b\nc", "x", false, "a\r\nx", 1),
    ] {
        let house = House::new(&[(PATH, text)]);
        read_all(&house).await;
        let mut arguments = patch(old, new);
        arguments["replace_all"] = json!(all);
        let answer = house
            .call("workspace.apply_patch", arguments)
            .await
            .unwrap();
        assert_eq!(house.text_of(PATH).await, expected, "{text:?}");
        assert_eq!(answer["replacements"], replacements, "{text:?}");
        assert_eq!(answer["chars"], expected.chars().count(), "{text:?}");
        assert_eq!(answer["bytes"], expected.len(), "{text:?}");
        assert_ne!(answer["oldSha256"], answer["sha256"]);
    }
}

#[tokio::test]
async fn what_does_not_fit_says_so_and_changes_nothing() {
    let house = House::new(&[(PATH, "one two one aaa")]);
    read_all(&house).await;
    for (old, reason) in [
        ("three", "workspace.patch_old_string_not_found"),
        ("one", "workspace.patch_old_string_not_unique"),
        ("aa", "workspace.patch_old_string_not_unique"),
    ] {
        assert_eq!(refused(&house, patch(old, "x")).await, reason, "{old}");
    }
    assert_eq!(house.text_of(PATH).await, "one two one aaa");
    // All of it is known, so nothing has to be read again.
    house
        .call("workspace.apply_patch", patch("two", "2"))
        .await
        .unwrap();
    let error = house
        .call("workspace.apply_patch", patch("1 | one", "x"))
        .await
        .unwrap_err();
    assert!(
        error.message.contains("leave out the line numbers"),
        "{error}"
    );
}

#[tokio::test]
async fn a_file_grows_no_larger_than_a_file_may_be() {
    let most = MAX_WORKSPACE_FILE_BYTES as usize;
    let text = format!("{}z", "y".repeat(1000));
    let house = House::new(&[(PATH, &text)]);
    read_all(&house).await;
    let mut arguments = patch("y", &"x".repeat(most / 1000 + 1));
    arguments["replace_all"] = json!(true);
    let error = house.refused("workspace.apply_patch", arguments).await;
    assert_eq!(
        error,
        (
            Code::WorkspaceWriteTooLarge,
            "workspace.file_too_large".into()
        )
    );
    assert_eq!(house.text_of(PATH).await, text);
}

/// What a part that was read allows, and what it does not.
#[tokio::test]
async fn parts_are_patched_where_they_were_read() {
    const NEEDS_ALL: &str = "workspace.patch_requires_full_read";
    let text = "alpha beta gamma alpha";
    // Replacing everywhere reaches what was not read.
    let house = House::new(&[(PATH, text)]);
    read(&house, 0, 10).await;
    let mut all = patch("beta", "B");
    all["replace_all"] = json!(true);
    assert_eq!(refused(&house, all).await, NEEDS_ALL);
    assert_eq!(
        refused(&house, patch("beta", "B")).await,
        NEEDS_ALL,
        "it is flagged now"
    );
    read_all(&house).await;
    house
        .call("workspace.apply_patch", patch("beta", "B"))
        .await
        .unwrap();

    // It stands in the file, but not in what was read.
    let house = House::new(&[(PATH, text)]);
    read(&house, 0, 10).await;
    assert_eq!(refused(&house, patch("gamma", "G")).await, NEEDS_ALL);
    // Reading the rest is not enough: the beginning was read before the flag.
    read(&house, 10, 50).await;
    assert_eq!(refused(&house, patch("gamma", "G")).await, NEEDS_ALL);
    read(&house, 0, 12).await;
    house
        .call("workspace.apply_patch", patch("gamma", "G"))
        .await
        .unwrap();

    // It was read, and stands somewhere else too.
    let house = House::new(&[(PATH, text)]);
    read(&house, 0, 10).await;
    let twice = refused(&house, patch("alpha", "A")).await;
    assert_eq!(twice, "workspace.patch_old_string_not_unique");
    assert_eq!(refused(&house, patch("beta", "B")).await, NEEDS_ALL);

    // Two parts, each with its own change, and then what was written.
    let house = House::new(&[(PATH, text)]);
    read(&house, 6, 4).await;
    read(&house, 11, 5).await;
    house
        .call("workspace.apply_patch", patch("beta", "二"))
        .await
        .unwrap();
    house
        .call("workspace.apply_patch", patch("gamma", "三三三三三三三"))
        .await
        .unwrap();
    house
        .call("workspace.apply_patch", patch("三三三三三三三", "3"))
        .await
        .unwrap();
    assert_eq!(house.text_of(PATH).await, "alpha 二 3 alpha");
    assert_eq!(
        refused(&house, patch("二 3", "x")).await,
        NEEDS_ALL,
        "nobody read the blank"
    );
}

#[tokio::test]
async fn a_part_of_what_is_gone_is_no_knowledge() {
    let house = House::new(&[(PATH, "alpha beta")]);
    read(&house, 0, 5).await;
    house.session.rest();
    house.contents.0.lock().unwrap().clear();
    let reason = refused(&house, patch("alpha", "A")).await;
    assert_eq!(reason, "workspace.patch_requires_full_read");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Reads and patches at random, beside a model that keeps for each character whether it was shown: a patch is taken
    /// exactly where the model says that its place was shown and is the only one, and leaves the text that it leaves.
    #[test]
    fn patches_after_partial_reads(
        text in "[ab一😀\n]{1,24}",
        acts in prop::collection::vec((any::<bool>(), 0_usize..24, 1_usize..6, "[ab一😀]{0,3}"), 1..12),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let house = House::new(&[(PATH, &text)]);
            let mut chars: Vec<char> = text.chars().collect();
            let mut shown: Vec<bool> = vec![false; chars.len()];
            let (mut is_read, mut flagged) = (false, false);
            for (reads, at, count, new) in acts {
                if chars.is_empty() {
                    break;
                }
                let at = at % chars.len();
                let end = (at + count).min(chars.len());
                if reads {
                    read(&house, at, count).await;
                    shown[at..end].fill(true);
                    is_read = true;
                    flagged &= !shown.iter().all(|shown| *shown);
                    continue;
                }
                let old: String = chars[at..end].iter().collect();
                if old == new {
                    continue;
                }
                let found = house.call("workspace.apply_patch", patch(&old, &new)).await;
                let old: Vec<char> = old.chars().collect();
                let places: Vec<usize> = (0..=chars.len() - old.len())
                    .filter(|place| chars[*place..].starts_with(&old))
                    .collect();
                let full = shown.iter().all(|shown| *shown);
                let is_shown = |place: &usize| shown[*place..place + old.len()].iter().all(|shown| *shown);
                let expected = if !is_read {
                    Err("workspace.patch_requires_read")
                } else if flagged || (!full && !places.iter().any(is_shown)) {
                    Err("workspace.patch_requires_full_read")
                } else if places.len() > 1 {
                    Err("workspace.patch_old_string_not_unique")
                } else {
                    Ok(())
                };
                match (expected, &found) {
                    (Ok(()), Ok(_)) => {
                        let new: Vec<char> = new.chars().collect();
                        shown.splice(at..end, vec![true; new.len()]);
                        chars.splice(at..end, new);
                    }
                    (Err(reason), Err(error)) => {
                        prop_assert_eq!(Some(reason), error.reason.as_deref());
                        if is_read && !full && !flagged {
                            flagged = true;
                            shown.fill(false);
                        }
                    }
                    (expected, found) => prop_assert!(false, "{:?} {:?}", expected, found),
                }
                let now: String = chars.iter().collect();
                prop_assert_eq!(house.text_of(PATH).await, now);
            }
            Ok(())
        })?;
    }
}
