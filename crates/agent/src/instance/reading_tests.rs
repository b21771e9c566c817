use super::*;

#[test]
fn a_request_is_shown_from_its_end_as_far_as_it_fits() {
    let message = |text: &str| Arc::new(json!({"role": "user", "content": text}));
    let sent: Vec<_> = ["0123456789", "b", "c"].map(message).into();
    let chars = |place: usize| sent[place].to_string().chars().count();
    let (last, all) = (chars(2), chars(0) + chars(1) + chars(2));
    for (most, from, first, is_cut) in [
        (all, 0, "0123456789", false),
        (all - 1, 0, "0123456789", true),
        (chars(1) + last + 4, 0, "0123", true),
        (last, 1, "", true),
        (1, 2, "c", true),
    ] {
        let (began, shown) = newest(&sent, most);
        assert_eq!(began, from, "{most}");
        assert_eq!(shown.len(), sent.len() - from, "{most}");
        assert_eq!(shown[0]["content"], first, "{most}");
        assert_eq!(
            shown[0]["truncated"],
            Json::from(is_cut.then_some(true)),
            "{most}"
        );
    }
    assert_eq!(newest(&[], 5), (0, Vec::new()));
}
