use super::*;

#[test]
fn a_secret_has_the_spellings_that_servers_use() {
    let table: [(&str, &[&str]); 6] = [
        ("sk-plain_key.0~", &[]),
        ("ab/cd", &["ab\\/cd", "ab\\u002fcd", "ab%2Fcd"]),
        (
            "a/b+c=",
            &[
                "a\\/b+c=",
                "a/b+c\\u003d",
                "a/b\\u002bc=",
                "a\\u002fb+c=",
                "a%2Fb%2Bc%3D",
                "a/b%2Bc%3D",
                "a%2Fb+c=",
            ],
        ),
        ("a+b=", &["a+b\\u003d", "a\\u002bb=", "a%2Bb%3D"]),
        ("q\"\\", &["q\\\"\\\\", "q\\u0022\\\\", "q%22%5C"]),
        (
            "x&'y z",
            &[
                "x\\u0026'y z",
                "x\\u0026\\u0027y z",
                "x%26%27y%20z",
                "x&'y%20z",
                "x&%27y%20z",
            ],
        ),
    ];
    for (secret, others) in table {
        let found = spellings(secret);
        let found: Vec<&str> = found.iter().map(Secret::expose).collect();
        let wanted: Vec<&str> = [secret].into_iter().chain(others.iter().copied()).collect();
        assert_eq!(found, wanted);
    }
}
