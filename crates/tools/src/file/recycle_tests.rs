use super::super::WriteMode;
use super::super::house_tests::House;
use super::*;

#[tokio::test]
async fn what_is_deleted_can_come_back() {
    let house = House::new();
    house.put("a/x", "x");
    house.put("a/b/y", "yy");
    for (path, kind, size) in [("a/x", Kind::File, 1), ("a", Kind::Directory, 2)] {
        let uri = house.uri(path);
        let recycled = house.files.delete(&uri, "agent:tester").await.unwrap();
        assert_eq!((recycled.kind, recycled.size), (kind, Some(size)), "{path}");
        assert_eq!(recycled.by, "agent:tester");
        assert!(house.files.stat(&uri).await.is_err());
    }
    let bin = house.files.recycled(&house.person).await.unwrap();
    let uris: Vec<&str> = bin.iter().map(|recycled| recycled.uri.as_str()).collect();
    assert_eq!(
        uris,
        ["user://projects/default/a", "user://projects/default/a/x"]
    );

    // The newest first makes the folder that the other one was in.
    for recycled in &bin {
        let uri = house
            .files
            .restore(&house.person, recycled.id)
            .await
            .unwrap();
        assert_eq!(uri.to_string(), recycled.uri);
    }
    assert_eq!(house.names(".", 9).await, ["a/", "a/b/", "a/b/y", "a/x"]);
    assert_eq!(
        std::fs::read_dir(house.home().join("recycle"))
            .unwrap()
            .count(),
        0
    );
}

#[tokio::test]
async fn restoring_makes_folders_and_overwrites_nothing() {
    let house = House::new();
    let uri = house.put("a/x", "old");
    let first = house.files.delete(&uri, "me").await.unwrap();
    house.files.delete(&house.uri("a"), "me").await.unwrap();
    house.files.restore(&house.person, first.id).await.unwrap();
    let second = house.files.delete(&uri, "me").await.unwrap();
    house
        .files
        .write(&uri, b"new".to_vec(), WriteMode::Create)
        .await
        .unwrap();
    let error = house
        .files
        .restore(&house.person, second.id)
        .await
        .unwrap_err();
    assert_eq!(error.reason(), "file.exists");
    assert_eq!(house.get("a/x"), "new");
    house.files.delete(&uri, "me").await.unwrap();
    house.files.restore(&house.person, second.id).await.unwrap();
    assert_eq!(house.get("a/x"), "old");
}

#[tokio::test]
async fn what_the_layout_consists_of_stays() {
    let house = House::new();
    for path in [
        ".",
        "user://",
        "user://projects",
        "shared://",
        "shared://library",
        "system://logs",
    ] {
        let error = house
            .files
            .delete(&house.uri(path), "me")
            .await
            .unwrap_err();
        assert_eq!(error.reason(), "file.protected", "{path}");
    }
    let error = house
        .files
        .delete(&house.uri("missing"), "me")
        .await
        .unwrap_err();
    assert_eq!(error.reason(), "file.not_found");
    assert_eq!(
        std::fs::read_dir(house.home().join("recycle"))
            .unwrap()
            .count(),
        0
    );
}

#[tokio::test]
async fn a_bin_shows_each_what_is_theirs() {
    let house = House::new();
    let mut other = house.person.clone();
    other.user = UserId::try_from("bea").unwrap();
    let mut ids = Vec::new();
    for (path, for_other, for_agent) in [
        ("x", false, true),
        ("shared://library/x", true, true),
        ("system://logs/x", true, false),
    ] {
        let uri = house.uri(path);
        house
            .files
            .write(&uri, vec![1], WriteMode::Create)
            .await
            .unwrap();
        let id = house.files.delete(&uri, "me").await.unwrap().id;
        for (caller, sees) in [
            (&house.person, true),
            (&other, for_other),
            (&house.agent, for_agent),
        ] {
            let bin = house.files.recycled(caller).await.unwrap();
            assert_eq!(bin.iter().any(|recycled| recycled.id == id), sees, "{path}");
            if !sees {
                let error = house.files.restore(caller, id).await.unwrap_err();
                assert_eq!(error.reason(), "file.not_recycled");
            }
        }
        ids.push(id);
    }
    assert!(ids.is_sorted());
}

