//! One attempt: what was granted, what is tried, and what must come of it. And the judge, who believes neither the
//! attempt nor the sandbox alone: every row is checked from outside as well.

use std::fmt;
use std::fmt::Write as _;

use innkeeper_sandbox::{
    End, HostGrant, Job, Limits, Network, Outcome, Program, Sandbox, SandboxError, SandboxPolicy,
    Workspace, WorkspaceFile,
};
use tokio::task::JoinSet;

use super::interpreter::Interpreter;
use super::{Scene, is_root, sandbox};

/// What is granted beside the folder that the attempts lie in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    Plugin,
    Data,
    ReadBelowWrite,
    WriteBelowRead,
    Workspace,
    /// Variables that would make a careless launcher write where its user may.
    LoaderVariables,
    Hosts,
    /// `localhost`, but no private address.
    PublicLocalhost,
    PrivateHost,
}

impl Policy {
    pub(crate) fn build(self, scene: &Scene) -> SandboxPolicy {
        let mut policy = SandboxPolicy {
            read: vec![scene.plugin.clone()],
            limits: suite_limits(),
            ..SandboxPolicy::default()
        };
        let port = scene.services.tcp_port();
        match self {
            Self::Plugin => policy.environment.set("GIVEN", "yes"),
            Self::Data => policy.write.push(scene.data.clone()),
            Self::ReadBelowWrite => {
                policy.write.push(scene.data.clone());
                policy.read.push(scene.data.join("fixed"));
            }
            Self::WriteBelowRead => policy.write.push(scene.plugin.join("inner")),
            Self::Workspace => {
                policy.workspace = Some(Workspace {
                    files: vec![WorkspaceFile {
                        name: "given.txt".to_owned(),
                        bytes: b"given".to_vec(),
                    }],
                    collect_files: 64,
                    collect_bytes: 1 << 20,
                });
            }
            Self::LoaderVariables => {
                let trace = scene.home.join("trace").display().to_string();
                policy.environment.set("LD_DEBUG", "libs");
                policy.environment.set("LD_DEBUG_OUTPUT", trace);
            }
            Self::Hosts => {
                policy.network = Network::Hosts(vec![HostGrant::new("api.example.com")]);
            }
            Self::PublicLocalhost => {
                let mut grant = HostGrant::new("localhost");
                grant.ports.push(port);
                policy.network = Network::Hosts(vec![grant]);
            }
            Self::PrivateHost => {
                let mut grant = HostGrant::new("127.0.0.1");
                grant.ports.push(port);
                grant.private = true;
                policy.network = Network::Hosts(vec![grant]);
            }
        }
        policy
    }
}

fn suite_limits() -> Limits {
    Limits {
        wall: Some(std::time::Duration::from_secs(30)),
        cpu: Some(std::time::Duration::from_secs(20)),
        memory: 256 << 20,
        processes: 32,
        open_files: 128,
        file_size: 16 << 20,
        disk: 64 << 20,
        output: 1 << 20,
        stderr_kept: 64 << 10,
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Row {
    /// The file of the attempts, and the attempt in it.
    pub(crate) file: &'static str,
    pub(crate) attempt: &'static str,
    pub(crate) policy: Policy,
    /// The only reasons that count.
    pub(crate) expect: &'static [&'static str],
    pub(crate) limits: fn(&mut Limits),
    /// What else must hold of what came out.
    pub(crate) check: fn(&Outcome, &Scene) -> Result<(), String>,
}

pub(crate) const fn row(
    file: &'static str,
    attempt: &'static str,
    policy: Policy,
    expect: &'static [&'static str],
) -> Row {
    Row {
        file,
        attempt,
        policy,
        expect,
        limits: |_| {},
        check: |_, _| Ok(()),
    }
}

impl Row {
    pub(crate) const fn limits(self, limits: fn(&mut Limits)) -> Self {
        Self { limits, ..self }
    }

    pub(crate) const fn check(self, check: fn(&Outcome, &Scene) -> Result<(), String>) -> Self {
        Self { check, ..self }
    }

    pub(crate) fn job(&self, scene: &Scene) -> Result<Job, String> {
        let mut policy = self.policy.build(scene);
        (self.limits)(&mut policy.limits);
        let interpreter = match self.file {
            "shell" => Interpreter::bash()?,
            "node" => Interpreter::node()?,
            _ => Interpreter::python()?,
        };
        policy.read.extend(interpreter.read);
        let attempts = scene.plugin.join("attempts");
        let at = |name: &str| attempts.join(name).display().to_string();
        let mut arguments = match self.file {
            "shell" => vec![at("shell.sh")],
            "node" => vec![at("node.js")],
            file => vec!["-B".to_owned(), at("attempt.py"), file.to_owned()],
        };
        arguments.push(self.attempt.to_owned());
        match self.file {
            "shell" => arguments.extend([
                scene.token.clone(),
                scene.home.display().to_string(),
                scene.plugin.display().to_string(),
                scene.data.display().to_string(),
                scene.services.tcp_port().to_string(),
                std::process::id().to_string(),
            ]),
            _ => arguments.push(scene.describe(&policy)),
        }
        Ok(Job {
            program: Program::new(interpreter.path, arguments),
            policy,
            ..Job::default()
        })
    }

