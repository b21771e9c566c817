//! The picture of a run: one line for each node, folded to what a screen holds, as wide as its letters really are.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use innkeeper_engine::ExecutionStatus;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::commands::workflow::progress::{Progress, Row, State, Totals, skip_words};
use crate::lang::Lang;
use crate::limits::MAX_WATCHED_LINES;
use crate::output::printable;

/// Columns of a progress bar.
const BAR: usize = 12;
/// Names are cut to this, so that what follows stands in one column.
const MAX_NAME: usize = 36;

pub(super) struct View {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) now: Instant,
    pub(super) elapsed: Duration,
    pub(super) lang: Lang,
    pub(super) paint: Paint,
}

/// Colours, if they are wanted.
#[derive(Clone, Copy)]
pub(super) struct Paint(pub(super) bool);

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        match self.0 && !text.is_empty() {
            true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    fn of(self, state: &State, text: &str) -> String {
        self.with(
            match state {
                State::Running => "36",
                State::Waiting(_) => "33",
                State::Done => "32",
                State::Cached | State::Skipped(_) | State::Bypassed => "2",
                State::Failed(_) => "31",
            },
            text,
        )
    }
}

/// Columns and rows of the terminal.
pub(super) fn size() -> (usize, usize) {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or((80, 24), |(width, height)| {
        (usize::from(width.0).max(20), usize::from(height.0).max(6))
    })
}

/// Back to where the last picture began.
pub(super) fn up(lines: usize) -> String {
    match lines {
        0 => "\r".to_owned(),
        lines => format!("\r\u{1b}[{lines}A"),
    }
}

pub(super) fn lines(progress: &Progress, view: &View) -> Vec<String> {
    let mut lines = lines_of_nodes(progress, view);
    let running = progress
        .rows()
        .iter()
        .filter(|row| row.state.is_under_way());
    let running = running.count();
    let waiting = progress.planned.saturating_sub(progress.rows().len());
    let mut said = view.lang.pick(
        format!("{running} running, {waiting} waiting"),
        format!("{running} 运行中，{waiting} 等待"),
    );
    let ended = progress.totals.words(view.lang);
    if !ended.is_empty() {
        let _ = write!(said, "{}{ended}", view.lang.pick(", ", "，"));
    }
    let _ = write!(said, " · {}", duration(view.elapsed));
    lines.push(view.paint.dim(&fitted(&said, view.width)));
    lines
}

pub(super) fn lines_of_nodes(progress: &Progress, view: &View) -> Vec<String> {
    let room = MAX_WATCHED_LINES.min(view.height.saturating_sub(3)).max(2);
    let (shown, folded) = chosen(progress.rows(), room);
    let widest = shown.iter().map(|row| named(row, MAX_NAME).width()).max();
    let column = widest.unwrap_or_default().min(MAX_NAME).min(view.width / 2);
    let mut lines = Vec::with_capacity(room + 1);
    if folded.ended() > 0 {
        let words = folded.words(view.lang);
        let said = view
            .lang
            .pick(format!("… {words} before"), format!("… 之前：{words}"));
        lines.push(view.paint.dim(&fitted(&said, view.width)));
    }
    lines.extend(shown.iter().map(|row| line(row, column, view)));
    lines
}

/// Those under way come first to their place, then those that failed, then the youngest; the rest is counted.
fn chosen(rows: &[Row], room: usize) -> (Vec<&Row>, Totals) {
    let mut folded = Totals::default();
    if rows.len() <= room {
        return (rows.iter().collect(), folded);
    }
    let rank = |row: &Row| match row.state {
        State::Running | State::Waiting(_) => 0,
        State::Failed(_) => 1,
        _ => 2,
    };
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|at| (rows.get(*at).map(rank), std::cmp::Reverse(*at)));
    // One line is for the count.
    let mut kept: Vec<usize> = order.iter().copied().take(room - 1).collect();
    for row in order.iter().skip(room - 1).filter_map(|at| rows.get(*at)) {
        folded.add(&row.state);
    }
    kept.sort_unstable();
    (kept.iter().filter_map(|at| rows.get(*at)).collect(), folded)
}

fn line(row: &Row, column: usize, view: &View) -> String {
    let sign = match row.state {
        State::Running => spinner(view.elapsed),
        State::Waiting(_) => '↻',
        State::Done => '✓',
        State::Cached => '≡',
        State::Skipped(_) => '–',
        State::Bypassed => '⇢',
        State::Failed(_) => '✗',
    };
    let name = named(row, column);
    let blanks = " ".repeat(column.saturating_sub(name.width()));
    let left = view.width.saturating_sub(column + 4);
    let about = fitted(&about(row, view), left);
    let sign = view.paint.of(&row.state, &sign.to_string());
    let about = match row.state {
        State::Failed(_) => view.paint.of(&row.state, &about),
        _ => view.paint.dim(&about),
    };
    format!("{sign} {name}{blanks}  {about}")
        .trim_end()
        .to_owned()
}

