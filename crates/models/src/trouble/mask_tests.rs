use super::super::words::Words;
use super::*;

#[test]
fn keys_never_come_back() {
    let key = Secret::new(" sk-secret-key\n");
    let headers = [
        Secret::new("Bearer other-secret"),
        Secret::new("short"),
        Secret::new("a whole value"),
    ];
    let mask = Mask::new(Some(&key), &headers);
    let rows = [
        ("bad key sk-secret-key", "bad key [key]"),
        ("<title>sk-secret-key</title>", "[key]"),
        (r#"{"error":{"message":"sk-secret\u002dkey"}}"#, "[key]"),
        ("Bearer other-secret", "[header]"),
        ("other-secret", "[header]"),
        ("a whole value, short", "[header], short"),
    ];
    for (body, text) in rows {
        assert_eq!(Words::read(body.as_bytes(), true, &mask).text, text);
    }
    // Cut in the middle of the key. As much is left out as the longest secret takes: `a%20whole%20value`.
    let words = Words::read(b"you sent me this key: sk-secret-k", false, &mask);
    assert_eq!(words.text, "you sent me");
}

#[test]
fn the_beginning_of_a_key_at_a_cut_is_hidden_too() {
    let key = Secret::new("sk-secret-key");
    let mask = Mask::new(Some(&key), &[]);
    let rows = [
        ("no sk-secret-ke…; try again", "no [key]…; try again"),
        ("no sk-s…; and sk-secret…", "no [key]…; and [key]…"),
        ("no sk-…; try again", "no sk-…; try again"),
        ("… sk-secret-key", "… [key]"),
        ("other…", "other…"),
        ("no SK-Secret-Key, sk-secret-key", "no [key], [key]"),
        ("äöüßäöüß…", "äöüßäöüß…"),
    ];
    for (said, shown) in rows {
        assert_eq!(mask.apply(said.to_owned()), shown);
    }
}

#[test]
fn a_key_is_found_however_it_is_spelled() {
    let key = Secret::new("ab/cd+e=\"f");
    let short = Secret::new("q1/w");
    let mask = Mask::new([&key, &short], &[Secret::new("Basic dXNlcjpwYXNz==")]);
    let rows = [
        (r#"sent "ab/cd+e=\"f""#, r#"sent "[key]""#),
        (r#"sent "ab\/cd+e=\"f""#, r#"sent "[key]""#),
        (r#"sent "ab/cd\u002Be=\u0022f""#, r#"sent "[key]""#),
        (r#"sent "ab/cd+e\u003d\"f""#, r#"sent "[key]""#),
        ("GET /?key=ab%2Fcd%2be%3d%22f&x", "GET /?key=[key]&x"),
        ("GET /?key=ab/cd+e=%22f", "GET /?key=[key]"),
        ("GET /ab%2Fcd%2B…", "GET /[key]…"),
        ("q1%2Fw, q1/w", "[key], [key]"),
        ("dXNlcjpwYXNz%3D%3D", "[header]"),
    ];
    for (said, shown) in rows {
        assert_eq!(mask.apply(said.to_owned()), shown);
    }
}