    async fn run(&self, sandbox: &Sandbox) -> Verdict {
        let scene = Scene::new();
        let job = match self.job(&scene) {
            Ok(job) => job,
            Err(why) => return Verdict::Skipped(why),
        };
        let outcome = sandbox.run(job).await;
        let harm = scene.harm();
        if !harm.is_empty() {
            return Verdict::Failed(harm.join("; "));
        }
        match outcome {
            Err(SandboxError::Unavailable { why, .. }) => Verdict::Skipped(why),
            Err(error) => Verdict::Failed(error.to_string()),
            Ok(outcome) => match (self.check)(&outcome, &scene) {
                Err(why) => Verdict::Failed(why),
                Ok(()) => judge(&outcome, self.expect),
            },
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Held(String),
    Failed(String),
    Skipped(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held(how) => write!(f, "held: {how}"),
            Self::Failed(why) => write!(f, "FAILED: {why}"),
            Self::Skipped(why) => write!(f, "skipped: {why}"),
        }
    }
}

/// Holds only if every reason that is told is one that the row names.
pub(crate) fn judge(outcome: &Outcome, expect: &[&str]) -> Verdict {
    let stdout = String::from_utf8_lossy(&outcome.stdout);
    let said = stdout.lines().rev().find(|line| !line.trim().is_empty());
    let said = said.unwrap_or_default();
    let stderr = String::from_utf8_lossy(&outcome.stderr);
    if let Some(line) = stdout.lines().find(|line| line.starts_with("ESCAPED")) {
        return Verdict::Failed(line.to_owned());
    }
    let reasons: Vec<String> = match outcome.end {
        End::Limit { limit, .. } => vec![format!("limit: {limit}")],
        End::Signal(number) => vec![format!("signal: {number}")],
        End::Cancelled => vec!["cancelled".to_owned()],
        End::Exit(_) => {
            if let Some(why) = said.strip_prefix("skipped: ") {
                return Verdict::Skipped(why.to_owned());
            }
            let Some(reasons) = said.strip_prefix("blocked: ") else {
                let last = stderr.lines().last().unwrap_or_default();
                return Verdict::Failed(format!("{:?} and said {said:?}, {last:?}", outcome.end));
            };
            reasons.split(", ").map(str::to_owned).collect()
        }
    };
    let told = reasons.join(", ");
    match reasons.iter().all(|r| expect.contains(&r.as_str())) {
        true => Verdict::Held(told),
        false => Verdict::Failed(format!("{told} (only for {})", expect.join(", "))),
    }
}

/// Runs a table; the sandbox lets a few rows run at a time.
pub(crate) async fn run_rows(rows: &[Row]) {
    let sandbox = sandbox();
    let mut running = JoinSet::new();
    for row in rows.iter().copied() {
        let sandbox = sandbox.clone();
        running.spawn(async move { (row, row.run(&sandbox).await) });
    }
    let verdicts = running.join_all().await;
    let mut table = String::new();
    let mut failed = false;
    let mut skipped = 0;
    for (row, verdict) in &verdicts {
        failed |= matches!(verdict, Verdict::Failed(_));
        skipped += usize::from(matches!(verdict, Verdict::Skipped(_)));
        let _ = writeln!(
            table,
            "{}.{} | {:?} | {} | {verdict}",
            row.file,
            row.attempt,
            row.policy,
            who()
        );
    }
    for (row, verdict) in &verdicts {
        if let Verdict::Skipped(why) = verdict {
            eprintln!("skipped as {}: {}.{}: {why}", who(), row.file, row.attempt);
        }
    }
    eprintln!(
        "as {}: {} attempts, {skipped} skipped",
        who(),
        verdicts.len()
    );
    if std::env::var_os("INNKEEPER_SHOW").is_some() {
        eprint!("{table}");
    }
    assert!(!failed, "attempt | policy | as | outcome\n{table}");
    assert!(
        skipped < verdicts.len(),
        "every attempt was skipped\n{table}"
    );
}

fn who() -> &'static str {
    match is_root() {
        true => "root",
        false => "a user without rights",
    }
}
