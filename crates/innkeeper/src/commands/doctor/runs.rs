//! Runs of agents: those that have no end, what is damaged, and who drives them.

use innkeeper_store::{CheckReport, HomeLock, Store, StoreError};

use super::Check;
use super::house::is_missing;
use crate::failure::message;
use crate::home::Home;
use crate::lang::Lang;
use crate::limits::MAX_DOCTOR_DAMAGE;

pub(super) async fn look(home: &Home, lang: Lang) -> Check {
    let path = home.file("innkeeper.db");
    if is_missing(&path) {
        return Check::ok("runs", lang.pick("none yet", "还没有"));
    }
    let store = match Store::open(&path).await {
        Ok(store) => store,
        Err(error) => {
            let said = message(&error.to_string());
            return Check::fail("runs", said);
        }
    };
    let found = async {
        let unfinished = store.journal().unfinished().await?.len();
        Ok::<_, StoreError>((unfinished, store.check().await?))
    };
    let found = found.await;
    // It was only looked at.
    let _ = store.close().await;
    match found {
        Ok((unfinished, report)) => told(unfinished, &report, holder(home).await, lang),
        Err(error) => Check::fail("runs", message(&error.to_string())),
    }
}

/// Who drives the runs of this home.
async fn holder(home: &Home) -> Option<StoreError> {
    // Where there is no such file, nobody has ever driven one, and nothing is to be made here.
    if is_missing(&home.file("innkeeper.lock")) {
        return None;
    }
    match HomeLock::claim(home.path()).await {
        Err(error @ StoreError::InUse { .. }) => Some(error),
        Ok(_) | Err(_) => None,
    }
}

fn told(unfinished: usize, report: &CheckReport, holder: Option<StoreError>, lang: Lang) -> Check {
    if !report.is_sound() {
        let shown: Vec<String> = report
            .damage
            .iter()
            .take(MAX_DOCTOR_DAMAGE)
            .map(ToString::to_string)
            .collect();
        let more = report.damage.len().saturating_sub(shown.len());
        let mut said = lang.pick(
            format!("damaged: {}", shown.join("; ")),
            format!("有损坏：{}", shown.join("；")),
        );
        if more > 0 {
            said.push_str(&lang.pick(format!("; and {more} more"), format!("；另有 {more} 处")));
        }
        let remedy = "innkeeper doctor --repair".to_owned();
        return Check {
            remedy: Some(remedy),
            ..Check::fail("runs", message(&said))
        };
    }
    match (unfinished, holder) {
        (0, None) => Check::ok("runs", lang.pick("all are over", "全部已结束")),
        (count, Some(holder)) => {
            let who = match holder {
                StoreError::InUse { pid: Some(pid), .. } => {
                    lang.pick(format!("process {pid}"), format!("进程 {pid}"))
                }
                _ => lang.pick("another process", "另一个进程").to_owned(),
            };
            Check::ok(
                "runs",
                lang.pick(
                    format!("{who} drives them; {count} have no end yet"),
                    format!("由{who}驱动；{count} 次尚未结束"),
                ),
            )
        }
        (count, None) => Check::warn(
            "runs",
            lang.pick(
                format!("{count} have no end, and nobody drives them"),
                format!("{count} 次没有结束，也没有进程在驱动"),
            ),
            lang.pick(
                "innkeeper runs resume --all goes on with them",
                "innkeeper runs resume --all 可以继续",
            ),
        ),
    }
}
