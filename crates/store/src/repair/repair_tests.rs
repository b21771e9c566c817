use std::collections::HashMap;

use sqlx::Connection;

use super::*;
use crate::journal::tests::{begin, last, quiet, record, step};
use crate::journal::{Entry, EventRange};
use crate::store::tests::{behind_its_back, execute, folder};
use crate::{Blob, StoreError};

const RUNS: u64 = 12;
const STEPS: u64 = 30;
const PAGE: usize = 4096;

async fn all_events(store: &Store, run: &str) -> Vec<u64> {
    let all = EventRange::After {
        seq: 0,
        limit: 10_000,
    };
    let events = store.journal().events(&run.into(), all).await.unwrap();
    events.iter().map(|event| event.seq).collect()
}

/// Runs whose steps lie in turns, with two events each; every third is over.
async fn filled(path: &Path) {
    let store = Store::open(path).await.unwrap();
    for run in 0..RUNS {
        begin(&store, &format!("r{run}"), 1).await;
    }
    for turn in 0..STEPS {
        for run in 0..RUNS {
            let first = 2 + turn * 2;
            let mut entry = step(&format!("r{run}"), first..=first + 1);
            entry.blobs = vec![Blob::new(format!("{run} {turn}").into_bytes())];
            entry.snapshot = (turn % 10 == 9).then(|| "{}".into());
            store.journal().append(entry).await.unwrap();
        }
    }
    for run in (0..RUNS).step_by(3) {
        let end = last(&format!("r{run}"), 2 + STEPS * 2);
        store.journal().append(end).await.unwrap();
    }
    store.close().await.unwrap();
}

fn written(run: u64) -> u64 {
    1 + STEPS * 2 + u64::from(run.is_multiple_of(3))
}

/// After a repair: every run is whole up to where the report says, and can go on from there.
async fn holds_what_it_says(path: &Path, report: &RepairReport) -> u64 {
    let store = Store::open(path).await.unwrap();
    let checked = store.check().await.unwrap();
    let sound = checked
        .damage
        .iter()
        .all(|damage| matches!(damage, Damage::Content(_)));
    assert!(sound, "{checked}\nafter\n{report}");
    let said: HashMap<&str, &RunRepair> = report
        .runs
        .iter()
        .map(|repair| (repair.run.as_str(), repair))
        .collect();
    let mut kept = 0;
    for run in 0..RUNS {
        let name = format!("r{run}");
        let events = all_events(&store, &name).await;
        let expected = match said.get(name.as_str()) {
            Some(repair) => repair.kept_events,
            // Where the page is gone that says where a table begins, nobody knows which runs there were.
            None if has_lost_all(report, "runs") => 0,
            None => written(run),
        };
        assert_eq!(
            events,
            (1..=expected).collect::<Vec<_>>(),
            "{name}: {report}"
        );
        kept += expected;
        let found = store.journal().record(&name.as_str().into()).await.unwrap();
        let Some(found) = found else {
            assert_eq!(expected, 0, "{name}: {report}");
            continue;
        };
        assert_eq!(found.last_seq, expected);
        let replay = store.journal().replay(&name.as_str().into()).await.unwrap();
        assert!(replay.is_some());
        match found.terminal_at {
            Some(_) => assert_eq!(expected, written(run)),
            None => {
                let next = step(&name, expected + 1..=expected + 1);
                store.journal().append(next).await.unwrap();
            }
        }
    }
    store.close().await.unwrap();
    kept
}

fn has_lost_all(report: &RepairReport, table: &str) -> bool {
    let mut lost = report.tables.iter();
    lost.any(|lost| lost.table == table && lost.rows_saved == 0)
}

#[tokio::test]
async fn a_sound_database_is_left_alone() {
    let (folder, path) = folder();
    filled(&path).await;
    let report = Store::repair(&path).await.unwrap();
    assert!(report.was_sound(), "{report}");
    assert!(report.to_string().ends_with("is sound"));
    let files = std::fs::read_dir(folder.path()).unwrap();
    let names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    assert!(
        !names
            .iter()
            .any(|name| name.to_string_lossy().contains("repair")),
        "{names:?}"
    );
    holds_what_it_says(&path, &report).await;
    let missing = Store::repair(&folder.path().join("none.db")).await;
    assert_eq!(missing.unwrap_err().code(), "store.cannot_open");
}

