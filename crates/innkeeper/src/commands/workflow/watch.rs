//! Shows the nodes of a run at work, on standard error: drawn in place on a terminal, line by line elsewhere.

mod board;
mod lines;

use std::io::{self, IsTerminal, Write};
use std::time::Instant;

use innkeeper_engine::{EventBody, ExecutionEvent, ExecutionOutcome, Trace};

use super::progress::{Progress, beginning, short_name, trace_words};
use crate::ask::Asking;
use crate::lang::Lang;
use crate::output::printable;

pub(super) struct Watch {
    progress: Progress,
    began: Instant,
    lang: Lang,
    colours: bool,
    way: Way,
}

enum Way {
    /// So many lines stand on the screen.
    Drawn {
        lines: usize,
    },
    Lines(lines::Lines),
}

impl Watch {
    pub(super) fn new(planned: usize, lang: Lang) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let is_drawn = io::stderr().is_terminal() && !dumb;
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            progress: Progress::new(planned, lang),
            began: Instant::now(),
            lang,
            colours: is_drawn && !plain,
            way: match is_drawn {
                true => Way::Drawn { lines: 0 },
                false => Way::Lines(lines::Lines::default()),
            },
        }
    }

    /// Whether lines are drawn over: then nobody else may write to the terminal meanwhile, save through `above`.
    pub(super) fn is_drawn(&self) -> bool {
        matches!(self.way, Way::Drawn { .. })
    }

    pub(super) fn hear(&mut self, event: &ExecutionEvent) {
        self.progress.hear(event, Instant::now());
        match &mut self.way {
            Way::Lines(lines) => {
                for line in lines.of(event, &self.progress, self.lang) {
                    say(&line);
                }
            }
            Way::Drawn { .. } => {
                if let EventBody::Trace { node, trace } = &event.body
                    && !matches!(trace, Trace::ToolOutput { .. })
                {
                    let words = beginning(&trace_words(trace, self.lang));
                    let line = format!("  {}: {words}", short_name(node));
                    let paint = board::Paint(self.colours);
                    let line = board::fitted(&printable(&line), board::size().0);
                    self.above(|| say(&paint.dim(&line)));
                }
            }
        }
    }

    pub(super) fn lost(&mut self, count: u64) {
        self.progress.lost += count;
    }

    /// Writes what is to stay, above what is drawn over.
    pub(super) fn above<T>(&mut self, write: impl FnOnce() -> T) -> T {
        self.clear();
        write()
    }

    /// `tail`: a line that is not yet whole.
    pub(super) fn draw(&mut self, tail: &str) {
        let Way::Drawn { lines } = &mut self.way else {
            return;
        };
        if Asking::is_under_way() {
            // A question stands below; the next picture begins below its answer.
            *lines = 0;
            return;
        }
        let (width, height) = board::size();
        let mut drawn = board::lines(
            &self.progress,
            &board::View {
                width,
                height,
                now: Instant::now(),
                elapsed: self.began.elapsed(),
                lang: self.lang,
                paint: board::Paint(self.colours),
            },
        );
        if !tail.is_empty() {
            drawn.insert(0, board::end_of(&printable(tail), width));
        }
        let mut out = board::up(*lines);
        for line in &drawn {
            out.push_str(line);
            out.push_str("\u{1b}[K\n");
        }
        out.push_str("\u{1b}[J");
        *lines = drawn.len();
        show(&out);
    }

    fn clear(&mut self) {
        if let Way::Drawn { lines } = &mut self.way
            && *lines > 0
        {
            let mut out = board::up(std::mem::take(lines));
            out.push_str("\u{1b}[J");
            show(&out);
        }
    }

    /// The last picture, and one line for the whole.
    pub(super) fn end(&mut self, outcome: Option<&ExecutionOutcome>) {
        if let Way::Lines(lines) = &mut self.way {
            lines.rest(self.lang).iter().for_each(|line| say(line));
        } else {
            let (width, height) = board::size();
            let drawn = board::lines_of_nodes(
                &self.progress,
                &board::View {
                    width,
                    height,
                    now: Instant::now(),
                    elapsed: self.began.elapsed(),
                    lang: self.lang,
                    paint: board::Paint(self.colours),
                },
            );
            self.above(|| drawn.iter().for_each(|line| say(line)));
        }
        say(&board::last_line(
            &self.progress,
            outcome.map(|outcome| outcome.status),
            self.began.elapsed(),
            self.lang,
            board::Paint(self.colours),
        ));
        if self.progress.lost > 0 {
            let lost = self.progress.lost;
            say(&self.lang.pick(
                format!("  {lost} events came too fast to be shown"),
                format!("  有 {lost} 个事件来得太快，未能显示"),
            ));
        }
    }
}

fn say(line: &str) {
    let mut stderr = io::stderr().lock();
    // Whoever does not listen misses only this.
    let _ = writeln!(stderr, "{line}");
}

fn show(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
