use super::super::WriteMode;
use super::super::house_tests::House;
use crate::UserId;

#[tokio::test]
async fn everything_is_where_it_should_be() {
    let house = House::new();
    let mut other = house.person.clone();
    other.user = UserId::try_from("bea").unwrap();
    let mut odd = house.person.clone();
    odd.user = UserId::try_from("projects").unwrap();
    for (caller, text, on_disk) in [
        (&house.person, "a/x", "projects/default/a/x"),
        (&house.person, "fam://p/x", "projects/p/x"),
        (&house.person, "user://x", "users/default/x"),
        (&house.person, "shared://library/x", "library/x"),
        (&house.person, "shared://templates/x", "templates/x"),
        (&house.person, "system://config/x", "config/x"),
        (&house.person, "system://public/a/x", "public/a/x"),
        (&other, "x", "users/bea/projects/default/x"),
        (&other, "user://x", "users/bea/x"),
        (&other, "shared://library/y", "library/y"),
        (&odd, "user://x", "users/projects/x"),
    ] {
        let uri = house.files.resolve(caller, text).unwrap();
        let bytes = text.as_bytes().to_vec();
        let stat = house.files.write(&uri, bytes, WriteMode::Create).await;
        assert_eq!(stat.unwrap().size, text.len() as u64, "{text}");
        let found = std::fs::read_to_string(house.home().join(on_disk)).unwrap();
        assert_eq!(found, text);
    }
    assert!(!house.home().join("users/projects/default").exists());
}

#[tokio::test]
async fn the_default_project_always_exists() {
    let house = House::new();
    assert!(house.project().is_dir());
    std::fs::remove_dir_all(house.home().join("projects")).unwrap();
    assert_eq!(house.names("user://projects", 1).await, ["default/"]);
    let mut other = house.person.clone();
    other.user = UserId::try_from("bea").unwrap();
    let uri = house.files.resolve(&other, ".").unwrap();
    house.files.stat(&uri).await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn what_is_made_at_the_start_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let house = House::new();
    for folder in [
        "",
        "projects",
        "users/default",
        "library",
        "logs",
        "recycle",
    ] {
        let mode = std::fs::metadata(house.home().join(folder))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700, "{folder}");
    }
}

#[tokio::test]
async fn names_are_found_in_either_unicode_form() {
    let house = House::new();
    house.put("cafe\u{301}/re\u{301}sume\u{301}.md", "old");
    let uri = house.uri("caf\u{e9}/r\u{e9}sum\u{e9}.md");
    assert_eq!(house.files.read_text(&uri, 10).await.unwrap(), "old");
    house
        .files
        .write(&uri, b"new".to_vec(), WriteMode::Replace)
        .await
        .unwrap();
    assert_eq!(house.get("cafe\u{301}/re\u{301}sume\u{301}.md"), "new");
    assert_eq!(
        house.names(".", 2).await,
        ["caf\u{e9}/", "caf\u{e9}/r\u{e9}sum\u{e9}.md"]
    );
}
