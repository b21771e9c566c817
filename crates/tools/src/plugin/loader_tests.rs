use super::*;

#[test]
fn codes_are_told_apart() {
    let mut names: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Code::ALL.len());
}
