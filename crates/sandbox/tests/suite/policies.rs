//! Policies that cannot be kept, and programs that cannot be started, are errors that say so. Nothing is run.

use std::path::Path;

use innkeeper_sandbox::{
    End, Job, Program, Sandbox, SandboxError, SandboxOptions, SandboxPolicy, Workspace,
    WorkspaceFile,
};

use super::harness::{Scene, launcher, sandbox};

async fn refused(program: Program, policy: SandboxPolicy) -> SandboxError {
    let job = Job {
        program,
        policy,
        ..Job::default()
    };
    let told = format!("{job:?}");
    match sandbox().run(job).await {
        Err(error) => error,
        Ok(outcome) => panic!("{:?}: {told}", outcome.end),
    }
}

fn quiet() -> Program {
    Program::new("/bin/true", [""; 0])
}

/// Roots that are not there, are no folders, or would be another way in.
#[tokio::test]
async fn roots_that_cannot_be_given() {
    let scene = Scene::new();
    let missing = scene.folder().join("missing");
    for path in [
        missing.as_path(),
        Path::new("relative/path"),
        Path::new(""),
        Path::new("/"),
        Path::new("/proc"),
        Path::new("/proc/self/root"),
        Path::new("/sys"),
        Path::new("/dev"),
        Path::new("/tmp"),
    ] {
        for writable in [false, true] {
            let mut policy = SandboxPolicy::default();
            let list = if writable {
                &mut policy.write
            } else {
                &mut policy.read
            };
            list.push(path.to_owned());
            let error = refused(quiet(), policy).await;
            assert!(
                matches!(
                    error,
                    SandboxError::Root { .. } | SandboxError::Policy { .. }
                ),
                "{}: {error}",
                path.display()
            );
        }
    }
}

/// What is closed shows nothing, though a folder around it was granted; roots below it show.
#[tokio::test]
async fn closed_folders_are_empty() {
    let around = tempfile::tempdir().unwrap();
    let around = around.path().canonicalize().unwrap();
    let closed = around.join("closed");
    let below = closed.join("plugins/one");
    std::fs::create_dir_all(&below).unwrap();
    for file in [
        around.join("open"),
        closed.join("secrets"),
        below.join("script"),
    ] {
        std::fs::write(file, "").unwrap();
    }
    let mut options = SandboxOptions::new(launcher());
    options.closed = vec![closed.clone()];
    let sandbox = Sandbox::new(options);
    let run = async |read: Vec<std::path::PathBuf>| {
        let list = format!(
            "cd {} && find . -type f | sort; touch closed/x",
            around.display()
        );
        let job = Job {
            program: Program::new("/bin/sh", ["-c", &list]),
            policy: SandboxPolicy {
                read,
                ..SandboxPolicy::default()
            },
            ..Job::default()
        };
        sandbox.run(job).await
    };
    let outcome = run(vec![around.clone(), below.clone()]).await.unwrap();
    let seen = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert_eq!(seen, "./closed/plugins/one/script\n./open\n");
    assert_ne!(outcome.end, End::Exit(0), "something could be written");
    let error = run(vec![closed.clone()]).await.unwrap_err();
    assert!(matches!(error, SandboxError::Root { .. }), "{error}");
}

/// A folder that is full before anything has begun.
#[tokio::test]
async fn a_folder_that_is_full_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("old"), vec![1; 300 << 10]).unwrap();
    let mut policy = SandboxPolicy::default();
    policy.write.push(folder.path().to_owned());
    policy.limits.disk = 100 << 10;
    let error = refused(quiet(), policy).await;
    let path = folder.path().canonicalize().unwrap();
    assert!(
        matches!(&error, SandboxError::Root { path: named, .. } if *named == path),
        "{error}"
    );
    assert!(error.to_string().contains("holds"), "{error}");
}

#[tokio::test]
async fn programs_that_cannot_be_started() {
    let scene = Scene::new();
    for program in [
        Program::new("/usr/bin/is-not-there", [""; 0]),
        Program::new("relative", [""; 0]),
        Program::new("", [""; 0]),
        Program::new("/usr", [""; 0]),
        Program::new("/etc/passwd", [""; 0]),
        Program::new(scene.home.join("secrets.toml"), [""; 0]),
        Program::new("/bin/true", ["nul\0inside"]),
    ] {
        let error = refused(program.clone(), SandboxPolicy::default()).await;
        assert!(
            !matches!(
                error,
                SandboxError::Cancelled | SandboxError::Unavailable { .. }
            ),
            "{program:?}: {error}"
        );
    }
}

#[tokio::test]
async fn variables_that_cannot_be_set() {
    for (name, value) in [
        ("NUL\0", "x"),
        ("NAME", "nul\0inside"),
        ("", "x"),
        ("A=B", "x"),
    ] {
        let mut policy = SandboxPolicy::default();
        policy.environment.set(name, value);
        let job = Job {
            program: Program::new("/usr/bin/env", [""; 0]),
            policy,
            ..Job::default()
        };
        match sandbox().run(job).await {
            Err(SandboxError::Policy { .. } | SandboxError::Failed { .. }) => {}
            other => panic!("{name:?}={value:?}: {other:?}"),
        }
    }
}

/// A name in the workspace leads nowhere else.
#[tokio::test]
async fn files_that_cannot_be_laid_in() {
    for name in [
        "",
        ".",
        "..",
        "../x",
        "a/../../x",
        "/etc/x",
        "a//../..//x",
        "nul\0inside",
        "a/",
    ] {
        let policy = SandboxPolicy {
            workspace: Some(Workspace {
                files: vec![WorkspaceFile {
                    name: name.to_owned(),
                    bytes: b"x".to_vec(),
                }],
                ..Workspace::default()
            }),
            ..SandboxPolicy::default()
        };
        let error = refused(quiet(), policy).await;
        assert!(
            matches!(
                error,
                SandboxError::Policy { .. } | SandboxError::Failed { .. }
            ),
            "{name:?}: {error}"
        );
    }
}

#[tokio::test]
async fn starting_places_that_cannot_be_had() {
    let scene = Scene::new();
    for directory in [scene.home.clone(), "/missing".into(), "relative".into()] {
        let policy = SandboxPolicy {
            directory: Some(directory.clone()),
            ..SandboxPolicy::default()
        };
        let error = refused(quiet(), policy).await;
        assert!(
            matches!(
                error,
                SandboxError::Policy { .. }
                    | SandboxError::Root { .. }
                    | SandboxError::Failed { .. }
            ),
            "{}: {error}",
            directory.display()
        );
    }
}

/// A root may be reached by a link; what is granted is what the link meant when it was granted.
#[tokio::test]
async fn a_root_can_be_a_link() {
    let scene = Scene::new();
    let link = scene.folder().join("link");
    std::os::unix::fs::symlink(&scene.plugin, &link).unwrap();
    let file = link.join("data.txt").display().to_string();
    let job = Job {
        program: Program::new("/bin/cat", [file]),
        policy: SandboxPolicy {
            read: vec![link],
            ..SandboxPolicy::default()
        },
        ..Job::default()
    };
    let outcome = sandbox().run(job).await.unwrap();
    assert_eq!(outcome.end, End::Exit(0));
    assert_eq!(outcome.stdout, b"for all to read");
}
