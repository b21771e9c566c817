//! A plugin's script as a tool or a service: the arguments object goes in on stdin, the answer comes out on stdout.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use tokio_util::sync::CancellationToken;

use super::answer::{self, Answer, Output};
use super::files::{ScriptFiles, allowed, with_files};
use super::sandboxed::whole_lines;
use super::sources;
use super::{
    EnvironmentValue, Line, ScriptEnd, ScriptError, ScriptJob, ScriptLimits, ScriptReach,
    ScriptRunner, StderrLines, WorkerPool,
};
use crate::limits::{DEFAULT_SCRIPT_TIMEOUT, MAX_SCRIPT_INPUT_BYTES, MAX_SCRIPT_TIMEOUT};
use crate::plugin::{ConfigOption, Permissions, PluginSettings, ScriptCommand, ScriptProtocol};
use crate::{Executor, Invocation, Pattern, Progress, Redactor, Revision, ToolError, UserId};

/// What all scripts of an instance share.
#[derive(Clone)]
pub struct ScriptHost {
    pub runner: Arc<dyn ScriptRunner>,
    pub workers: WorkerPool,
    pub settings: Arc<PluginSettings>,
    pub files: Arc<dyn ScriptFiles>,
    /// Each plugin has a folder of its own in it, the only one that it may change.
    pub data: PathBuf,
    /// What a script may use; the timeout is a tool's own affair.
    pub limits: ScriptLimits,
}

/// What a script needs to know of its plugin.
#[derive(Debug, Clone)]
pub struct ScriptPlugin {
    pub name: String,
    pub root: PathBuf,
    /// Differs whenever a file of the plugin does.
    pub stamp: u64,
    /// The options that become environment variables: the plugin's, and the tool's own.
    pub options: Vec<ConfigOption>,
    /// What a person has accepted.
    pub granted: Permissions,
}

/// Runs a script for each call: a tool, or a service that a plugin provides.
pub struct ScriptExecutor {
    pub(super) host: ScriptHost,
    pub(super) plugin: ScriptPlugin,
    pub(super) command: ScriptCommand,
}

impl ScriptExecutor {
    pub fn new(host: ScriptHost, plugin: ScriptPlugin, command: ScriptCommand) -> Self {
        Self {
            host,
            plugin,
            command,
        }
    }

    async fn answer(
        &self,
        call: &Invocation,
        environment: Vec<(String, EnvironmentValue)>,
        redactor: &Redactor,
    ) -> Result<Done, ToolError> {
        let context = &call.context;
        let files = self.host.files.as_ref();
        let arguments = with_files(call, files, &self.plugin, &self.command).await?;
        let answer = match self.command.protocol {
            ScriptProtocol::Stdio => self.run(call, arguments, environment, redactor).await?,
            ScriptProtocol::JsonRpc => {
                self.ask_worker(call, arguments, environment, redactor)
                    .await?
            }
        };
        for line in &answer.logs {
            context.progress.report(None, &redactor.redact_text(line));
        }
        let Output { value, files } = answer.outcome?;
        let allowed = allowed("write", &self.plugin, &self.command.write, &context.caller);
        let mut written = Vec::new();
        for file in files {
            let done = self
                .host
                .files
                .write(&context.caller, &file.uri, file.bytes, &allowed)
                .await;
            if let Err(mut error) = done {
                if !written.is_empty() {
                    error.message = format!(
                        "{}; already written by this call: {}",
                        error.message,
                        written.join(", ")
                    );
                }
                return Err(error);
            }
            written.push(file.uri);
        }
        Ok(Done {
            value,
            has_written: !written.is_empty(),
        })
    }

    /// A process for this call.
    async fn run(
        &self,
        call: &Invocation,
        arguments: Map<String, Json>,
        mut environment: Vec<(String, EnvironmentValue)>,
        redactor: &Redactor,
    ) -> Result<Answer, ToolError> {
        let context = &call.context;
        for (name, value) in [
            ("INNKEEPER_CALL_ID", context.call_id.as_str()),
            ("INNKEEPER_TOOL", call.tool.id.as_str()),
            ("INNKEEPER_PROJECT", context.caller.project.as_str()),
        ] {
            environment.push((name.to_owned(), EnvironmentValue::Plain(value.to_owned())));
        }
        let stdin = Json::Object(arguments).to_string().into_bytes();
        if stdin.len() > MAX_SCRIPT_INPUT_BYTES {
            return Err(ToolError::invalid(format!(
                "the arguments have more than {MAX_SCRIPT_INPUT_BYTES} bytes; give less at once"
            ))
            .because("script.input_too_large"));
        }
        let parts = JobParts {
            environment,
            stdin,
            timeout: timeout(&self.command, &call.tool),
            stderr: progress_lines(context.progress.clone(), redactor.clone()),
            cancel: context.cancel.clone(),
        };
        let job = self.host.job(&self.plugin, &self.command, parts).await?;
        let end = self.host.run(job, redactor).await?;
        Ok(answer::read(&end))
    }
}

