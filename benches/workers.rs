//! What it saves that a script stays up: `cargo bench -p innkeeper-benches --bench workers`.
//!
//! The same plugin answers the same call, once as a script that is started for each call and once as a worker that is
//! there already, both in the sandbox and both through all that a caller passes. The ratio counts, taken in one run.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use innkeeper_benches::{Bar, Failed, Row, Table, median};
use innkeeper_protocol::ToolDefinition;
use innkeeper_protocol::event::RunId;
use innkeeper_sandbox::Sandbox;
use innkeeper_tools::plugin::{
    Implementation, Permissions, PluginSettings, Template, new_plugin, read_plugin,
};
use innkeeper_tools::script::{
    Interpreters, NoFiles, SandboxRunner, ScriptExecutor, ScriptHost, ScriptLimits, ScriptPlugin,
    ScriptRunner, WorkerPool,
};
use innkeeper_tools::{CallContext, Caller, Executor, Invocation, Progress, Secrets};
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

/// As the binary has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many times faster a worker must be.
const FASTER: f64 = 20.0;

fn main() -> ExitCode {
    innkeeper_sandbox::take_over_if_launcher();
    innkeeper_benches::run(10, 50, measure)
}

async fn measure(table: &mut Table, rounds: usize) -> Result<(), Failed> {
    table.head("One call of a script, at the median (limit: a process for each call)");
    let home = tempfile::tempdir()?;
    let home = home.path().canonicalize()?;
    let sandbox = Sandbox::new(innkeeper_benches::sandbox_options()?);
    let interpreters = Interpreters::on(std::env::var_os("PATH"));
    let runner: Arc<dyn ScriptRunner> = Arc::new(SandboxRunner::new(sandbox, interpreters));
    let host = ScriptHost {
        workers: WorkerPool::new(runner.clone()),
        runner,
        settings: Arc::new(PluginSettings::new(
            &home,
            Secrets::new(home.join("secrets.toml")),
        )),
        files: Arc::new(NoFiles),
        data: home.join("plugin-data"),
        limits: ScriptLimits::default(),
    };
    for (language, script, worker) in [
        ("python", Template::Python, Template::PythonWorker),
        ("node", Template::Node, Template::NodeWorker),
    ] {
        let fresh = executor(&host, &home, &format!("{language}-script"), script)?;
        let fresh = call(&fresh, rounds).await?;
        table.row(&Row::new(format!("{language}, a fresh process"), 0, fresh));
        let warm = executor(&host, &home, &format!("{language}-worker"), worker)?;
        let warm = call(&warm, rounds * 20).await?;
        table.row(
            &Row::new(format!("{language}, a warm worker"), 0, warm)
                .against(fresh)
                .bar(Bar::OfLimit(FASTER)),
        );
    }
    Ok(())
}

fn executor(
    host: &ScriptHost,
    home: &Path,
    name: &str,
    template: Template,
) -> Result<ScriptExecutor, Failed> {
    let folder = new_plugin(&home.join("plugins"), name, template)?;
    let package = read_plugin(&folder).map_err(|problems| format!("{problems:?}"))?;
    let tool = package.tools.first().ok_or("the plugin has a tool")?;
    let Implementation::Script(command) = &tool.implementation else {
        return Err("the tool is a script".into());
    };
    let plugin = ScriptPlugin {
        name: package.name.clone(),
        root: package.root.clone(),
        stamp: package.stamp,
        options: package.config.clone(),
        granted: Permissions::default(),
    };
    Ok(ScriptExecutor::new(host.clone(), plugin, command.clone()))
}

async fn call(executor: &ScriptExecutor, rounds: usize) -> Result<Duration, Failed> {
    let tool = Arc::new(ToolDefinition::new("greet", "", json!({"type": "object"})));
    let caller = Arc::new(Caller::person(RunId::new("bench")));
    let mut times = Vec::with_capacity(rounds);
    // The first one starts the worker, or finds the interpreter.
    for round in 0..=rounds {
        let arguments = [("name".to_owned(), Json::from("Ada"))];
        let invocation = Invocation {
            tool: tool.clone(),
            arguments: arguments.into_iter().collect(),
            context: CallContext {
                caller: caller.clone(),
                call_id: String::new(),
                asked_as: None,
                attempt: 1,
                cancel: CancellationToken::new(),
                progress: Progress::default(),
                run: None,
            },
        };
        let start = Instant::now();
        let result = executor.execute(invocation).await?;
        if round > 0 {
            times.push(start.elapsed());
        }
        if result != "Hello, Ada!" {
            return Err(format!("the answer is a greeting, not {result}").into());
        }
    }
    Ok(median(times))
}
