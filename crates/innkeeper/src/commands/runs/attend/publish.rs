//! The terminal as the host that a run publishes to.

use innkeeper_agent::instance::HostAnswer;
use innkeeper_protocol::event::ChatCommitRequested;
use serde_json::json;

use super::super::memory::Offered;
use super::{Attendant, taken};
use crate::failure::Failure;

impl Attendant<'_> {
    /// The terminal is where it appears.
    pub(super) async fn publish(&mut self, commit: &ChatCommitRequested) -> Result<(), Failure> {
        let id = &commit.commit_id;
        let own = format!("terminal-{}", self.published + 1);
        let read = self.runtime.reader().commit_file(&self.run, id).await;
        let published = match read {
            Ok(file) if file.sha256 == commit.sha256 => {
                match self.memory.offered(commit, &own).await? {
                    Offered::First(token) => match self.show(commit, &own, &file.text) {
                        Ok(()) => {
                            self.memory.printed(token, &own).await?;
                            Ok(own)
                        }
                        // Not the model's fault, nor the run's: it is offered again when the run is gone on with.
                        Err(failure) => {
                            self.memory.not_printed(token).await?;
                            return Err(failure);
                        }
                    },
                    Offered::Again(known) => {
                        self.was_printed(commit, known.is_some());
                        Ok(known.unwrap_or(own))
                    }
                    Offered::Other => Err(format!("another text was published as {id}")),
                }
            }
            Ok(file) => Err(format!("{} is not what was to be published", file.path)),
            Err(error) => Err(error.message),
        };
        let answer = match published {
            Ok(message_id) => {
                self.published += 1;
                HostAnswer::Saved {
                    message_id,
                    message_index: Some(self.published - 1),
                }
            }
            Err(why) => HostAnswer::Failed(why),
        };
        taken(self.runtime.resolve_commit(&self.run, id, answer).await)
    }

    fn was_printed(&mut self, commit: &ChatCommitRequested, whole: bool) {
        let (run, path) = (&self.run, &commit.path);
        let look = format!("innkeeper runs show {run} --file {path}");
        let (english, chinese) = match whole {
            true => (
                format!("{path} was printed before the interruption; see {look}"),
                format!("{path} 在中断之前已经输出；可用 {look} 查看"),
            ),
            false => (
                format!(
                    "{path} was being printed when the process ended, perhaps not whole; see {look}"
                ),
                format!("进程结束时正在输出 {path}，可能不完整；可用 {look} 查看"),
            ),
        };
        self.timeline.remark(&english, &chinese);
    }

    fn show(
        &mut self,
        commit: &ChatCommitRequested,
        message_id: &str,
        text: &str,
    ) -> Result<(), Failure> {
        self.timeline.end_line();
        match self.screen.json {
            false => self.screen.text(&self.timeline.named(text)),
            true => self.screen.document(&json!({
                "type": "published",
                "runId": self.run,
                "commitId": commit.commit_id,
                "messageId": message_id,
                "path": commit.path,
                "mode": commit.mode,
                "text": text,
            })),
        }
    }
}