/// What came of a call.
pub(super) struct Done {
    pub(super) value: Json,
    /// Files of people were written: it has done more than to answer.
    pub(super) has_written: bool,
}

impl ScriptExecutor {
    pub(super) async fn perform(&self, call: Invocation) -> Result<Done, ToolError> {
        let caller = &call.context.caller;
        let mut environment = self.host.environment(&self.plugin, &caller.user).await?;
        let redactor = redactor(&self.plugin, &environment);
        for (name, value) in [
            ("INNKEEPER_USER", caller.user.as_str()),
            ("INNKEEPER_PLUGIN", self.plugin.name.as_str()),
        ] {
            environment.push((name.to_owned(), EnvironmentValue::Plain(value.to_owned())));
        }
        match self.answer(&call, environment, &redactor).await {
            Ok(mut done) => {
                redactor.redact_json(&mut done.value);
                Ok(done)
            }
            Err(mut error) => {
                error.message = redactor.redact_text(&error.message).into_owned();
                Err(error)
            }
        }
    }

    /// All that decides what the script says, beside what it is told: its plugin as it was loaded and as its files are
    /// now, what runs it, and that person's settings.
    pub(super) async fn revision(&self, user: &UserId, told: &[u8]) -> Option<Revision> {
        let plugin = &self.plugin;
        let environment = self.host.environment(plugin, user).await.ok()?;
        let sources = sources::look(plugin, &self.command).await.ok()?;
        let runner = &self.host.runner;
        let runs = runner.revision(&self.command.program, &plugin.root).await?;
        let stamp = plugin.stamp.to_le_bytes();
        let command = format!("{:?}", self.command);
        let (name, command) = (plugin.name.as_bytes(), command.as_bytes());
        // How many, so that one list does not run into the next.
        let settings = environment.len().to_le_bytes();
        let mut parts = vec![b"script".as_slice(), name, &stamp, command, told];
        parts.extend([&sources.as_bytes()[..], runs.as_bytes(), &settings]);
        for (name, value) in &environment {
            parts.extend([name.as_bytes(), value.expose().as_bytes()]);
        }
        let granted = plugin.granted.iter();
        parts.extend(granted.map(|permission| permission.as_str().as_bytes()));
        Some(Revision::of(parts))
    }
}

#[async_trait]
impl Executor for ScriptExecutor {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let done = self.perform(call).await?;
        Ok(done.value)
    }

    /// The script's last words tell what it was waiting for.
    fn keeps_time(&self) -> bool {
        true
    }
}

/// What the command says, and no more than the tool says.
pub(super) fn timeout(command: &ScriptCommand, tool: &ToolDefinition) -> Duration {
    let of_tool = tool.execution.timeout_ms.map(Duration::from_millis);
    let asked = [command.timeout, of_tool].into_iter().flatten().min();
    asked
        .unwrap_or(DEFAULT_SCRIPT_TIMEOUT)
        .min(MAX_SCRIPT_TIMEOUT)
}

/// What differs from one job of a plugin to the next.
pub(super) struct JobParts {
    pub(super) environment: Vec<(String, EnvironmentValue)>,
    pub(super) stdin: Vec<u8>,
    pub(super) timeout: Duration,
    pub(super) stderr: StderrLines,
    pub(super) cancel: CancellationToken,
}

impl ScriptHost {
    pub(super) async fn environment(
        &self,
        plugin: &ScriptPlugin,
        user: &UserId,
    ) -> Result<Vec<(String, EnvironmentValue)>, ToolError> {
        let settings = Arc::clone(&self.settings);
        let (name, options, user) = (plugin.name.clone(), plugin.options.clone(), user.clone());
        let read = move || settings.environment(&name, &options, &user);
        match tokio::task::spawn_blocking(read).await {
            Ok(environment) => Ok(environment?),
            Err(error) => Err(ToolError::failed(format!(
                "the settings of {} could not be read: {error}",
                plugin.name
            ))),
        }
    }

