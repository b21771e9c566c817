//! `innkeeper doctor --repair` and what a person meets after it.

use super::home::House;

/// Changes what stands in the database, in all places, without SQLite noticing.
fn damage(house: &House, from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let path = house.path().join("innkeeper.db");
    let mut file = std::fs::read(&path).unwrap();
    let places: Vec<usize> = file
        .windows(from.len())
        .enumerate()
        .filter(|(_, found)| *found == from.as_bytes())
        .map(|(place, _)| place)
        .collect();
    assert!(!places.is_empty(), "{from}");
    for place in places {
        file[place..place + to.len()].copy_from_slice(to.as_bytes());
    }
    std::fs::write(path, file).unwrap();
}

fn check(house: &House, name: &str) -> (String, String) {
    let found = house.run(&["doctor", "--json"]).json();
    let checks = found["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == name).unwrap();
    let text = |key: &str| check[key].as_str().unwrap().to_owned();
    (text("state"), text("detail"))
}

#[test]
fn a_run_that_was_cut_waits_until_somebody_names_it() {
    let house = House::new();
    let run = house.run(&["run", "Roll 2d6+3 for me"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    damage(&house, "\"run_completed\"", "\"run_complexed\"");
    let (state, said) = check(&house, "runs");
    assert_eq!(state, "fail", "{said}");
    let run = house.run(&["runs", "events", "last", "--after", "0"]);
    run.is_refused(1, &["store.corrupt"]);
    let repaired = house.run(&["doctor", "--repair", "--yes"]);
    assert_eq!(repaired.code, Some(0), "{}", repaired.stderr);
    assert!(
        repaired.stdout.contains("would be done again"),
        "{}",
        repaired.stdout
    );

    let (state, said) = check(&house, "runs");
    assert_eq!(state, "warn", "{said}");
    assert!(said.contains("a repair has cut"), "{said}");
    let all = house.run(&["runs", "resume", "--all"]);
    assert_eq!(all.code, Some(1), "{}", all.stderr);
    assert!(
        all.stderr.contains("a repair has cut off the end"),
        "{}",
        all.stderr
    );
    let (state, _) = check(&house, "runs");
    assert_eq!(state, "warn");

    let one = house.run(&["runs", "resume", "last"]);
    assert_eq!(one.code, Some(0), "{}", one.stderr);
    let (state, said) = check(&house, "runs");
    assert_eq!(state, "ok", "{said}");
}

#[test]
fn what_cannot_be_used_is_said() {
    let house = House::new();
    let run = house.run(&["run", "Roll 2d6+3 for me"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let lock = house.path().join("innkeeper.lock");
    std::fs::remove_file(&lock).unwrap();
    std::fs::create_dir(&lock).unwrap();
    let (state, said) = check(&house, "database");
    assert_eq!(state, "fail", "{said}");
    assert!(said.contains("innkeeper.lock"), "{said}");
    std::fs::remove_dir(&lock).unwrap();

    let (state, _) = check(&house, "database");
    assert_eq!(state, "ok");
    house.write("blobs/ab/cd", "x");
    let path = house.path().join("innkeeper.db");
    std::fs::write(&path, "").unwrap();
    let (state, said) = check(&house, "database");
    assert_eq!(state, "fail", "{said}");
    assert!(said.contains("it is empty"), "{said}");
    std::fs::remove_file(&path).unwrap();
    let (state, said) = check(&house, "database");
    assert_eq!(state, "fail", "{said}");
    assert!(said.contains("it is gone"), "{said}");
}
