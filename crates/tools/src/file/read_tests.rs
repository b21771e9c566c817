use super::super::house_tests::House;
use super::*;

fn range(start: u64, count: u64) -> LineRange {
    LineRange {
        start,
        count,
        max_bytes: 1000,
    }
}

#[tokio::test]
async fn a_limit_holds_to_the_byte() {
    let house = House::new();
    let uri = house.put("x", "12345");
    assert_eq!(house.files.read(&uri, 5).await.unwrap(), b"12345");
    let error = house.files.read(&uri, 4).await.unwrap_err();
    assert!(matches!(
        error,
        FileError::ReadTooLarge {
            size: 5,
            limit: 4,
            ..
        }
    ));
}

#[tokio::test]
async fn nobody_can_ask_for_more_than_the_limit() {
    let house = House::new();
    for (size, whole, lines) in [
        (MAX_READ_BYTES + 1, false, true),
        (MAX_SCAN_BYTES + 1, false, false),
    ] {
        let uri = house.put("big", "");
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(house.project().join("big"))
            .unwrap();
        file.set_len(size).unwrap();
        let read = house.files.read(&uri, u64::MAX).await;
        assert_eq!(read.is_ok(), whole, "{size}");
        if !lines {
            let error = house.files.read_lines(&uri, range(1, 1)).await.unwrap_err();
            assert_eq!(error.reason(), "file.read_too_large");
        }
    }
}

#[tokio::test]
async fn only_text_is_text() {
    let house = House::new();
    let uri = house.put("x.bin", b"ab\xffcd");
    assert_eq!(house.files.read(&uri, 10).await.unwrap().len(), 5);
    for error in [
        house.files.read_text(&uri, 10).await.unwrap_err(),
        house.files.read_lines(&uri, range(1, 9)).await.unwrap_err(),
    ] {
        assert!(matches!(error, FileError::NotText { at: 2, .. }), "{error}");
    }
    let uri = house.put("y.bin", b"ab\n\xffcd");
    let part = house.files.read_lines(&uri, range(1, 1)).await.unwrap();
    assert_eq!(part.text, "ab\n");
    let error = house.files.read_lines(&uri, range(2, 1)).await.unwrap_err();
    assert!(matches!(error, FileError::NotText { at: 3, .. }), "{error}");
}

#[tokio::test]
async fn what_is_no_file_is_not_read() {
    let house = House::new();
    house.put("folder/x", "x");
    for (path, reason) in [
        ("folder", "file.is_directory"),
        ("missing", "file.not_found"),
        ("missing/x", "file.not_found"),
        ("folder/x/y", "file.not_a_directory"),
        (".", "file.is_directory"),
        ("user://", "file.is_directory"),
        ("shared://", "file.is_directory"),
        ("shared://library", "file.is_directory"),
    ] {
        let error = house.files.read(&house.uri(path), 10).await.unwrap_err();
        assert_eq!(error.reason(), reason, "{path}");
    }
}

#[tokio::test]
async fn lines_are_given_as_they_are() {
    let house = House::new();
    for (content, start, count, text, end, total, truncated) in [
        ("", 1, 9, "", 0, 0, false),
        ("a", 1, 9, "a", 1, 1, false),
        ("a\n", 1, 9, "a\n", 1, 1, false),
        ("a\nb", 1, 9, "a\nb", 2, 2, false),
        ("a\r\nb\r\n", 1, 1, "a\r\n", 1, 2, true),
        ("a\nb\nc\n", 2, 1, "b\n", 2, 3, true),
        ("a\nb\nc\n", 3, 5, "c\n", 3, 3, false),
        ("a\nb\nc", 4, 5, "", 3, 3, false),
        ("\n\n", 2, 1, "\n", 2, 2, false),
        ("a\nb", u64::MAX, u64::MAX, "", u64::MAX - 1, 2, false),
    ] {
        let uri = house.put("x", content);
        let part = house
            .files
            .read_lines(&uri, range(start, count))
            .await
            .unwrap();
        assert_eq!(
            (
                part.text.as_str(),
                part.end_line,
                part.total_lines,
                part.truncated
            ),
            (text, end, total, truncated),
            "{content:?} {start}+{count}"
        );
        assert_eq!(part.size, content.len() as u64);
    }
}

#[tokio::test]
async fn the_hash_is_of_the_whole_file() {
    let house = House::new();
    let uri = house.put("x", "abc");
    let part = house.files.read_lines(&uri, range(1, 1)).await.unwrap();
    let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(part.sha256, expected);
}

#[tokio::test]
async fn too_much_text_ends_at_a_line() {
    let house = House::new();
    for (content, max_bytes, text, end, cut) in [
        ("aa\nbb\ncc\n", 9, "aa\nbb\ncc\n", 3, false),
        ("aa\nbb\ncc\n", 8, "aa\nbb\n", 2, false),
        ("aa\nbb\ncc\n", 4, "aa\n", 1, false),
        ("aaaa\nbb\n", 2, "aa", 1, true),
        ("é€x\n", 4, "é", 1, true),
        ("aa", 0, "", 1, true),
    ] {
        let uri = house.put("x", content);
        let range = LineRange {
            start: 1,
            count: 99,
            max_bytes,
        };
        let part = house.files.read_lines(&uri, range).await.unwrap();
        assert_eq!(
            (part.text.as_str(), part.end_line, part.cut),
            (text, end, cut),
            "{content:?} {max_bytes}"
        );
        assert_eq!(part.truncated, text.len() < content.len());
    }
}

#[tokio::test]
async fn lines_longer_than_a_buffer_are_one_line() {
    let house = House::new();
    let long = "x".repeat(200_000);
    let uri = house.put("x", format!("a\n{long}\nb\n"));
    let wanted = LineRange {
        start: 2,
        count: 1,
        max_bytes: 300_000,
    };
    let part = house.files.read_lines(&uri, wanted).await.unwrap();
    assert_eq!(part.text.len(), 200_001);
    assert_eq!((part.end_line, part.total_lines), (2, 3));
}
