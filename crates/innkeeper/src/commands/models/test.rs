//! `innkeeper models test`: one real reply, and how it came.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use innkeeper_models::{
    CallReport, Estimate, FinishReason, Message, ModelError, ModelErrorKind, ModelEvent,
    ModelRequest, ModelStream, Usage,
};
use serde_json::{Value as Json, json};

use super::line::Line;
use super::waiting::Heard;
use super::{Ended, find, note_not_ready, open, refused};
use crate::cli::ModelsTestArgs;
use crate::failure::{Failure, message};
use crate::home::Home;
use crate::limits::{PROGRESS_EVERY, SHORTEST_MEASURED};
use crate::models::HouseModels;
use crate::output::{Screen, printable};
use crate::runtime::{Stop, block_on};

pub(super) fn run(args: &ModelsTestArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    block_on(async {
        let heard = Arc::new(Heard::default());
        let house = open(home, Some(heard.clone()))?;
        let (model, there) = find(&house, args.model.as_deref())?;
        note_not_ready(&house, args.model.as_deref(), screen);
        let prompt = args.prompt.clone().unwrap_or_else(|| {
            let usual = screen.pick(
                "Say hello in one short sentence.",
                "请用一句简短的话打个招呼。",
            );
            usual.to_owned()
        });
        let request = ModelRequest::new(there, vec![Message::user(prompt)]);
        let stop = Stop::default();
        stop.listen();
        let mut listening = Listening::new(&house, screen);
        let stream = model.stream(request, stop.asked.clone());
        let failed = listening.listen(stream, &heard).await?;
        listening.end_line()?;
        let interrupted = stop.asked.is_cancelled();
        if let Some(error) = &failed
            && error.kind == ModelErrorKind::Cancelled
            && interrupted
        {
            if listening.text.is_empty() {
                listening.line.wipe();
            }
            return Ok(Ended::Interrupted);
        }
        let report = heard.take();
        let told = Told {
            name: model.id(),
            report: report.as_ref(),
            heard: &listening,
            error: failed.as_ref(),
        };
        match (screen.json, &failed) {
            (true, _) => {
                let mut document = told.json();
                house.redactor.redact_json(&mut document);
                screen.document(&document)?;
            }
            (false, None) => told.note(),
            (false, Some(_)) => {}
        }
        match failed {
            Some(error) => Err(refused(&house, &error)),
            None => Ok(Ended::Done),
        }
    })
}

/// What has come so far, shown as it comes.
struct Listening<'s> {
    house: &'s HouseModels,
    screen: &'s Screen,
    began: Instant,
    first: Option<Duration>,
    last: Duration,
    text: String,
    /// The beginning of a word: a key that a server repeats must not slip through in two pieces.
    unshown: String,
    reasoning: String,
    usage: Option<Usage>,
    finish: Option<FinishReason>,
    /// Whether the cursor stands behind thoughts on standard error.
    thinks: bool,
    /// Until the first piece.
    line: Line,
}

impl<'s> Listening<'s> {
    fn new(house: &'s HouseModels, screen: &'s Screen) -> Self {
        Self {
            house,
            screen,
            began: Instant::now(),
            first: None,
            last: Duration::ZERO,
            text: String::new(),
            unshown: String::new(),
            reasoning: String::new(),
            usage: None,
            finish: None,
            thinks: false,
            line: Line::new(screen),
        }
    }

    /// To the end of the reply, or to its error.
    async fn listen(
        &mut self,
        mut stream: ModelStream,
        heard: &Heard,
    ) -> Result<Option<ModelError>, Failure> {
        let mut ticks = tokio::time::interval(PROGRESS_EVERY);
        let end = loop {
            let waits = self.first.is_none() && self.line.shows();
            tokio::select! {
                biased;
                event = stream.next() => match event {
                    Some(Ok(event)) => self.hear(event)?,
                    Some(Err(error)) => break Some(error),
                    None => break None,
                },
                _ = ticks.tick(), if waits => {
                    let said = heard.waits_for(Instant::now(), self.screen.lang);
                    if let Some(said) = said {
                        self.line.draw(&self.house.redactor.redact_text(&said));
                    }
                }
            }
        };
        self.line.clear();
        Ok(end)
    }

    fn hear(&mut self, event: ModelEvent) -> Result<(), Failure> {
        match event {
            ModelEvent::Text(text) if !text.is_empty() => {
                self.tick();
                self.text.push_str(&text);
                if !self.screen.json {
                    self.stop_thinking();
                    self.unshown.push_str(&text);
                    self.show_words()?;
                }
            }
            ModelEvent::Reasoning(text) if !text.is_empty() => {
                self.tick();
                self.reasoning.push_str(&text);
                if self.screen.shows_progress() {
                    self.thinks = true;
                    let shown = self.house.redactor.redact_text(&text).into_owned();
                    let _ = write!(std::io::stderr(), "{}", printable(&shown));
                }
            }
            ModelEvent::ToolCall { .. } => self.tick(),
            ModelEvent::Usage(usage) => self.usage = Some(usage),
            ModelEvent::Finish(reason) => self.finish = Some(reason),
            ModelEvent::Text(_)
            | ModelEvent::Reasoning(_)
            | ModelEvent::Opaque { .. }
            | ModelEvent::Started { .. } => {}
        }
        Ok(())
    }

