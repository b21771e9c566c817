use std::time::Duration;

use innkeeper_protocol::ErrorCode;
use innkeeper_sandbox::{Sandbox, SandboxOptions};
use serde_json::json;

use super::*;
use crate::builtin::code::CodeLimits;
use crate::builtin::code::tests::Lab;
use crate::limits::{MAX_CODE_SHOWN_STDOUT, MAX_SHOWN_CHARS};
use crate::script::Interpreters;

#[tokio::test]
async fn each_language_runs_a_program() {
    let lab = Lab::new();
    for (language, code, stdout, exit) in [
        ("python", "print('hej', 1 + 1)", "hej 2\n", 0),
        (
            "python",
            "import sys; print('数据 ä'); sys.exit(3)",
            "数据 ä\n",
            3,
        ),
        ("python", "1 + 1", "", 0),
        (
            "python",
            "print(__name__, __file__)",
            "__main__ /tmp/work/main.py\n",
            0,
        ),
        ("python", "import os; print(os.getcwd())", "/tmp/work\n", 0),
        ("python", "```python\nprint(1)\n```", "1\n", 0),
        ("node", "console.log('hej', 1 + 1, 'ä')", "hej 2 ä\n", 0),
        (
            "node",
            "const fs = require('fs'); console.log(fs.existsSync(__filename), require.main === module)",
            "true true\n",
            0,
        ),
        (
            "node",
            "import fs from 'node:fs';\nconsole.log(await Promise.resolve(5), fs.existsSync('main.mjs'))",
            "5 true\n",
            0,
        ),
        (
            "node",
            "const os = require('os'); await 1; console.log(typeof os.cpus, __dirname)",
            "function /tmp/work\n",
            0,
        ),
        (
            "node",
            "#!/usr/bin/env node\nx = 5; console.log(x)",
            "5\n",
            0,
        ),
        ("node", "process.exit(4)", "", 4),
        (
            "bash",
            "set -e\nfor n in 1 2; do echo \"$n\"; done | tac\nexit 5",
            "2\n1\n",
            5,
        ),
    ] {
        let told = lab.run(language, code).await;
        assert_eq!(told["stdout"], stdout, "{language}: {code}: {told}");
        assert_eq!(told["exit"], exit, "{language}: {code}: {told}");
        assert_eq!(told["files"], json!([]), "{language}: {code}: {told}");
        assert_eq!(told["truncated"], json!({"stdout": false, "stderr": false}));
    }
}

#[tokio::test]
async fn a_program_that_fails_is_a_result() {
    let lab = Lab::new();
    for (language, code, said) in [
        (
            "python",
            "def f():\n    return 1 / 0\nf()",
            "main.py\", line 2, in f\n    return 1 / 0\n",
        ),
        ("python", "print(", "SyntaxError"),
        ("node", "function f() { null.x }\nf()", "main.cjs:1"),
        ("node", "console.log(1", "SyntaxError"),
        ("node", "import x from 'nowhere'", "ERR_MODULE_NOT_FOUND"),
        ("bash", "ls /nowhere; exit 1", "/nowhere"),
    ] {
        let told = lab.run(language, code).await;
        assert_eq!(told["exit"], 1, "{language}: {code}: {told}");
        let stderr = told["stderr"].as_str().unwrap();
        assert!(stderr.contains(said), "{language}: {code}: {stderr}");
        assert!(told.get("limit").is_none(), "{told}");
    }
    let killed = lab
        .run("python", "import os; os.kill(os.getpid(), 11)")
        .await;
    assert_eq!(
        (&killed["exit"], &killed["signal"]),
        (&json!(null), &json!("SIGSEGV"))
    );
}

