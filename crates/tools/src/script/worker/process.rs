//! A process at the other end of three pipes: what the actor needs of it, so that tests can stand in for one.

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use innkeeper_sandbox::{End, Ended, Running, SandboxError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::super::{ScriptError, ScriptJob, ScriptRunner};

#[async_trait]
pub(super) trait Launch: Send + Sync {
    async fn launch(&self, job: ScriptJob) -> Result<Process, ScriptError>;
}

/// Dropping it ends it.
pub(super) struct Process {
    pub(super) stdin: Box<dyn AsyncWrite + Send + Unpin>,
    pub(super) stdout: Box<dyn AsyncRead + Send + Unpin>,
    pub(super) stderr: Box<dyn AsyncRead + Send + Unpin>,
    /// Comes when nothing of it is left, and says how it ended: `ended with exit code 1`.
    pub(super) ended: BoxFuture<'static, String>,
    pub(super) kill: CancellationToken,
}

/// Starts real ones.
pub(super) struct Runner(pub(super) std::sync::Arc<dyn ScriptRunner>);

#[async_trait]
impl Launch for Runner {
    async fn launch(&self, job: ScriptJob) -> Result<Process, ScriptError> {
        let program = job.program.clone();
        let mut running = self.0.start(job).await?;
        let pipes = (
            running.stdin.take(),
            running.stdout.take(),
            running.stderr.take(),
        );
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(ScriptError::Io {
                program,
                why: "it was started without pipes".to_owned(),
            });
        };
        let kill = CancellationToken::new();
        Ok(Process {
            stdin: Box::new(stdin),
            stdout: Box::new(stdout),
            stderr: Box::new(stderr),
            ended: Box::pin(end(running, kill.clone())),
            kill,
        })
    }
}

async fn end(mut running: Running, kill: CancellationToken) -> String {
    let ended = tokio::select! {
        ended = running.wait() => ended,
        () = kill.cancelled() => {
            running.stop();
            running.wait().await
        }
    };
    described(&ended)
}

fn described(ended: &Result<Ended, SandboxError>) -> String {
    match ended.as_ref().map(|ended| ended.end) {
        Ok(End::Exit(code)) => format!("ended with exit code {code}"),
        Ok(End::Signal(signal)) => format!("was ended by signal {signal}"),
        Ok(End::Limit { limit, .. }) => format!("went over its limit ({limit}) and was ended"),
        Ok(End::Cancelled) => "was stopped".to_owned(),
        Err(error) => format!("was lost: {error}"),
    }
}
