use reqwest::header::{HeaderName, HeaderValue};

use super::*;

fn wait(headers: &[(&'static str, &'static str)], said: Option<f64>) -> Option<u128> {
    let headers = headers.iter().map(|(name, value)| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )
    });
    // Sun, 06 Nov 1994 08:49:37 GMT
    let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
    retry_after(&headers.collect(), said.and_then(seconds), now).map(|wait| wait.as_millis())
}

#[test]
fn all_ways_of_asking_for_patience_are_understood() {
    type Headers = [(&'static str, &'static str)];
    let rows: &[(&Headers, Option<u128>)] = &[
        (&[], None),
        (&[("retry-after", "7")], Some(7_000)),
        (&[("retry-after", " 1.5 ")], Some(1_500)),
        (&[("retry-after", "0")], Some(0)),
        (&[("retry-after", "-1")], None),
        (&[("retry-after", "NaN")], None),
        (&[("retry-after", "inf")], Some(3_600_000)),
        (&[("retry-after", "1e300")], Some(3_600_000)),
        (&[("retry-after", "soon")], None),
        (
            &[("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")],
            Some(60_000),
        ),
        (
            &[("retry-after", "Sunday, 06-Nov-94 08:50:37 GMT")],
            Some(60_000),
        ),
        (&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], Some(0)),
        (
            &[("retry-after", "Sat, 06 Nov 2094 08:00:00 GMT")],
            Some(3_600_000),
        ),
        (
            &[("retry-after-ms", "250"), ("retry-after", "7")],
            Some(250),
        ),
        (&[("x-ratelimit-reset", "12")], Some(12_000)),
        (&[("x-ratelimit-reset", "784111780")], Some(3_000)),
        (&[("x-ratelimit-reset", "784111780500")], Some(3_500)),
        (&[("x-ratelimit-reset", "1")], Some(1_000)),
        (
            &[
                ("x-ratelimit-remaining-requests", "0"),
                ("x-ratelimit-reset-requests", "1m6.5s"),
            ],
            Some(66_500),
        ),
        (
            &[
                ("x-ratelimit-remaining-tokens", "0"),
                ("x-ratelimit-reset-tokens", "20ms"),
            ],
            Some(20),
        ),
        (
            &[
                ("x-ratelimit-remaining-tokens", "9"),
                ("x-ratelimit-reset-tokens", "20ms"),
            ],
            None,
        ),
        (
            &[
                ("x-ratelimit-remaining-tokens", "0"),
                ("x-ratelimit-reset-tokens", "20 days"),
            ],
            None,
        ),
        (
            &[
                ("x-ratelimit-remaining-tokens", "0"),
                ("x-ratelimit-reset-tokens", ""),
            ],
            None,
        ),
    ];
    for (headers, expected) in rows {
        assert_eq!(wait(headers, None), *expected, "{headers:?}");
    }
    assert_eq!(wait(&[], Some(2.5)), Some(2_500));
    assert_eq!(wait(&[("retry-after", "1")], Some(2.5)), Some(1_000));
}
