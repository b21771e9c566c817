//! Asking servers which models they have: all at once, with signs of life, and not longer than anybody wants to wait.

use std::io::Write;
use std::pin::pin;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use innkeeper_models::{Channel, ListedModel};
use tokio::time::Instant;

use crate::failure::{Failure, Said, shown};
use crate::limits::{PROGRESS_EVERY, REMOTE_WAIT};
use crate::output::{Screen, printable};
use crate::runtime::{Stop, block_on};

/// What a server said, or why it did not.
pub(super) type Listed = Result<Vec<ListedModel>, Said>;

/// What came of all, in the order of the channels.
pub(super) struct Answers {
    /// Nothing of those that were not asked.
    pub(super) lists: Vec<Option<Listed>>,
    /// Somebody did not want to wait any longer.
    pub(super) interrupted: bool,
}

/// Whoever is disabled or lacks something is not asked.
pub(super) fn ask(channels: &[Arc<Channel>], screen: &Screen) -> Result<Answers, Failure> {
    block_on(async {
        let stop = Stop::default();
        stop.listen();
        let mut answers = Answers {
            lists: channels.iter().map(|_| None).collect(),
            interrupted: false,
        };
        let mut asked: FuturesUnordered<_> = channels
            .iter()
            .enumerate()
            .filter(|(_, channel)| is_asked(channel))
            .map(|(number, channel)| async move { (number, channel.list_models().await) })
            .collect();
        let mut waiting: Vec<usize> = (0..channels.len())
            .filter(|number| channels.get(*number).is_some_and(is_asked))
            .collect();
        let began = Instant::now();
        let mut over = pin!(tokio::time::sleep(REMOTE_WAIT));
        let mut ticks = tokio::time::interval(PROGRESS_EVERY);
        // The first tick comes at once, and nobody wonders yet.
        ticks.tick().await;
        let mut line = Line::default();
        while !waiting.is_empty() {
            tokio::select! {
                biased;
                () = stop.asked.cancelled() => {
                    answers.interrupted = true;
                    break;
                }
                Some((number, listed)) = asked.next() => {
                    waiting.retain(|waiting| *waiting != number);
                    let listed = listed.map_err(|error| Said::of(&error.message));
                    if let Some(list) = answers.lists.get_mut(number) {
                        *list = Some(listed);
                    }
                }
                () = &mut over => break,
                _ = ticks.tick(), if screen.shows_progress() => {
                    let first = waiting.first().and_then(|number| channels.get(*number));
                    let name = first.map_or_else(String::new, |channel| shown(channel.name()));
                    let (others, seconds) = (waiting.len() - 1, began.elapsed().as_secs());
                    line.draw(&screen.pick(
                        match others {
                            0 => format!("waiting for {name}… {seconds} s"),
                            others => format!("waiting for {name} and {others} more… {seconds} s"),
                        },
                        match others {
                            0 => format!("等待 {name}……{seconds} 秒"),
                            others => format!("等待 {name} 及另外 {others} 个……{seconds} 秒"),
                        },
                    ));
                }
            }
        }
        line.clear();
        for number in waiting {
            if let Some(list) = answers.lists.get_mut(number) {
                *list = Some(Err(unanswered(answers.interrupted)));
            }
        }
        Ok(answers)
    })
}

fn is_asked(channel: &Arc<Channel>) -> bool {
    !channel.config().disabled && channel.ready().is_ok()
}

fn unanswered(interrupted: bool) -> Said {
    let seconds = REMOTE_WAIT.as_secs();
    match interrupted {
        true => Said::new("it was not waited for", "没有等到它答复"),
        false => Said::new(
            format!(
                "it did not list its models within {seconds} s; is it running, and is its address right?"
            ),
            format!("它在 {seconds} 秒内没有列出模型；它在运行吗？地址对吗？"),
        ),
    }
}

/// One line on standard error that is written over itself.
#[derive(Default)]
struct Line {
    drawn: bool,
}

impl Line {
    fn draw(&mut self, text: &str) {
        let fitting: String = printable(text).chars().take(78).collect();
        let _ = write!(std::io::stderr(), "\r\u{1b}[K{fitting}");
        let _ = std::io::stderr().flush();
        self.drawn = true;
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}
