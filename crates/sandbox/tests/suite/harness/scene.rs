//! A house with something to lose: a home with secrets, a plugin, its data, another plugin's data, and services.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use innkeeper_sandbox::SandboxPolicy;
use serde_json::json;
use tempfile::TempDir;

use super::services::Services;

const ATTEMPTS: [(&str, &str); 10] = [
    ("attempt.py", include_str!("../../attempts/attempt.py")),
    ("bombs.py", include_str!("../../attempts/bombs.py")),
    ("files.py", include_str!("../../attempts/files.py")),
    ("kernel.py", include_str!("../../attempts/kernel.py")),
    ("network.py", include_str!("../../attempts/network.py")),
    (
        "numbers_of_calls.py",
        include_str!("../../attempts/numbers_of_calls.py"),
    ),
    ("processes.py", include_str!("../../attempts/processes.py")),
    ("workspace.py", include_str!("../../attempts/workspace.py")),
    ("shell.sh", include_str!("../../attempts/shell.sh")),
    ("node.js", include_str!("../../attempts/node.js")),
];

pub(crate) struct Scene {
    folder: TempDir,
    /// Is in every secret, and in the command line of every program that runs here.
    pub(crate) token: String,
    pub(crate) home: PathBuf,
    pub(crate) plugin: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) other: PathBuf,
    pub(crate) services: Services,
    before: Snapshot,
}

type Snapshot = BTreeMap<PathBuf, (u32, u64, Option<Vec<u8>>)>;

impl Scene {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("innkeeper-scene-")
            .tempdir()
            .unwrap();
        let token = token();
        let place = |name: &str| folder.path().join(name);
        let (home, plugin, data, other) = (
            place("home"),
            place("plugin"),
            place("data"),
            place("other"),
        );
        let put = |path: PathBuf, text: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put(home.join("secrets.toml"), &format!("key = \"{token}\"\n"));
        put(home.join(format!("{token}.pem")), &token);
        put(other.join("data.txt"), &token);
        put(plugin.join("data.txt"), "for all to read");
        put(plugin.join("inner/mine.txt"), "its own");
        put(data.join("fixed/rule.txt"), "stays as it is");
        fs::create_dir_all(data.join("free")).unwrap();
        fs::create_dir_all(plugin.join("empty")).unwrap();
        for (name, text) in ATTEMPTS {
            put(plugin.join("attempts").join(name), text);
        }
        symlink(home.join("secrets.toml"), plugin.join("shipped")).unwrap();
        symlink(&home, plugin.join("shipped-folder")).unwrap();
        let sockets = [&home, &plugin, &data].map(|place| place.join("service.sock"));
        let services = Services::start(
            &token,
            &sockets.each_ref().map(PathBuf::as_path),
            &data.join("datagram.sock"),
        )
        .unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let mut scene = Self {
            folder,
            token,
            home,
            plugin,
            data,
            other,
            services,
            before: Snapshot::new(),
        };
        scene.before = scene.snapshot();
        scene
    }

    /// What an attempt is told.
    pub(crate) fn describe(&self, policy: &SandboxPolicy) -> String {
        let granted: Vec<_> = policy.read.iter().chain(&policy.write).collect();
        let names: Vec<_> = policy.environment.iter().map(|(name, _)| name).collect();
        let limits = policy.limits;
        json!({
            "token": self.token,
            "home": self.home,
            "plugin": self.plugin,
            "data": self.data,
            "other": self.other,
            "granted": granted,
            "environment_of_the_policy": names,
            "user_home": std::env::var("HOME").unwrap_or_else(|_| "/root".to_owned()),
            "pid": std::process::id(),
            "leaked": leaked_descriptors(),
            "tcp": self.services.tcp_port(),
            "udp": self.services.udp_port(),
            "abstract": self.token,
            "memory": limits.memory,
            "processes": limits.processes,
            "open_files": limits.open_files,
            "file_size": limits.file_size,
            "disk": limits.disk,
        })
        .to_string()
    }

    /// What has happened that must not.
    pub(crate) fn harm(&self) -> Vec<String> {
        let mut harm: Vec<String> = self
            .services
            .reached()
            .iter()
            .map(|service| format!("the host's {service} service was reached"))
            .collect();
        let after = self.snapshot();
        for path in self.before.keys().chain(after.keys()) {
            if self.before.get(path) != after.get(path) {
                harm.push(format!("{} is not as it was", path.display()));
            }
        }
        harm.extend(dangerous(&self.data));
        for pid in super::processes_with(&self.token) {
            harm.push(format!("process {pid} is still there"));
        }
        harm
    }

    /// What no program may change, whatever was granted: names, modes, links, contents.
    fn snapshot(&self) -> Snapshot {
        let mut seen = Snapshot::new();
        for root in [&self.home, &self.plugin, &self.other] {
            look(root, &mut seen);
        }
        look(&self.data.join("fixed"), &mut seen);
        // What lies in it may be changed by those to whom it is granted.
        seen.retain(|path, _| !path.starts_with(self.plugin.join("inner")));
        seen
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Attempts close doors behind them, and dig deeper than the standard library removes.
impl Drop for Scene {
    fn drop(&mut self) {
        if fs::remove_dir_all(&self.data).is_ok() {
            return;
        }
        let open = ["chmod", "-Rf", "u+rwX"];
        let remove = ["rm", "-rf", "--"];
        for [program, first, second] in [open, remove] {
            let mut command = Command::new(program);
            let _ = command.args([first, second]).arg(&self.data).status();
        }
    }
}

fn look(path: &Path, seen: &mut Snapshot) {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return;
    };
    let content = match metadata.file_type() {
        kind if kind.is_file() => fs::read(path).ok(),
        kind if kind.is_symlink() => Some(
            fs::read_link(path)
                .unwrap()
                .into_os_string()
                .into_encoded_bytes(),
        ),
        _ => None,
    };
    let links = if metadata.is_dir() {
        0
    } else {
        metadata.nlink()
    };
    seen.insert(path.to_owned(), (metadata.mode(), links, content));
    if metadata.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            look(&entry.unwrap().path(), seen);
        }
    }
}

/// Files that would do harm if somebody outside used them. Looks at one level: attempts leave them there.
fn dangerous(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        let device = matches!(metadata.mode() & 0o170_000, 0o020_000 | 0o060_000);
        let core = entry.file_name().to_string_lossy().starts_with("core");
        if metadata.mode() & 0o6000 != 0 || device || core {
            found.push(format!(
                "{} was left with mode {:o}",
                entry.path().display(),
                metadata.mode()
            ));
        }
    }
    found
}

/// A file and a folder that the server has open, and has forgotten to close for its children.
fn leaked_descriptors() -> &'static [i32] {
    static LEAKED: OnceLock<(Vec<File>, Vec<i32>)> = OnceLock::new();
    &LEAKED
        .get_or_init(|| {
            let files: Vec<_> = ["/etc/passwd", "/"]
                .map(|path| File::open(path).unwrap())
                .into();
            for file in &files {
                rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty()).unwrap();
            }
            let numbers = files.iter().map(AsRawFd::as_raw_fd).collect();
            (files, numbers)
        })
        .1
}

fn token() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    format!(
        "tok{:x}{:x}{:x}",
        std::process::id(),
        now.as_nanos(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    )
}