/// How often it ran stands behind the name, however long that is.
fn named(row: &Row, room: usize) -> String {
    let name = printable(&row.name).replace(['\n', '\t'], " ");
    let times = match row.times {
        0 | 1 => String::new(),
        times => format!(" ×{times}"),
    };
    let left = room.saturating_sub(times.width());
    fitted(&format!("{}{times}", fitted(&name, left)), room)
}

fn about(row: &Row, view: &View) -> String {
    let lang = view.lang;
    let mut parts: Vec<String> = Vec::new();
    if row.iterations > 0 {
        let iterations = row.iterations;
        parts.push(lang.pick(
            format!("iteration {iterations}"),
            format!("第 {iterations} 次"),
        ));
    }
    match &row.state {
        State::Failed(why) => parts.push(why.clone()),
        State::Waiting(why) => parts.push(format!("{}: {why}", row.state.word(lang))),
        State::Skipped(why) => parts.push(skip_words(*why, lang).to_owned()),
        State::Cached | State::Bypassed => parts.push(row.state.word(lang).to_owned()),
        State::Running => {
            if let Some((value, max)) = row.progress {
                parts.push(bar(value, max));
            }
            let spent = view.now.saturating_duration_since(row.began);
            parts.push(duration(spent));
        }
        State::Done => parts.extend(row.took.map(duration)),
    }
    let is_current = matches!(row.state, State::Running | State::Done);
    if row.chunks > 0 && is_current {
        let chunks = row.chunks;
        parts.push(lang.pick(format!("chunks: {chunks}"), format!("片段 {chunks}")));
    }
    if !row.preview.is_empty() && is_current {
        parts.push(row.preview.clone());
    }
    printable(&parts.join(" · ")).replace(['\n', '\t'], " ")
}

/// One line for the whole run.
pub(super) fn last_line(
    progress: &Progress,
    status: Option<ExecutionStatus>,
    elapsed: Duration,
    lang: Lang,
    paint: Paint,
) -> String {
    let (word, state) = match status {
        Some(ExecutionStatus::Complete) => (lang.pick("complete", "完成"), State::Done),
        Some(ExecutionStatus::Error) => (lang.pick("failed", "失败"), State::Failed(String::new())),
        _ => (
            lang.pick("stopped", "已停止"),
            State::Waiting(String::new()),
        ),
    };
    let mut said = format!("{} · {}", paint.of(&state, word), duration(elapsed));
    let words = progress.totals.words(lang);
    if !words.is_empty() {
        let _ = write!(said, " · {words}");
    }
    said
}

fn spinner(elapsed: Duration) -> char {
    const TURNS: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
    let turn = (elapsed.as_millis() / 100) as usize % TURNS.len();
    TURNS.get(turn).copied().unwrap_or('·')
}

/// From 0 to 1; nothing if there is no telling.
pub(super) fn share(value: f64, max: f64) -> Option<f64> {
    (value.is_finite() && max.is_finite() && max > 0.0).then(|| (value / max).clamp(0.0, 1.0))
}

fn bar(value: f64, max: f64) -> String {
    let Some(share) = share(value, max) else {
        return format!("{value}");
    };
    let full = (share * BAR as f64).round() as usize;
    let rest = BAR.saturating_sub(full);
    let percent = share * 100.0;
    format!("{}{} {percent:.0}%", "█".repeat(full), "░".repeat(rest))
}

pub(super) fn duration(time: Duration) -> String {
    match time.as_millis() {
        0..1_000 => format!("{} ms", time.as_millis()),
        1_000..60_000 => format!("{:.1} s", time.as_secs_f64()),
        _ => format!("{} min {} s", time.as_secs() / 60, time.as_secs() % 60),
    }
}

/// The beginning of a text that is too wide.
pub(super) fn fitted(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let wide = c.width().unwrap_or_default();
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        out.push(c);
    }
    out.push('…');
    out
}

/// The end of a text that is too wide.
pub(super) fn end_of(text: &str, width: usize) -> String {
    let text = text.replace(['\n', '\t'], " ");
    if text.width() <= width {
        return text;
    }
    let mut used = 1;
    let mut start = text.len();
    for (at, c) in text.char_indices().rev() {
        used += c.width().unwrap_or_default();
        if used > width {
            break;
        }
        start = at;
    }
    format!("…{}", text.get(start..).unwrap_or_default())
}