#[tokio::test]
async fn a_run_is_cut_where_it_stops_being_what_was_written() {
    let mine = "run = (SELECT no FROM runs WHERE id = 'r1')";
    let whole = written(1);
    let (_folder, original) = folder();
    filled(&original).await;
    for (sql, kept, said) in [
        (
            format!(
                "UPDATE journal SET lines = substr(lines, 1, 9) WHERE {mine} AND after_seq = 31"
            ),
            31,
            "is not what was written",
        ),
        (
            format!("UPDATE journal SET input = 'x' WHERE {mine} AND after_seq = 59"),
            59,
            "is not what was written",
        ),
        (
            format!("DELETE FROM journal WHERE {mine} AND after_seq = 41"),
            41,
            "after event 41 is missing",
        ),
        (
            format!("DELETE FROM journal WHERE {mine} AND after_seq >= 51"),
            51,
            "after event 51 is missing",
        ),
        (
            format!("UPDATE journal SET lines = '' WHERE {mine} AND after_seq = 0"),
            0,
            "nothing of it is left",
        ),
        (
            format!("DELETE FROM journal WHERE {mine}"),
            0,
            "its journal is gone",
        ),
        (
            format!("UPDATE run_states SET last_seq = 7 WHERE {mine}"),
            whole,
            "did not agree",
        ),
        (
            format!("DELETE FROM run_states WHERE {mine}"),
            whole,
            "did not agree",
        ),
        (
            "DELETE FROM runs WHERE id = 'r1'".to_owned(),
            whole,
            "did not agree",
        ),
        (
            "UPDATE runs SET record = '{' WHERE id = 'r1'".to_owned(),
            whole,
            "did not agree",
        ),
        (
            format!("UPDATE snapshots SET state = 'x' WHERE {mine}"),
            whole,
            "snapshot",
        ),
    ] {
        let (_folder, path) = folder();
        std::fs::copy(&original, &path).unwrap();
        let mut other = behind_its_back(&path).await;
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql.clone()))
            .execute(&mut other)
            .await
            .unwrap();
        other.close().await.unwrap();
        let store = Store::open(&path).await.unwrap();
        let checked = store.check().await.unwrap();
        store.close().await.unwrap();
        let report = Store::repair(&path).await.unwrap();
        let found: Vec<_> = report.runs.iter().cloned().map(Damage::Run).collect();
        assert_eq!(checked.damage, found, "{sql}");
        assert_eq!(report.runs.len(), 1, "{sql}: {report}");
        assert_eq!(report.runs[0].run.as_str(), "r1", "{sql}");
        assert_eq!(report.runs[0].kept_events, kept, "{sql}: {report}");
        assert_eq!(report.runs[0].lost_events, whole - kept, "{sql}: {report}");
        assert!(report.to_string().contains(said), "{sql}: {report}");
        assert!(!report.was_salvaged);
        // As it was.
        let aside = report.kept_aside.clone().unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&aside).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0);
        }
        let aside = Store::open(&aside).await.unwrap();
        assert_eq!(aside.check().await.unwrap().damage, found, "{sql}");
        aside.close().await.unwrap();
        holds_what_it_says(&path, &report).await;
        assert!(Store::repair(&path).await.unwrap().was_sound());
    }
}