    pub(super) async fn job(
        &self,
        plugin: &ScriptPlugin,
        command: &ScriptCommand,
        parts: JobParts,
    ) -> Result<ScriptJob, ToolError> {
        let root = real(&plugin.root, &plugin.name).await?;
        let data = self.data_folder(plugin).await?;
        let mut environment = parts.environment;
        environment.push((
            "INNKEEPER_DATA".to_owned(),
            EnvironmentValue::Plain(data.to_string_lossy().into_owned()),
        ));
        Ok(ScriptJob {
            program: command.program.clone(),
            arguments: command.arguments.clone(),
            directory: root.clone(),
            environment,
            stdin: parts.stdin,
            limits: ScriptLimits {
                timeout: parts.timeout,
                ..self.limits
            },
            reach: ScriptReach {
                read: vec![root],
                write: vec![data],
                hosts: hosts(plugin, command),
            },
            stderr: parts.stderr,
            cancel: parts.cancel,
        })
    }

    /// The plugin's own folder, made when it is first needed.
    async fn data_folder(&self, plugin: &ScriptPlugin) -> Result<PathBuf, ToolError> {
        let folder = self.data.join(&plugin.name);
        let mut builder = tokio::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        builder.mode(0o700);
        match builder.create(&folder).await {
            Ok(()) => real(&folder, &plugin.name).await,
            Err(error) => Err(ToolError::unavailable(format!(
                "the data folder of {} could not be made at {}: {error}",
                plugin.name,
                folder.display()
            ))
            .because("script.data_folder")),
        }
    }

    /// Runs it, and hides in what it said on stderr what must not be told.
    pub(super) async fn run(
        &self,
        job: ScriptJob,
        redactor: &Redactor,
    ) -> Result<ScriptEnd, ScriptError> {
        // Before anything is cut to fit a message: half a secret would not be found any more.
        let hide = |stderr: &mut Vec<u8>| {
            let text = String::from_utf8_lossy(stderr);
            *stderr = redactor.redact_text(&text).into_owned().into_bytes();
        };
        match self.runner.run(job).await {
            Ok(mut end) => {
                end.stderr = whole_lines(end.stderr, end.stderr_truncated);
                hide(&mut end.stderr);
                Ok(end)
            }
            Err(mut error) => {
                error.stderr_mut().map(hide);
                Err(error)
            }
        }
    }
}

/// A folder by its full name: the sandbox shows it under no other.
async fn real(folder: &Path, plugin: &str) -> Result<PathBuf, ToolError> {
    tokio::fs::canonicalize(folder).await.map_err(|error| {
        let folder = folder.display();
        ToolError::unavailable(format!("a folder of {plugin} is gone, {folder}: {error}"))
            .because("script.program")
    })
}

/// What the plugin was granted; of that, a command that names hosts gets those it names.
fn hosts(plugin: &ScriptPlugin, command: &ScriptCommand) -> Vec<String> {
    let granted = plugin.granted.iter();
    let granted: Vec<_> = granted
        .filter_map(|permission| permission.as_str().strip_prefix("net:"))
        .collect();
    match command.hosts.is_empty() {
        true => granted.into_iter().map(str::to_owned).collect(),
        false => {
            let is_granted = |host: &&String| {
                granted
                    .iter()
                    .any(|pattern| Pattern::new(*pattern).matches(host))
            };
            command.hosts.iter().filter(is_granted).cloned().collect()
        }
    }
}

/// Looks for the secrets that this very script was given, so that not even its progress shows them.
pub(super) fn redactor(
    plugin: &ScriptPlugin,
    environment: &[(String, EnvironmentValue)],
) -> Redactor {
    let secrets = environment.iter().filter_map(|(name, value)| match value {
        EnvironmentValue::Plain(_) => None,
        EnvironmentValue::Secret(secret) => Some((format!("{}.{name}", plugin.name), secret)),
    });
    Redactor::new(secrets)
}

#[derive(Deserialize)]
struct ProgressLine {
    #[serde(default)]
    fraction: Option<f64>,
    #[serde(default)]
    message: String,
}

/// `@progress {"fraction": 0.5, "message": "halfway"}` on stderr is progress, everything else is stderr.
fn progress_lines(progress: Progress, redactor: Redactor) -> StderrLines {
    StderrLines::to(move |line| {
        let Some(json) = line.strip_prefix("@progress ") else {
            return Line::Keep;
        };
        match serde_json::from_str::<ProgressLine>(json) {
            Ok(line) => {
                let message = answer::cut(&redactor.redact_text(&line.message));
                progress.report(line.fraction, &message);
                Line::Taken
            }
            Err(_) => Line::Keep,
        }
    })
}

#[cfg(test)]
#[path = "executor_tests.rs"]
mod tests;
