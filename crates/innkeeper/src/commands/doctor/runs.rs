//! Runs of agents: those that have no end, what is damaged, and who drives them.

use std::io::Write;
use std::sync::Mutex;
use std::time::Instant;

use innkeeper_store::{CheckProgress, CheckReport, Store, StoreError};

use super::house::is_missing;
use super::{Check, State};
use crate::commands::holder::{Holder, holder};
use crate::failure::message;
use crate::home::Home;
use crate::lang::Lang;
use crate::limits::{DOCTOR_TELLS_EVERY, MAX_DOCTOR_DAMAGE};
use crate::output::Screen;

/// Says now and then how far it is, to somebody who waits before a screen.
pub(super) fn progress(screen: &Screen) -> impl Fn(CheckProgress) + Send + Sync + use<> {
    let (shows, lang) = (screen.shows_progress(), screen.lang);
    let told = Mutex::new(Instant::now());
    move |progress| {
        let Ok(mut told) = told.lock() else { return };
        if !shows || told.elapsed() < DOCTOR_TELLS_EVERY {
            return;
        }
        *told = Instant::now();
        let mebibytes = |bytes: u64| bytes / (1024 * 1024);
        let (done, all) = (mebibytes(progress.bytes), mebibytes(progress.of));
        let said = lang.pick(
            format!("comparing contents: {done} of {all} MiB"),
            format!("正在核对内容：{done} / {all} MiB"),
        );
        // Whoever does not listen misses only this.
        let _ = writeln!(std::io::stderr(), "{said}");
    }
}

pub(super) async fn look(
    home: &Home,
    lang: Lang,
    progress: &(dyn Fn(CheckProgress) + Send + Sync),
) -> Check {
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
        let unfinished = store.journal().unfinished().await?;
        let cut = unfinished.iter().filter(|record| record.is_cut).count();
        let report = store.check_telling(progress).await?;
        Ok::<_, StoreError>((unfinished.len() - cut, cut, report))
    };
    let found = found.await;
    // It was only looked at.
    let _ = store.close().await;
    match found {
        Ok((unfinished, cut, report)) => {
            let check = told(unfinished, &report, holder(home), lang);
            cautioned(check, cut, &report, lang)
        }
        Err(error) => Check::fail("runs", message(&error.to_string())),
    }
}

/// With what is known and cannot be mended, but should not be forgotten.
fn cautioned(check: Check, cut: usize, report: &CheckReport, lang: Lang) -> Check {
    if check.state == State::Fail {
        return check;
    }
    let mut said = vec![check.detail.clone()];
    let mut remedies: Vec<String> = check.remedy.iter().cloned().collect();
    if !report.known_losses.is_empty() {
        let count = report.known_losses.len() as u64 + report.more_contents;
        let ids = report.known_losses.iter().take(MAX_DOCTOR_DAMAGE);
        let ids: Vec<&str> = ids.map(|(id, _)| id.as_str()).collect();
        said.push(lang.pick(
            format!("contents that are lost: {count}, {}", ids.join(", ")),
            format!("已丢失的内容：{count} 项，{}", ids.join("、")),
        ));
        let remedy = lang.pick(
            "put them back from a backup, or leave it: only runs that need them are concerned",
            "从备份中放回，或不予理会：只影响需要它们的运行",
        );
        remedies.push(remedy.to_owned());
    }
    if cut > 0 {
        said.push(lang.pick(
            format!(
                "runs that a repair has cut, and whose last steps may have taken effect: {cut}"
            ),
            format!("修复时截断、最后几步可能已经生效的运行：{cut} 次"),
        ));
        let remedy = lang.pick(
            "innkeeper runs resume <run> goes on with one of them, innkeeper runs cancel <run> ends it",
            "innkeeper runs resume <run> 继续其中一次，innkeeper runs cancel <run> 结束它",
        );
        remedies.push(remedy.to_owned());
    }
    match said.len() {
        1 => check,
        _ => Check::warn("runs", message(&said.join("; ")), remedies.join("; ")),
    }
}

fn told(unfinished: usize, report: &CheckReport, holder: Option<Holder>, lang: Lang) -> Check {
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
            let who = match holder.pid {
                Some(pid) => lang.pick(format!("process {pid}"), format!("进程 {pid}")),
                None => lang.pick("another process", "另一个进程").to_owned(),
            };
            Check::ok(
                "runs",
                lang.pick(
                    format!("{who} drives them; without an end yet: {count}"),
                    format!("由{who}驱动；{count} 次尚未结束"),
                ),
            )
        }
        (count, None) => Check::warn(
            "runs",
            lang.pick(
                format!("without an end, and nobody drives them: {count}"),
                format!("{count} 次没有结束，也没有进程在驱动"),
            ),
            lang.pick(
                "innkeeper runs resume --all goes on with them",
                "innkeeper runs resume --all 可以继续",
            ),
        ),
    }
}
