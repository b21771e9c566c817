//! The model that all of them ask, in a process of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use innkeeper_benches::Failed;
use innkeeper_testkit::model_server::{ModelServer, Say};
use serde_json::json;

use super::{TURNS, resources};

pub(crate) const ROLE: &str = "--serve";

/// What it answers with.
#[derive(Clone, Copy)]
pub(crate) enum Script {
    /// Calls a tool in every turn but the last.
    Turns,
    /// Writes a file and wants it published.
    Publish,
}

impl Script {
    const ALL: [(Self, &str); 2] = [(Self::Turns, "turns"), (Self::Publish, "publish")];

    fn name(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::Publish => "publish",
        }
    }

    pub(crate) fn replies(self) -> Vec<Say> {
        let counted = |say: Say| say.usage(400, 20);
        match self {
            Self::Turns => (0..=TURNS)
                .map(|turn| {
                    counted(match turn {
                        TURNS => Say::text("All is done."),
                        // Other arguments each time: an agent that repeats itself is stopped.
                        _ => Say::text("Let me look at that.").call(
                            &format!("call_{turn}"),
                            "echo",
                            json!({ "text": format!("What stands on page {turn} of the guest book?") }),
                        ),
                    })
                })
                .collect(),
            Self::Publish => vec![
                counted(Say::nothing().call(
                    "call_0",
                    "workspace_write_file",
                    json!({"path": "output/main.md", "content": "The inn stands where two roads meet.\n".repeat(10)}),
                )),
                counted(Say::nothing().call("call_1", "workspace_commit", json!({"path": "output/main.md"}))),
            ],
        }
    }
}

/// Ends when it is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn start(script: Script) -> Result<Self, Failed> {
        let mut child = Command::new(std::env::current_exe()?)
            .args([ROLE, script.name()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut url = String::new();
        if let Some(said) = child.stdout.take() {
            BufReader::new(said).read_line(&mut url)?;
        }
        let url = url.trim().to_owned();
        let server = Self { child, url };
        match server.url.is_empty() {
            true => Err("the server did not start".into()),
            false => Ok(server),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its input has come to an end then.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Serves until the input ends.
pub(crate) fn serve(args: &[String]) -> Result<(), Failed> {
    let named = args.get(1).ok_or("the server wants a script")?;
    let script = Script::ALL.iter().find(|(_, name)| name == named);
    let (script, _) = script.ok_or("there is no such script")?;
    resources::open_many()?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let server = runtime.block_on(ModelServer::turns(script.replies()));
    let mut out = std::io::stdout();
    writeln!(out, "{}", server.url())?;
    out.flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