/// Opening says yes or "damaged"; it never panics.
async fn opens_or_says_damaged(path: &Path) {
    match Store::open(path).await {
        Ok(store) => drop(store.close().await),
        Err(StoreError::Corrupt { cause, .. }) => assert!(!cause.is_empty()),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn what_can_be_read_of_a_torn_file_is_saved() {
    let (_folder, original) = folder();
    filled(&original).await;
    let whole = std::fs::read(&original).unwrap();
    let pages = whole.len() / PAGE;
    assert!(pages > 60, "{pages}");
    let total: u64 = (0..RUNS).map(written).sum();
    type Tear = Box<dyn Fn(&mut Vec<u8>)>;
    let cut = |bytes: usize| -> Tear { Box::new(move |file| file.truncate(file.len() - bytes)) };
    let overwrite = |page: usize, byte: u8| -> Tear {
        Box::new(move |file| file[page * PAGE..(page + 1) * PAGE].fill(byte))
    };
    let mut tears: Vec<(String, Tear)> = vec![
        ("the last page".to_owned(), cut(PAGE)),
        ("five pages".to_owned(), cut(5 * PAGE)),
        ("half a page".to_owned(), cut(PAGE / 2)),
        // As much as leaves the first page of every table, empty ones too: without them SQLite reads none.
        ("two fifths of it".to_owned(), cut(pages * 2 / 5 * PAGE)),
    ];
    for page in (1..pages - 1).step_by(11) {
        tears.push((format!("page {page}"), overwrite(page, 0x5a)));
        tears.push((format!("zeros at {page}"), overwrite(page + 1, 0)));
    }
    let mut kept_in_all = 0;
    let count = tears.len() as u64;
    for (name, tear) in tears {
        let (_folder, path) = folder();
        let mut torn = whole.clone();
        tear(&mut torn);
        std::fs::write(&path, &torn).unwrap();
        opens_or_says_damaged(&path).await;
        std::fs::write(&path, &torn).unwrap();
        let report = Store::repair(&path).await.unwrap();
        if let Some(aside) = &report.kept_aside {
            if report.was_salvaged {
                assert!(std::fs::read(aside).unwrap() == torn, "{name}: {report}");
            }
            assert!(report.to_string().contains(&aside.display().to_string()));
        }
        let kept = holds_what_it_says(&path, &report).await;
        if name == "the last page" || name == "half a page" {
            assert!(
                kept * 10 >= total * 9,
                "{name}: {kept} of {total}: {report}"
            );
        }
        kept_in_all += kept;
    }
    // One page less is not one run less: most of it is saved.
    assert!(
        kept_in_all * 10 >= total * count * 5,
        "{kept_in_all} of {}",
        total * count
    );
}

#[tokio::test]
async fn of_a_file_without_a_beginning_nothing_is_left_but_the_file() {
    let (_folder, path) = folder();
    filled(&path).await;
    let mut torn = std::fs::read(&path).unwrap();
    torn[..PAGE].fill(0x5a);
    std::fs::write(&path, &torn).unwrap();
    let report = Store::repair(&path).await.unwrap();
    assert!(report.was_salvaged);
    let lost: Vec<_> = report
        .tables
        .iter()
        .map(|lost| lost.table.as_str())
        .collect();
    assert!(
        lost.contains(&"journal") && lost.contains(&"audit"),
        "{report}"
    );
    assert!(std::fs::read(report.kept_aside.unwrap()).unwrap() == torn);
    let store = Store::open(&path).await.unwrap();
    assert!(store.check().await.unwrap().is_sound());
    begin(&store, "new", 1).await;
}

#[tokio::test]
async fn a_torn_log_of_what_was_written_last_is_simply_opened() {
    let (folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    begin(&store, "r", 1).await;
    let mut ends = Vec::new();
    let log = |path: &Path| path.with_file_name("innkeeper.db-wal");
    for seq in 2..=40 {
        store.journal().append(step("r", seq..=seq)).await.unwrap();
        ends.push((seq, std::fs::metadata(log(&path)).unwrap().len()));
    }
    let file = std::fs::read(&path).unwrap();
    let whole = std::fs::read(log(&path)).unwrap();
    for length in [
        whole.len() - 1,
        whole.len() - 2_000,
        whole.len() / 2,
        whole.len() / 3 + 17,
        40,
    ] {
        let torn = folder.path().join(format!("torn-{length}"));
        std::fs::create_dir(&torn).unwrap();
        let torn = torn.join("innkeeper.db");
        std::fs::write(&torn, &file).unwrap();
        std::fs::write(log(&torn), &whole[..length]).unwrap();
        let opened = Store::open(&torn).await.unwrap();
        assert!(opened.check().await.unwrap().is_sound());
        let events = all_events(&opened, "r").await;
        let whole_steps = ends.iter().filter(|(_, end)| *end <= length as u64);
        if let Some((seq, _)) = whole_steps.max() {
            assert_eq!(events, (1..=*seq).collect::<Vec<_>>(), "{length}");
            let next = step("r", seq + 1..=seq + 1);
            opened.journal().append(next).await.unwrap();
        }
        opened.close().await.unwrap();
    }
}

#[tokio::test]
async fn missing_contents_are_named() {
    let (folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let large = Blob::new(vec![1; 100_000]);
    let entry = Entry {
        blobs: vec![large.clone(), Blob::new(*b"small")],
        ..quiet("r", "x")
    };
    store
        .journal()
        .create(record("r"), step("r", 1..=1))
        .await
        .unwrap();
    store.journal().append(entry).await.unwrap();
    let (start, rest) = large.id.as_str().split_at(2);
    std::fs::remove_file(folder.path().join("blobs").join(start).join(rest)).unwrap();
    let sql = "UPDATE blobs SET content = x'00' WHERE content IS NOT NULL";
    execute(&mut behind_its_back(&path).await, sql).await;
    let checked = store.check().await.unwrap();
    assert_eq!(checked.damage.len(), 2, "{checked}");
    assert!(checked.to_string().contains(large.id.as_str()), "{checked}");
    store.close().await.unwrap();
    let report = Store::repair(&path).await.unwrap();
    assert_eq!(report.contents.len(), 2, "{report}");
    assert!(!report.was_sound());
    assert_eq!(report.kept_aside, None);
    assert!(
        report.to_string().contains("contents are missing"),
        "{report}"
    );
    // From now on it is known, and no reason to repair again.
    let store = Store::open(&path).await.unwrap();
    let checked = store.check().await.unwrap();
    assert!(checked.is_sound(), "{checked}");
    assert_eq!(checked.known_losses.len(), 2);
    // Brought again, it is there again.
    let again = Entry {
        blobs: vec![large.clone()],
        ..quiet("r", "y")
    };
    store.journal().append(again).await.unwrap();
    assert_eq!(store.check().await.unwrap().known_losses.len(), 1);
    store.close().await.unwrap();
    assert_eq!(Store::repair(&path).await.unwrap().contents.len(), 1);
}

#[tokio::test]
async fn a_large_content_is_compared_with_its_name() {
    let (folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let large = Blob::new(vec![1; 100_000]);
    store
        .contents()
        .put(vec![large.clone()], Vec::new())
        .await
        .unwrap();
    let (start, rest) = large.id.as_str().split_at(2);
    let file = folder.path().join("blobs").join(start).join(rest);
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[10] = 2;
    std::fs::write(&file, bytes).unwrap();
    let seen = std::sync::Mutex::new(Vec::new());
    let told = |progress: CheckProgress| seen.lock().unwrap().push(progress);
    let checked = store.check_telling(&told).await.unwrap();
    let progress = CheckProgress {
        bytes: 100_000,
        of: 100_000,
    };
    assert_eq!(*seen.lock().unwrap(), [progress]);
    assert!(checked.to_string().contains("was changed"), "{checked}");
}

#[tokio::test]
async fn contents_that_somebody_needs_are_missed() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let (one, two) = (Blob::new(*b"one"), Blob::new(*b"two"));
    let file = crate::TreeFile {
        sha256: two.id.clone(),
        bytes: 3,
    };
    let tree = crate::Tree([("a".to_owned(), file)].into());
    begin(&store, "r", 1).await;
    store
        .contents()
        .put(vec![two.clone()], Vec::new())
        .await
        .unwrap();
    let entry = Entry {
        blobs: vec![one.clone()],
        trees: vec![tree],
        ..step("r", 2..=2)
    };
    store.journal().append(entry).await.unwrap();
    assert!(store.check().await.unwrap().is_sound());
    let sql = "DELETE FROM blobs WHERE is_tree = 0";
    execute(&mut behind_its_back(&path).await, sql).await;
    let checked = store.check().await.unwrap();
    let said = checked.to_string();
    assert_eq!(checked.damage.len(), 2, "{said}");
    assert!(said.contains(one.id.as_str()), "{said}");
    assert!(said.contains("run 'r' needs it"), "{said}");
    assert!(said.contains(two.id.as_str()), "{said}");
    assert!(said.contains("a tree of files needs it"), "{said}");
    store.close().await.unwrap();
    assert_eq!(Store::repair(&path).await.unwrap().contents.len(), 2);
}

#[tokio::test]
async fn a_run_that_was_cut_says_so_until_somebody_goes_on_with_it() {
    let (_folder, path) = folder();
    filled(&path).await;
    let sql = "UPDATE journal SET lines = 'x' WHERE after_seq = 31 AND run IN (1, 2);
        UPDATE run_states SET status = 'failed' WHERE run = 3";
    execute(&mut behind_its_back(&path).await, sql).await;
    let report = Store::repair(&path).await.unwrap();
    let said = report.to_string();
    assert!(
        said.contains("(29 of them can still be read in the copy)"),
        "{said}"
    );
    assert!(said.contains("would be done again"), "{said}");
    assert!(said.contains("'innkeeper runs resume r1'"), "{said}");
    let store = Store::open(&path).await.unwrap();
    let journal = store.journal();
    let cut = async || -> Vec<String> {
        let unfinished = journal.unfinished().await.unwrap();
        let cut = unfinished.iter().filter(|record| record.is_cut);
        cut.map(|record| record.run_id.as_str().to_owned())
            .collect()
    };
    // r0 was over before; r2 lost nothing.
    assert_eq!(cut().await, ["r0", "r1"]);
    assert!(
        journal
            .replay(&"r1".into())
            .await
            .unwrap()
            .unwrap()
            .record
            .is_cut
    );
    assert!(store.check().await.unwrap().is_sound());
    journal.append(step("r1", 32..=32)).await.unwrap();
    assert_eq!(cut().await, ["r0"]);
    journal.delete(&"r0".into()).await.unwrap();
    assert_eq!(cut().await, Vec::<String>::new());
    store.close().await.unwrap();
}

#[tokio::test]
async fn tables_and_numbers_that_do_not_fit_are_mended() {
    let (_folder, original) = folder();
    filled(&original).await;
    let newest = {
        let mut other = behind_its_back(&original).await;
        let row = sqlx::query("PRAGMA user_version")
            .fetch_one(&mut other)
            .await;
        row.unwrap().get::<i64, _>(0)
    };
    for (sql, refused, said) in [
        (
            "DROP TABLE control",
            "table 'control' is missing",
            Some("control"),
        ),
        (
            "DROP TABLE snapshots",
            "table 'snapshots' is missing",
            Some("snapshots"),
        ),
        (
            "DROP TABLE open_calls",
            "table 'open_calls' is missing",
            Some("open_calls"),
        ),
        (
            "PRAGMA user_version = 0",
            "of version 0, but there is the table 'audit'",
            None,
        ),
        (
            "PRAGMA user_version = -1",
            "of version -1, but there is the table 'audit'",
            None,
        ),
        (
            "PRAGMA user_version = 3",
            "of version 3, but there is the table 'runs'",
            None,
        ),
    ] {
        let (_folder, path) = folder();
        std::fs::copy(&original, &path).unwrap();
        execute(&mut behind_its_back(&path).await, sql).await;
        let Err(error) = Store::open(&path).await else {
            panic!("{sql}: opened");
        };
        assert_eq!(error.code(), "store.corrupt", "{sql}: {error}");
        assert!(error.to_string().contains(refused), "{sql}: {error}");
        let report = Store::repair(&path).await.unwrap();
        let lost: Vec<_> = report
            .tables
            .iter()
            .map(|lost| lost.table.as_str())
            .collect();
        assert_eq!(lost, said.into_iter().collect::<Vec<_>>(), "{report}");
        assert!(report.kept_aside.is_some());
        holds_what_it_says(&path, &report).await;
        let mut other = behind_its_back(&path).await;
        let row = sqlx::query("PRAGMA user_version")
            .fetch_one(&mut other)
            .await;
        assert_eq!(row.unwrap().get::<i64, _>(0), newest);
    }
}

#[tokio::test]
async fn a_database_that_was_emptied_is_no_new_one() {
    let (folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let large = Blob::new(vec![1; 100_000]);
    store.contents().put(vec![large], Vec::new()).await.unwrap();
    store.close().await.unwrap();
    std::fs::write(&path, "").unwrap();
    let Err(error) = Store::open(&path).await else {
        panic!("opened");
    };
    assert!(error.to_string().contains("it is empty"), "{error}");
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
    let report = Store::repair(&path).await.unwrap();
    assert!(report.to_string().contains("table 'journal'"), "{report}");
    Store::open(&path).await.unwrap().close().await.unwrap();
    // Without contents it is only one that was never filled.
    let fresh = folder.path().join("fresh");
    std::fs::create_dir(&fresh).unwrap();
    std::fs::write(fresh.join("innkeeper.db"), "").unwrap();
    Store::open(&fresh.join("innkeeper.db")).await.unwrap();
}

#[test]
fn what_stands_in_the_file_cannot_rewrite_the_screen() {
    let repair = RunRepair {
        run: "run_\u{1b}[31mX\nrun".into(),
        what: "a\u{7}".to_owned(),
        kept_events: 1,
        lost_events: 2,
        readable_events: 0,
        is_cut: true,
    };
    let mut report = RepairReport::new(Path::new("x"));
    report.runs = vec![repair.clone()];
    for said in [Damage::Run(repair).to_string(), report.to_string()] {
        let controls = said.chars().filter(|c| c.is_control() && *c != '\n');
        assert_eq!(controls.count(), 0, "{said:?}");
        assert!(said.contains(r"run_\u{1b}[31mX\u{a}run"), "{said:?}");
    }
}

#[tokio::test]
async fn nothing_is_repaired_under_somebody_s_hands() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let lock = store.claim_home().await.unwrap();
    let refused = Store::repair(&path).await.unwrap_err();
    assert_eq!(refused.code(), "store.in_use");
    drop(lock);
}