#[tokio::test]
async fn files_go_in_and_come_out() {
    let lab = Lab::new();
    lab.house.put("data/sales.csv", "price\n1\n2\n");
    lab.house
        .put("lib/helper.py", "def twice(x): return 2 * x\n");
    lab.house
        .put("src/main.py", "raise SystemExit('not this one')\n");
    let code = "
import csv, os, sys
from helper import twice
total = sum(twice(int(row['price'])) for row in csv.DictReader(open('sales.csv')))
os.makedirs('out/deep')
open('out/deep/数据.txt', 'w').write(str(total))
open('bytes.bin', 'wb').write(bytes([0, 255]))
open('sales.csv', 'a').write('3\\n')
open('/tmp/elsewhere', 'w').write('x')
os.symlink('/etc/passwd', 'link')
print(sorted(os.listdir('.')), sys.stdin.read())
";
    let files = json!([
        "data/sales.csv",
        "user://projects/default/lib/helper.py",
        "src/main.py"
    ]);
    let told = lab
        .execute(json!({"language": "python", "code": code, "files": files, "stdin": "in ä"}))
        .await
        .unwrap();
    assert_eq!(told["exit"], 0, "{told}");
    let listed =
        "['_main.py', 'bytes.bin', 'helper.py', 'link', 'main.py', 'out', 'sales.csv'] in ä\n";
    assert_eq!(told["stdout"], listed);
    let mut kept: Vec<_> = told["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            let uri = file["uri"].as_str().unwrap();
            let place = uri.strip_prefix("user://projects/default/").unwrap();
            assert!(place.starts_with("outputs/code/call_1/"), "{place}");
            let bytes = std::fs::read(lab.house.project().join(place)).unwrap();
            assert_eq!(file["size"], bytes.len());
            (file["name"].as_str().unwrap().to_owned(), bytes)
        })
        .collect();
    kept.sort();
    let kept: Vec<_> = kept
        .iter()
        .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
        .collect();
    assert_eq!(
        kept,
        [
            ("bytes.bin", &[0, 255][..]),
            ("out/deep/数据.txt", b"6"),
            ("sales.csv", b"price\n1\n2\n3\n"),
        ]
    );
    // What went in is as it was.
    assert_eq!(lab.house.get("data/sales.csv"), "price\n1\n2\n");
}

#[tokio::test]
async fn the_code_replaces_no_file() {
    let lab = Lab::new();
    lab.house.put("main.mjs", "export default 'mine'\n");
    let code = "import mine from './main.mjs'; console.log(mine)";
    let told = lab
        .execute(json!({"language": "node", "code": code, "files": ["main.mjs"]}))
        .await
        .unwrap();
    assert_eq!(told["stdout"], "mine\n", "{told}");
    assert_eq!(told["files"], json!([]), "{told}");
}

#[tokio::test]
async fn a_long_output_is_cut_and_kept() {
    let lab = Lab::new();
    let code = "import sys\nfor n in range(100_000): print(n)\nsys.stderr.write('e' * 50_000)\nopen('stdout.txt', 'w').write('mine')";
    let told = lab.run("python", code).await;
    assert_eq!(told["truncated"], json!({"stdout": true, "stderr": true}));
    let shown = told["stdout"].as_str().unwrap();
    assert!(shown.starts_with("0\n1\n2\n") && shown.ends_with("99998\n99999\n"));
    assert!(shown.contains("characters are left out here"));
    assert!(shown.len() < MAX_CODE_SHOWN_STDOUT + 100);
    assert!(told.to_string().chars().count() < MAX_SHOWN_CHARS);
    let stored = |uri: &Json| {
        let place = uri
            .as_str()
            .unwrap()
            .strip_prefix("user://projects/default/");
        lab.house.get(place.unwrap())
    };
    let whole = stored(&told["stdout_uri"]);
    assert_eq!(whole.lines().count(), 100_000);
    assert_eq!(stored(&told["stderr_uri"]).len(), 50_000);
    assert_eq!(stored(&told["files"][0]["uri"]), "mine");
}

#[tokio::test]
async fn a_limit_is_a_result_that_names_it() {
    let limits = CodeLimits {
        room: Limits {
            memory: 128 << 20,
            output: 1 << 20,
            disk: 64 << 20,
            cpu: Some(Duration::from_secs(2)),
            ..CodeLimits::default().room
        },
        ..CodeLimits::default()
    };
    let lab = Lab::with(limits);
    for (code, limit, note) in [
        (
            "print('so far')\nimport time\ntime.sleep(60)",
            "wall",
            "after 1 s",
        ),
        (
            "print('so far')\nimport sys; sys.stdout.flush()\nx = []\nwhile True: x.append(bytearray(b'x' * (1 << 20)))",
            "memory",
            "128 MiB",
        ),
        (
            "print('so far')\nwhile True: print('x' * 1000)",
            "output",
            "1 MiB",
        ),
    ] {
        let told = lab
            .execute(json!({"language": "python", "code": code, "timeout": if limit == "wall" { 1 } else { 30 }}))
            .await
            .unwrap();
        assert_eq!(told["limit"], limit, "{code}: {told}");
        assert!(told["exit"].is_null() || limit == "memory", "{told}");
        assert!(told["note"].as_str().unwrap().contains(note), "{told}");
        assert!(
            told["stdout"].as_str().unwrap().starts_with("so far\n"),
            "{told}"
        );
    }
    let told = lab
        .execute(json!({"language": "bash", "code": "while :; do :; done", "timeout": 60}))
        .await
        .unwrap();
    assert_eq!(told["limit"], "cpu", "{told}");
    assert!(told["usage"]["cpu_ms"].as_u64().unwrap() >= 1_500, "{told}");
}