    /// Up to the last character that no key has.
    fn show_words(&mut self) -> Result<(), Failure> {
        let ends = |c: char| !c.is_ascii_graphic();
        let Some((at, end)) = self.unshown.rmatch_indices(ends).next() else {
            return Ok(());
        };
        let rest = self.unshown.split_off(at + end.len());
        let words = std::mem::replace(&mut self.unshown, rest);
        self.screen.piece(&self.house.redactor.redact_text(&words))
    }

    fn tick(&mut self) {
        self.line.clear();
        let now = self.began.elapsed();
        self.first.get_or_insert(now);
        self.last = now;
    }

    fn stop_thinking(&mut self) {
        if std::mem::take(&mut self.thinks) {
            let _ = writeln!(std::io::stderr());
        }
    }

    fn end_line(&mut self) -> Result<(), Failure> {
        self.stop_thinking();
        let rest = std::mem::take(&mut self.unshown);
        self.screen.piece(&self.house.redactor.redact_text(&rest))?;
        match self.screen.json || self.text.is_empty() || self.text.ends_with('\n') {
            true => Ok(()),
            false => self.screen.piece("\n"),
        }
    }

    /// Tokens of the answer, and whether somebody has counted them.
    fn tokens(&self) -> (u64, bool) {
        match self.usage.and_then(|usage| usage.completion_tokens) {
            Some(counted) => (counted, true),
            None => {
                let said = Estimate::of_text(&self.text).likely;
                let thought = Estimate::of_text(&self.reasoning).likely;
                (said.saturating_add(thought), false)
            }
        }
    }

    /// Over the time in which they came; nothing where that was too short to say anything.
    #[allow(clippy::cast_precision_loss)]
    fn tokens_per_second(&self) -> Option<f64> {
        let (tokens, _) = self.tokens();
        let time = self.last - self.first?;
        (time >= SHORTEST_MEASURED && tokens > 1).then(|| (tokens - 1) as f64 / time.as_secs_f64())
    }
}

struct Told<'t> {
    name: &'t str,
    report: Option<&'t CallReport>,
    heard: &'t Listening<'t>,
    error: Option<&'t ModelError>,
}

impl Told<'_> {
    /// The channel and its name for the model; the model's own name where there is no channel.
    fn who(&self) -> String {
        let channel = self.report.and_then(|report| report.channel.as_deref());
        let model = self.report.and_then(|report| report.model.as_deref());
        match (channel, model) {
            (Some(channel), Some(model)) => format!("{channel}/{model}"),
            _ => self.name.to_owned(),
        }
    }

    fn json(&self) -> Json {
        let heard = self.heard;
        let (tokens, counted) = heard.tokens();
        let report = self.report;
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let error = self.error.map(|error| {
            let message = message(&error.message);
            json!({"code": error.reason(), "message": message})
        });
        json!({
            "error": error,
            "asked": self.name,
            "channel": report.and_then(|report| report.channel.as_ref()),
            "model": report.and_then(|report| report.model.as_ref()),
            "answered": report.and_then(|report| report.answered.as_ref()),
            "attempts": report.map_or(1, |report| report.attempts),
            "text": heard.text,
            "finishReason": heard.finish,
            "firstTokenMs": heard.first.map(milliseconds),
            "durationMs": milliseconds(heard.began.elapsed()),
            "tokens": tokens,
            "counted": counted,
            "tokensPerSecond": heard.tokens_per_second(),
            "usage": heard.usage,
            "cost": heard.usage.and_then(|usage| usage.cost).map(|cost| cost.dollars()),
        })
    }

    fn note(&self) {
        let heard = self.heard;
        let screen = heard.screen;
        if heard.text.is_empty() {
            let reason = heard.finish.as_ref().map(|reason| message(reason.as_str()));
            match reason {
                Some(reason) => screen.note(
                    &format!("(it said nothing; it stopped with: {reason})"),
                    &format!("（它什么也没说；停止原因：{reason}）"),
                ),
                None => screen.note("(it said nothing)", "（它什么也没说）"),
            }
        }
        let who = message(&heard.house.redactor.redact_text(&self.who()));
        let answered = self.report.and_then(|report| report.answered.as_deref());
        let answered = answered.map(|name| message(&heard.house.redactor.redact_text(name)));
        let answered = answered
            .filter(|name| !who.ends_with(name.as_str()))
            .map_or_else(String::new, |name| format!(" ({name})"));
        let attempts = self.report.map_or(1, |report| report.attempts);
        let first = heard.first.map(|first| first.as_millis());
        let all = heard.last.as_millis();
        let (tokens, counted) = heard.tokens();
        let about = if counted { "" } else { "~" };
        let speed = heard.tokens_per_second();
        let cost = heard.usage.and_then(|usage| usage.cost);
        let (mut english, mut chinese) = (Vec::new(), Vec::new());
        if let Some(first) = first {
            english.push(format!("first token after {first} ms"));
            chinese.push(format!("首个词元 {first} 毫秒"));
            english.push(format!("{about}{tokens} tokens in {all} ms"));
            chinese.push(format!("共 {about}{tokens} 个词元、{all} 毫秒"));
        }
        if let Some(speed) = speed {
            english.push(format!("{about}{speed:.1} tokens/s"));
            chinese.push(format!("{about}{speed:.1} 词元/秒"));
        }
        if let Some(cost) = cost {
            let cost = format!("${:.6}", cost.dollars());
            english.push(cost.clone());
            chinese.push(cost);
        }
        english.push(format!("attempts: {attempts}"));
        chinese.push(format!("尝试次数：{attempts}"));
        screen.note(
            &format!("{who}{answered}: {}", english.join(", ")),
            &format!("{who}{answered}：{}", chinese.join("，")),
        );
    }
}
