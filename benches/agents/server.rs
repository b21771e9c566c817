//! What the model answers that all of them ask.

use innkeeper_benches::Failed;
use innkeeper_benches::model::{self, ServerProcess};
use innkeeper_testkit::model_server::{ModelServer, Say};
use serde_json::json;

use super::TURNS;

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

impl Script {
    pub(crate) fn server(self) -> Result<ServerProcess, Failed> {
        ServerProcess::start([ROLE, self.name()].map(str::to_owned))
    }
}

pub(crate) fn serve(args: &[String]) -> Result<(), Failed> {
    let named = args.get(1).ok_or("the server wants a script")?;
    let script = Script::ALL.iter().find(|(_, name)| name == named);
    let (script, _) = script.ok_or("there is no such script")?;
    model::serve(ModelServer::turns(script.replies()))
}