#[tokio::test]
async fn there_is_no_network_and_no_house() {
    let lab = Lab::new();
    let home = lab.house.home();
    let code = format!(
        "import os, socket\nprint(os.path.exists({home:?}), sorted(os.environ))\ntry:\n    socket.create_connection(('127.0.0.1', 80), 1)\nexcept OSError: print('no')"
    );
    let told = lab.run("python", &code).await;
    let stdout = told["stdout"].as_str().unwrap();
    assert!(
        stdout.starts_with("False") && stdout.ends_with("no\n"),
        "{told}"
    );
    for name in std::env::vars()
        .map(|(name, _)| name)
        .filter(|name| name.starts_with("CARGO"))
    {
        assert!(!stdout.contains(&format!("'{name}'")), "{name}");
    }
}

#[tokio::test]
async fn bad_calls_are_errors() {
    let lab = Lab::new();
    lab.house.put("a/x", "1");
    lab.house.put("b/x", "1");
    for (arguments, reason) in [
        (
            json!({"language": "bash", "code": ":", "files": ["none"]}),
            "file.not_found",
        ),
        (
            json!({"language": "bash", "code": ":", "files": ["a/x", "b/x"]}),
            "code.same_file_name",
        ),
        (
            json!({"language": "bash", "code": "x".repeat(2 << 20)}),
            "code.too_large",
        ),
        (
            json!({"language": "bash", "code": ":", "stdin": "x".repeat(MAX_CODE_STDIN_BYTES + 1)}),
            "code.too_large",
        ),
    ] {
        let error = lab.execute(arguments).await.unwrap_err();
        assert_eq!(error.reason.as_deref(), Some(reason));
    }
    let options = SandboxOptions::new(innkeeper_testkit::room::launcher());
    let bare = Lab::of(
        Sandbox::new(options),
        Interpreters::on(None),
        CodeLimits::default(),
    );
    for (id, arguments) in [
        (
            "CodeInterpreter:execute",
            json!({"language": "node", "code": "1"}),
        ),
        ("CodeInterpreter:session", json!({"code": "1"})),
    ] {
        let error = bare.call(id, arguments, |_| {}).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ToolUnavailable, "{id}");
        assert_eq!(
            error.reason.as_deref(),
            Some("script.interpreter_missing"),
            "{id}"
        );
    }
}

#[tokio::test]
async fn without_a_sandbox_nothing_runs() {
    let sandbox = Sandbox::new(SandboxOptions::new("/nowhere/innkeeper-room"));
    let lab = Lab::of(sandbox, Interpreters::default(), CodeLimits::default());
    for (id, arguments) in [
        (
            "CodeInterpreter:execute",
            json!({"language": "bash", "code": ":"}),
        ),
        ("CodeInterpreter:session", json!({"code": "1"})),
    ] {
        let error = lab.call(id, arguments, |_| {}).await.unwrap_err();
        let reason = error.reason.unwrap();
        assert!(reason.starts_with("sandbox."), "{id}: {reason}");
    }
}

#[tokio::test]
async fn a_cancelled_program_ends() {
    let lab = Lab::new();
    let code = "import time\nopen('/tmp/work/begun', 'w').close()\ntime.sleep(600)";
    let token = tokio_util::sync::CancellationToken::new();
    let stop = token.clone();
    let called = lab.call(
        "CodeInterpreter:execute",
        json!({"language": "python", "code": code}),
        |call| call.context.cancel = token,
    );
    let (called, ()) = tokio::join!(called, async move {
        tokio::task::yield_now().await;
        stop.cancel();
    });
    assert_eq!(called.unwrap_err().code, ErrorCode::ToolCancelled);
}
