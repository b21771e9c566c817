//! How things are timed here, and how the result is shown.
//!
//! The best of many runs counts: on a shared machine every disturbance makes a run longer, none shorter.

pub mod model;
pub mod resources;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use innkeeper_sandbox::SandboxOptions;

pub type Failed = Box<dyn std::error::Error>;

/// As the binary has them. Whoever asks begins its `main` with `take_over_if_launcher`.
pub fn sandbox_options() -> std::io::Result<SandboxOptions> {
    let mut options = SandboxOptions::own_binary()?;
    options.launcher_environment = vec![
        ("MIMALLOC_ARENA_EAGER_COMMIT", "0"),
        ("MIMALLOC_ARENA_RESERVE", "0"),
    ];
    Ok(options)
}

/// Measures, and says which bars were missed: `--quick` for few rounds, `--strict` to fail if any was.
pub fn run(
    quick: usize,
    normal: usize,
    measure: impl AsyncFnOnce(&mut Table, usize) -> Result<(), Failed>,
) -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let asked = |name: &str| args.iter().any(|arg| arg == name);
    if asked("--list") || asked("--test") {
        return ExitCode::SUCCESS;
    }
    let rounds = if asked("--quick") { quick } else { normal };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let mut table = Table::default();
    let end = runtime
        .map_err(Failed::from)
        .and_then(|runtime| runtime.block_on(measure(&mut table, rounds)));
    if let Err(error) = end {
        println!("error: {error}");
        return ExitCode::FAILURE;
    }
    println!();
    for missed in &table.missed {
        println!("MISSED {missed}");
    }
    println!("{} bars missed", table.missed.len());
    match asked("--strict") && !table.missed.is_empty() {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

/// How much patience there is for one row.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    pub budget: Duration,
    pub rounds: u32,
}

impl Patience {
    pub const NORMAL: Self = Self {
        budget: Duration::from_millis(150),
        rounds: 200,
    };
    /// For what takes tens of milliseconds a time.
    pub const LONG: Self = Self {
        budget: Duration::from_millis(500),
        rounds: 200,
    };
    pub const QUICK: Self = Self {
        budget: Duration::from_millis(20),
        rounds: 15,
    };

    /// The shortest time one call took, short calls being timed in batches.
    pub fn best<T>(self, mut work: impl FnMut() -> T) -> Duration {
        // The first calls build tables and fill caches; how long a call takes is known after them.
        let warm = Instant::now();
        let mut calls = 0;
        while calls < 1_000 && (calls == 0 || warm.elapsed() < self.budget / 10) {
            black_box(work());
            calls += 1;
        }
        let start = Instant::now();
        black_box(work());
        let first = start.elapsed().max(Duration::from_nanos(20));
        let batch =
            (Duration::from_micros(20).as_nanos() / first.as_nanos()).clamp(1, 10_000) as u32;
        let mut best = first;
        for _ in 0..self.rounds {
            if start.elapsed() > self.budget {
                break;
            }
            let round = Instant::now();
            for _ in 0..batch {
                black_box(work());
            }
            best = best.min(round.elapsed() / batch);
        }
        best
    }
}

/// The time that half of the rounds stay below: what a person meets, not what the machine can do at best.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// What a row was measured against.
#[derive(Debug, Clone, Default)]
pub struct Row {
    pub name: String,
    pub time: Duration,
    pub bytes: usize,
    /// Time of the machine's limit for the same bytes.
    pub limit: Option<Duration>,
    /// Time for twice the bytes, divided by the time for these.
    pub doubling: Option<f64>,
    pub bars: Vec<Bar>,
}

/// What must hold.
#[derive(Debug, Clone, Copy)]
pub enum Bar {
    AtMost(Duration),
    MegabytesPerSecond(f64),
    /// Part of the limit's speed.
    OfLimit(f64),
    Doubling(f64),
}

impl Row {
    pub fn new(name: impl Into<String>, bytes: usize, time: Duration) -> Self {
        Self {
            name: name.into(),
            time,
            bytes,
            ..Self::default()
        }
    }

    pub fn against(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    pub fn doubling(mut self, ratio: Option<f64>) -> Self {
        self.doubling = ratio;
        self
    }

    pub fn bar(mut self, bar: Bar) -> Self {
        self.bars.push(bar);
        self
    }

    fn speed(&self) -> f64 {
        self.bytes as f64 / 1e6 / self.time.as_secs_f64().max(1e-12)
    }

    fn part_of_limit(&self) -> Option<f64> {
        let limit = self.limit?;
        Some(limit.as_secs_f64() / self.time.as_secs_f64().max(1e-12))
    }

    fn meets(&self, bar: Bar) -> bool {
        match bar {
            Bar::AtMost(time) => self.time <= time,
            Bar::MegabytesPerSecond(speed) => self.speed() >= speed,
            Bar::OfLimit(part) => self.part_of_limit().is_none_or(|own| own >= part),
            Bar::Doubling(ratio) => self.doubling.is_none_or(|own| own <= ratio),
        }
    }
}

/// Prints rows as they come and counts the bars that were missed.
#[derive(Debug, Default)]
pub struct Table {
    pub missed: Vec<String>,
}

impl Table {
    pub fn head(&mut self, title: &str) {
        println!("\n{title}");
        println!(
            "  {:<44} {:>11} {:>11} {:>9} {:>9}  bar",
            "", "time", "MB/s", "of limit", "t(2n)/t(n)"
        );
    }

    pub fn row(&mut self, row: &Row) {
        let mut bars = String::new();
        for &bar in &row.bars {
            let verdict = if row.meets(bar) { "ok" } else { "MISSED" };
            if !row.meets(bar) {
                self.missed.push(format!("{}: {}", row.name, shown(bar)));
            }
            bars.push_str(&format!("{} {verdict}  ", shown(bar)));
        }
        println!(
            "  {:<44} {:>11} {:>11} {:>9} {:>9}  {}",
            row.name,
            time(row.time),
            match row.bytes {
                0 => "-".to_owned(),
                _ => format!("{:.0}", row.speed()),
            },
            row.part_of_limit()
                .map_or_else(|| "-".to_owned(), |part| format!("{part:.3}")),
            row.doubling
                .map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
            bars.trim_end()
        );
    }
}

fn shown(bar: Bar) -> String {
    match bar {
        Bar::AtMost(limit) => format!("<= {}", time(limit)),
        Bar::MegabytesPerSecond(speed) => format!(">= {speed:.0} MB/s"),
        Bar::OfLimit(part) => format!(">= {part} of limit"),
        Bar::Doubling(ratio) => format!("x2 <= {ratio}"),
    }
}

fn time(time: Duration) -> String {
    let nanos = time.as_nanos() as f64;
    match nanos {
        n if n < 1e3 => format!("{n:.0} ns"),
        n if n < 1e6 => format!("{:.2} µs", n / 1e3),
        n if n < 1e9 => format!("{:.2} ms", n / 1e6),
        n => format!("{:.2} s", n / 1e9),
    }
}