/// Somebody else's program may have written there.
#[tokio::test]
async fn a_forged_description_restores_nothing() {
    let house = House::new();
    let id = house
        .files
        .delete(&house.put("x", "x"), "me")
        .await
        .unwrap()
        .id;
    let info = house.home().join(format!("recycle/{id}/info.json"));
    let good = std::fs::read_to_string(&info).unwrap();
    for (from, to) in [
        ("projects/default/x", "../../x"),
        ("user://projects/default/x", "/tmp/x"),
        ("user://projects/default/x", "x"),
        ("\"default\"", "\"../x\""),
        (
            id.to_string().as_str(),
            "0198a0b8-0000-7000-8000-000000000000",
        ),
        ("{", "["),
    ] {
        std::fs::write(&info, good.replace(from, to)).unwrap();
        assert!(
            house
                .files
                .recycled(&house.person)
                .await
                .unwrap()
                .is_empty(),
            "{to}"
        );
        assert!(
            house.files.restore(&house.person, id).await.is_err(),
            "{to}"
        );
    }
    std::fs::write(&info, good).unwrap();
    house.files.restore(&house.person, id).await.unwrap();
    assert!("../x".parse::<RecycleId>().is_err());
}

#[tokio::test]
async fn purging_goes_by_age() {
    let house = House::new();
    let id = house
        .files
        .delete(&house.put("x", "x"), "me")
        .await
        .unwrap()
        .id;
    std::fs::create_dir(house.home().join("recycle/notes")).unwrap();
    let day = Duration::from_secs(24 * 60 * 60);
    let stop = Stop::new();
    let purge = |days: i64| {
        let now = Timestamp::now() + jiff::SignedDuration::from_hours(24 * days);
        purge(&house.files.0.mounts, 30 * day, 99, now, &stop)
            .unwrap()
            .count
    };
    assert_eq!((purge(-100), purge(29), purge(31)), (0, 0, 1));
    assert!(house.files.restore(&house.person, id).await.is_err());
    assert!(house.home().join("recycle/notes").exists());

    // Without its description, the id tells the age.
    let id = house
        .files
        .delete(&house.put("x", "x"), "me")
        .await
        .unwrap()
        .id;
    std::fs::remove_file(house.home().join(format!("recycle/{id}/info.json"))).unwrap();
    assert_eq!((purge(29), purge(31)), (0, 1));
    house
        .files
        .delete(&house.put("x", "x"), "me")
        .await
        .unwrap();
    assert_eq!(house.files.purge(Duration::ZERO).await.unwrap().count, 1);
}

#[tokio::test]
async fn a_full_bin_loses_nothing_by_itself() {
    let house = House::new();
    let mounts = &house.files.0.mounts;
    let stop = Stop::new();
    let mut ids = Vec::new();
    for name in ["a", "b"] {
        ids.push(
            delete(mounts, &house.put(name, "x"), "me", 2, &stop)
                .unwrap()
                .id,
        );
    }
    let uri = house.put("c", "x");
    let error = delete(mounts, &uri, "me", 2, &stop).unwrap_err();
    assert_eq!(error.reason(), "file.recycle_full");
    assert_eq!(house.get("c"), "x");
    ids.push(delete(mounts, &uri, "me", 3, &stop).unwrap().id);

    let forever = Duration::from_secs(u64::MAX / 4);
    let purged = purge(mounts, forever, 2, Timestamp::now(), &stop).unwrap();
    assert_eq!(purged.count, 1);
    let left = house.files.recycled(&house.person).await.unwrap();
    assert_eq!(
        left.iter().map(|info| info.id).collect::<Vec<_>>(),
        [ids[2], ids[1]]
    );
}
