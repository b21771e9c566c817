//! Many replies at once, read by a process that does nothing else.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use innkeeper_benches::resources::{open_many, processor, resident};
use innkeeper_benches::{Failed, Table};
use innkeeper_testkit::model_server::{Bench, Format};

use super::server::Server;
use super::sides::{self, Bare, Ours};

pub(crate) const ROLE: &str = "--crowd";

const STREAMS: usize = 1_000;
const RESIDENT_KB: usize = 200 << 10;
/// A model that is quick, and a reply that is long enough for all of them to be under way at once.
const REPLY: Bench = Bench {
    tokens: 250,
    bytes_per_token: 4,
    tokens_per_write: 1,
    pause: Duration::from_millis(20),
};

pub(crate) fn measure(table: &mut Table) -> Result<(), Failed> {
    println!("\n{STREAMS} replies at once, 50 tokens a second each, on two cores");
    let server = Server::start(REPLY)?;
    for format in Format::ALL {
        for who in ["bare", "ours"] {
            let name = sides::name(format);
            let crowd = Command::new(std::env::current_exe()?)
                .args([ROLE, who, server.url(), name])
                .output()?;
            if !crowd.status.success() {
                return Err(String::from_utf8_lossy(&crowd.stderr).trim().into());
            }
            let said = String::from_utf8_lossy(&crowd.stdout).into_owned();
            let numbers: Result<Vec<usize>, _> = said.split_whitespace().map(str::parse).collect();
            let [at_rest, peak, together, cpu_ms] = numbers?[..] else {
                return Err(format!("the crowd said: {said}").into());
            };
            let ours = who == "ours";
            let verdict = match peak <= RESIDENT_KB {
                _ if !ours => String::new(),
                true => format!("  <= {} MB ok", RESIDENT_KB >> 10),
                false => format!("  <= {} MB MISSED", RESIDENT_KB >> 10),
            };
            println!(
                "  {:<28} {:>5.1} MB resident at most, {:>4.1} KB a stream, {together} at once, \
                 {:.2} s of processor time{verdict}",
                format!("{name}, {who}"),
                peak as f64 / 1024.0,
                peak.saturating_sub(at_rest) as f64 / STREAMS as f64,
                cpu_ms as f64 / 1e3,
            );
            if ours && peak > RESIDENT_KB {
                table
                    .missed
                    .push(format!("{STREAMS} streams: {peak} KB resident"));
            }
        }
    }
    Ok(())
}

/// Reads all of them and says what that took.
pub(crate) fn read(args: &[String]) -> Result<(), Failed> {
    let [_, who, url, format] = args else {
        return Err("the crowd wants to know who, where and how".into());
    };
    let format = Format::ALL
        .into_iter()
        .find(|known| sides::name(*known) == format);
    let format = format.ok_or("there is no such format")?;
    open_many()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let bare = match who == "bare" {
            true => Some(Arc::new(Bare::new(url, format).await?)),
            false => None,
        };
        let ours = Arc::new(Ours::new(
            url,
            format,
            REPLY.tokens * REPLY.bytes_per_token,
        )?);
        let at_rest = resident("VmRSS")?;
        let under_way = Arc::new(AtomicUsize::new(0));
        let most = Arc::new(AtomicUsize::new(0));
        let mut all = Vec::with_capacity(STREAMS);
        for _ in 0..STREAMS {
            let (bare, ours) = (bare.clone(), Arc::clone(&ours));
            let (under_way, most) = (Arc::clone(&under_way), Arc::clone(&most));
            all.push(tokio::spawn(async move {
                let heard = || {
                    let now = under_way.fetch_add(1, Ordering::Relaxed) + 1;
                    most.fetch_max(now, Ordering::Relaxed);
                };
                let read = match bare {
                    Some(bare) => bare.read(heard).await,
                    None => ours.read(heard).await,
                };
                under_way.fetch_sub(1, Ordering::Relaxed);
                read
            }));
        }
        for one in all {
            one.await??;
        }
        println!(
            "{at_rest} {} {} {}",
            resident("VmHWM")?,
            most.load(Ordering::Relaxed),
            processor()?.as_millis()
        );
        Ok(())
    })
}
