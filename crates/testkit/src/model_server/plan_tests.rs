//! What is put on the wire, byte by byte.

use super::*;
use crate::model_server::Say;

fn asked(path: &str, body: &str) -> Request {
    Request {
        method: "POST".into(),
        path: path.into(),
        query: String::new(),
        headers: Vec::new(),
        body: body.into(),
        connection: 1,
    }
}

fn steps(answer: &Answer) -> Vec<Step> {
    plan(answer, &asked("/v1/chat/completions", "{}"))
}

fn write(text: &str) -> Step {
    Step::Write(text.into())
}

const CHUNKED: &str =
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: text/event-stream\r\n\r\n";

#[test]
fn a_body_is_framed_as_asked() {
    let body = "a: 1\n\nb: 2\r\n\r\nrest";
    let rows = [
        (
            Answer::events(body),
            vec![
                CHUNKED,
                "6\r\na: 1\n\n\r\n",
                "8\r\nb: 2\r\n\r\n\r\n",
                "4\r\nrest\r\n",
                "0\r\n\r\n",
            ],
        ),
        (
            Answer::events("abcde").chunk_bytes(2),
            vec![
                CHUNKED,
                "2\r\nab\r\n",
                "2\r\ncd\r\n",
                "1\r\ne\r\n",
                "0\r\n\r\n",
            ],
        ),
        (
            Answer::events("ab").cut_every(3),
            vec![CHUNKED, "2\r\n", "ab\r", "\n0\r", "\n\r\n"],
        ),
        (
            Answer::events("ab").cuts(vec![1, 5]),
            vec![CHUNKED, "2", "\r\nab", "\r\n0\r\n\r\n"],
        ),
        (
            Answer::status(404).body("abc"),
            vec![
                "HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 3\r\n\r\n",
                "abc",
            ],
        ),
        (
            Answer::status(500).header("Content-Length", "9"),
            vec![
                "HTTP/1.1 500 Internal Server Error\r\ncontent-type: application/json\r\nContent-Length: 9\r\n\r\n",
            ],
        ),
    ];
    for (answer, expected) in rows {
        let expected: Vec<Step> = expected.into_iter().map(write).collect();
        assert_eq!(steps(&answer), expected);
    }
}

#[test]
fn faults_stand_at_their_places() {
    let answer = || Answer::raw("abcdef").chunk_bytes(100);
    let rows = [
        (answer(), vec![write("abcdef"), Step::Close]),
        (answer().fault(Fault::HangUp), vec![Step::Close]),
        (answer().fault(Fault::Reset), vec![Step::Reset]),
        (
            answer().fault(Fault::Hang),
            vec![Step::Stall, write("abcdef"), Step::Close],
        ),
        (
            answer().fault(Fault::CloseAfter(2)),
            vec![write("ab"), Step::Close],
        ),
        (
            answer().fault(Fault::CloseAfter(99)),
            vec![write("abcdef"), Step::Close],
        ),
        (answer().fault(Fault::ResetAfter(0)), vec![Step::Reset]),
        (
            answer()
                .fault(Fault::CloseAfter(4))
                .fault(Fault::StallAfter(1))
                .fault(Fault::Insert(2, b"!".to_vec())),
            vec![
                write("a"),
                Step::Stall,
                write("b"),
                write("!"),
                write("cd"),
                Step::Close,
            ],
        ),
        (
            answer().fault(Fault::StallAfter(3)).cut_every(2),
            vec![
                write("ab"),
                write("c"),
                Step::Stall,
                write("d"),
                write("ef"),
                Step::Close,
            ],
        ),
    ];
    for (answer, expected) in rows {
        assert_eq!(steps(&answer), expected, "{:?}", answer.faults);
    }
    let half = steps(&Answer::events("abcdefghijkl").fault(Fault::HalfChunkAfter(1)));
    assert_eq!(
        half[1..],
        [write("1\r\na\r\n"), write("40\r\nbcdefgh"), Step::Close]
    );
    let bad = steps(&Answer::events("ab").fault(Fault::BadChunkAfter(1)));
    assert_eq!(
        bad[1..],
        [write("1\r\na\r\n"), write("no size\r\n"), Step::Close]
    );
}

#[test]
fn a_length_counts_what_was_put_in() {
    let answer = Answer::status(200)
        .body("abc")
        .fault(Fault::Insert(1, b"xy".to_vec()));
    let Some(Step::Write(head)) = steps(&answer).into_iter().next() else {
        panic!("no head");
    };
    let head = String::from_utf8(head).expect("a text");
    assert!(head.contains("content-length: 5\r\n"), "{head}");
}

#[test]
fn a_bad_byte_stands_inside_the_first_text_and_between_characters() {
    for (said, found) in [
        ("hello", &b"\"h\xffello\""[..]),
        ("é!", b"\"\xc3\xa9\xff!\""),
        ("\"q", b"\"\\\"\xffq\""),
        ("model", b":\"m\xffodel\""),
    ] {
        let answer = Answer::say(Say::text(said)).fault(Fault::BadUtf8);
        let bytes: Vec<u8> = steps(&answer)
            .into_iter()
            .flat_map(|step| match step {
                Step::Write(bytes) => bytes,
                _ => Vec::new(),
            })
            .collect();
        assert!(
            bytes.windows(found.len()).any(|window| window == found),
            "{said}"
        );
    }
}

#[test]
fn the_connection_closes_where_somebody_wants_it() {
    let mut request = asked("/v1/messages", "{}");
    let answer = Answer::say(Say::text("x"));
    assert_ne!(plan(&answer, &request).last(), Some(&Step::Close));
    assert_eq!(
        plan(&answer.clone().closing(), &request).last(),
        Some(&Step::Close)
    );
    let until = answer.clone().framing(Framing::UntilClose);
    assert_eq!(plan(&until, &request).last(), Some(&Step::Close));
    request.headers.push(("Connection".into(), "close".into()));
    assert_eq!(plan(&answer, &request).last(), Some(&Step::Close));
}

#[test]
fn counts_of_a_stream_come_when_asked_for() {
    let answer = Answer::say(Say::text("x").usage(1, 2));
    for (body, there) in [
        (r#"{"stream":true}"#, false),
        (
            r#"{"stream":true,"stream_options":{"include_usage":true}}"#,
            true,
        ),
        ("{}", true),
    ] {
        let body = answer.body_for(&asked("/chat/completions", body));
        let counted = String::from_utf8_lossy(&body).contains("prompt_tokens");
        assert_eq!(counted, there);
    }
}
