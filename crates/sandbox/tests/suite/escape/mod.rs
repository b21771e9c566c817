//! Programs that want out. A table each: policy, attempt, and the only reasons for which it may have failed.
//! `INNKEEPER_SHOW=1` prints what became of each.

mod bombs;
mod files;
mod kernel;
mod network;
mod other_languages;
mod processes;
mod workspace;

/// A table as a test of its own, run for everybody.
macro_rules! table {
    ($test:ident, $rows:expr) => {
        #[test]
        fn $test() {
            let path = concat!(module_path!(), "::", stringify!($test));
            let (_, path) = path.split_once("::").unwrap();
            $crate::suite::harness::as_everybody(path, $crate::suite::harness::run_rows(&$rows));
        }
    };
}
pub(crate) use table;

use super::harness::{Policy, Scene, judge, row, sandbox};

/// What a filter says, and what the kernel says to those who have no rights.
const DENIED: &[&str] = &["EPERM", "ENOSYS"];

/// The suite can fail: an attempt that is let through is seen, by what it says and from outside.
#[tokio::test]
async fn the_judge_sees_an_escape() {
    let attempts = [
        ("files", "read_secrets_toml", false),
        ("files", "list_home", false),
        ("files", "other_plugin_write", true),
        ("processes", "standard_streams", false),
    ];
    for (file, attempt, harmful) in attempts {
        let scene = Scene::new();
        let row = row(file, attempt, Policy::Plugin, &["ENOENT"]);
        let mut job = row.job(&scene).unwrap();
        job.policy.read.push(scene.home.clone());
        job.policy.write.push(scene.other.clone());
        let outcome = sandbox().run(job).await.unwrap();
        let verdict = judge(&outcome, row.expect).to_string();
        assert!(verdict.starts_with("FAILED"), "{attempt}: {verdict}");
        assert_eq!(!scene.harm().is_empty(), harmful, "{attempt}");
    }
}
