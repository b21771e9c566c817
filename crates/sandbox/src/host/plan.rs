//! From a policy to what the launcher is told. Refuses what cannot be kept.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use crate::limits::{MAX_ROOTS, MAX_SPEC_BYTES, MAX_WORKSPACE_BYTES, MAX_WORKSPACE_FILES};
use crate::network::{self, Door};
use crate::wire::{Bounds, Laid, Root, Spec};
use crate::{Limits, Network, Program, SandboxError, SandboxPolicy, Workspace};

pub(super) struct Planned {
    pub(super) spec: Spec,
    pub(super) doors: Vec<Door>,
}

/// Places that are the room's own, and must not be covered.
const RESERVED: [&str; 5] = ["/proc", "/dev", "/sys", "/tmp", "/etc"];

pub(super) fn plan(
    program: Option<&Program>,
    policy: &SandboxPolicy,
    closed: &[PathBuf],
) -> Result<Planned, SandboxError> {
    if let Some(program) = program
        && !program.path.is_absolute()
    {
        return Err(SandboxError::Program {
            path: program.path.clone(),
            why: "its path must be absolute".to_owned(),
        });
    }
    let doors = match &policy.network {
        Network::None => Vec::new(),
        Network::Hosts(hosts) if hosts.is_empty() => Vec::new(),
        Network::Hosts(hosts) => {
            network::check(hosts).map_err(refuse)?;
            network::doors(hosts)
        }
    };
    let mut environment = policy.environment.clone();
    for (name, value) in network::environment(&doors) {
        environment.set(name, value);
    }
    let unfit = |name: &str| name.is_empty() || name.contains(['=', '\0']);
    if let Some((name, _)) = environment.iter().find(|(name, _)| unfit(name)) {
        return Err(refuse(format!("{name:?} cannot be the name of a variable")));
    }
    let roots = roots(policy)?;
    let spec = Spec {
        covers: covers(&roots, closed)?,
        program: program.map(|program| program.path.clone()),
        arguments: program
            .map(|program| program.arguments.clone())
            .unwrap_or_default(),
        environment,
        directory: directory(policy),
        roots,
        hosts: network::hosts_file(&doors),
        doors: doors.iter().map(|door| door.address).collect(),
        limits: bounds(&policy.limits),
        workspace: policy.workspace.as_ref().map(laid).transpose()?,
        cgroup: None,
    };
    let text = spec.arguments.iter().map(String::len).sum::<usize>()
        + spec
            .environment
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum::<usize>();
    if text > MAX_SPEC_BYTES / 2 {
        return Err(refuse(format!(
            "arguments and environment have {text} bytes, more than {}",
            MAX_SPEC_BYTES / 2
        )));
    }
    Ok(Planned { spec, doors })
}

fn refuse(why: String) -> SandboxError {
    SandboxError::Policy { why }
}

fn directory(policy: &SandboxPolicy) -> PathBuf {
    let fallback = match policy.workspace {
        Some(_) => Workspace::PATH,
        None => "/tmp",
    };
    policy.directory.clone().unwrap_or_else(|| fallback.into())
}

/// Each at the place where it was asked for, and where it really is if that is another.
fn roots(policy: &SandboxPolicy) -> Result<Vec<Root>, SandboxError> {
    if policy.read.len() + policy.write.len() > MAX_ROOTS {
        return Err(refuse(format!("more than {MAX_ROOTS} roots")));
    }
    let mut roots: Vec<Root> = Vec::new();
    let write = policy.write.iter().map(|path| (path, true));
    let read = policy.read.iter().map(|path| (path, false));
    for (path, writable) in write.chain(read) {
        let bad = |why: &str| SandboxError::Root {
            path: path.clone(),
            why: why.to_owned(),
        };
        if !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
            return Err(bad("its path must be absolute and without `..`"));
        }
        let source = std::fs::canonicalize(path).map_err(|error| bad(&error.to_string()))?;
        if source.parent().is_none() || RESERVED.iter().any(|own| source == Path::new(own)) {
            return Err(bad("so much is never given"));
        }
        if ["/proc", "/sys", "/dev"]
            .iter()
            .any(|own| source.starts_with(own))
        {
            return Err(bad("what the kernel shows is never given"));
        }
        if writable && !source.is_dir() {
            return Err(bad("only a folder can be given for writing"));
        }
        let as_named: PathBuf = path.components().collect();
        for target in [as_named, source.clone()] {
            if roots.iter().all(|root| root.target != target) {
                roots.push(Root {
                    source: source.clone(),
                    target,
                    writable,
                });
            }
        }
    }
    Ok(roots)
}

/// What every program sees of the system, links followed.
const SYSTEM: [&str; 2] = ["/usr", "/nix/store"];

/// Where closed folders would show inside.
fn covers(roots: &[Root], closed: &[PathBuf]) -> Result<Vec<PathBuf>, SandboxError> {
    let mut covers = Vec::new();
    for path in closed {
        // What is not there shows nothing.
        let Ok(path) = std::fs::canonicalize(path) else {
            continue;
        };
        if SYSTEM.iter().any(|system| path.starts_with(system)) {
            covers.push(path.clone());
        }
        for root in roots {
            if root.source == path {
                return Err(SandboxError::Root {
                    path,
                    why: "it holds what no program may see".to_owned(),
                });
            }
            if let Ok(below) = path.strip_prefix(&root.source) {
                covers.push(root.target.join(below));
            }
        }
    }
    covers.sort();
    covers.dedup();
    Ok(covers)
}

fn bounds(limits: &Limits) -> Bounds {
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
    Bounds {
        wall_ms: limits.wall.map(ms),
        cpu_ms: limits.cpu.map(ms),
        memory: limits.memory,
        processes: limits.processes.max(1),
        open_files: limits.open_files.max(8),
        file_size: limits.file_size,
        disk: limits.disk.max(64 << 10),
    }
}

fn laid(workspace: &Workspace) -> Result<Laid, SandboxError> {
    if workspace.files.len() > MAX_WORKSPACE_FILES {
        return Err(refuse(format!(
            "more than {MAX_WORKSPACE_FILES} files for the workspace"
        )));
    }
    let bytes: usize = workspace.files.iter().map(|file| file.bytes.len()).sum();
    if bytes > MAX_WORKSPACE_BYTES {
        return Err(refuse(format!(
            "the files for the workspace have {bytes} bytes, more than {MAX_WORKSPACE_BYTES}"
        )));
    }
    for file in &workspace.files {
        let name = Path::new(&file.name);
        let plain = name
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !plain || file.name.is_empty() || file.name.contains('\0') {
            return Err(refuse(format!(
                "'{}' is no name for a file in the workspace",
                file.name
            )));
        }
    }
    let files = workspace.files.iter();
    Ok(Laid {
        files: files
            .map(|file| (file.name.clone(), file.bytes.len() as u64))
            .collect(),
        collect_files: workspace.collect_files,
        collect_bytes: workspace.collect_bytes,
    })
}
