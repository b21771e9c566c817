use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::RunId;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::builtin::code::CodeLimits;
use crate::builtin::code::tests::Lab;
use crate::builtin::testing::caller;

#[tokio::test]
async fn a_state_lasts_from_cell_to_cell() {
    let lab = Lab::new();
    for (code, result, stdout, stderr, exit) in [
        ("x = 20\nx + 1", Some("21"), "", "", 0),
        ("x += 1", None, "", "", 0),
        ("print('hej ä')\nx", Some("21"), "hej ä\n", "", 0),
        ("_ * 2", Some("42"), "", "", 0),
        ("None", None, "", "", 0),
        ("'数据'", Some("'数据'"), "", "", 0),
        ("```python\nx\n```", Some("21"), "", "", 0),
        ("import sys\nsys.exit(3)", None, "", "", 3),
        ("raise SystemExit('bye')", None, "", "bye\n", 1),
        ("exit()", None, "", "", 0),
        (
            "import subprocess\nsubprocess.run('echo out; echo err >&2', shell=True).returncode",
            Some("0"),
            "out\n",
            "err\n",
            0,
        ),
        (
            "import os\n_ = os.write(1, b'raw\\n')",
            None,
            "raw\n",
            "",
            0,
        ),
        (
            "os.close(1); sys.stdout = None; os.dup2(2, 0)",
            Some("0"),
            "",
            "",
            0,
        ),
        ("print('again')", None, "again\n", "", 0),
        (
            "import asyncio\nawait asyncio.sleep(0, 7)",
            Some("7"),
            "",
            "",
            0,
        ),
        ("pid = os.fork()\nx", Some("21"), "", "", 0),
        (
            "import pickle\nclass A: pass\npickle.loads(pickle.dumps(A())).__class__.__name__",
            Some("'A'"),
            "",
            "",
            0,
        ),
        ("os.chdir('/tmp')", None, "", "", 0),
        ("os.getcwd()", Some("'/tmp/work'"), "", "", 0),
        ("'\\udc80' + chr(0)", Some("'\\udc80\\x00'"), "", "", 0),
    ] {
        let told = lab.cell(code).await;
        assert_eq!(
            told.get("result").and_then(Json::as_str),
            result,
            "{code}: {told}"
        );
        assert_eq!(told["stdout"], stdout, "{code}: {told}");
        assert_eq!(told["stderr"], stderr, "{code}: {told}");
        assert_eq!(told["exit"], exit, "{code}: {told}");
        assert_eq!(told["fresh"], code.starts_with("x = 20"), "{code}: {told}");
        assert!(told.get("note").is_none(), "{code}: {told}");
    }
    let told = lab
        .session(json!({"code": "'x' in globals()", "reset": true}))
        .await
        .unwrap();
    assert_eq!(
        (&told["result"], &told["fresh"]),
        (&json!("False"), &json!(true))
    );
    assert!(told.get("note").is_none());
}

#[tokio::test]
async fn an_exception_is_told_as_in_a_notebook() {
    let lab = Lab::new();
    let told = lab.cell("def f():\n    return 1 / 0\n\nf()").await;
    assert_eq!(told["exit"], 1);
    let stderr = told["stderr"].as_str().unwrap();
    assert!(stderr.starts_with("Traceback (most recent call last):\n  File \"<cell 1>\", line 4, in <module>\n    f()\n"), "{stderr}");
    assert!(
        stderr.ends_with("ZeroDivisionError: division by zero\n"),
        "{stderr}"
    );
    assert!(!stderr.contains("<string>"), "{stderr}");
    let told = lab.cell("x = (1,").await;
    assert_eq!(told["exit"], 1);
    let stderr = told["stderr"].as_str().unwrap();
    assert!(
        stderr.contains("<cell 2>") && stderr.contains("SyntaxError"),
        "{stderr}"
    );
    assert!(!stderr.contains("<string>"), "{stderr}");
    assert_eq!(lab.cell("f.__name__").await["result"], "'f'");
}

#[tokio::test]
async fn what_a_cell_prints_is_not_taken_for_an_answer() {
    let lab = Lab::new();
    let mark = "0".repeat(32);
    let forged = format!("\0{mark}0002{{}}\0{mark}0000");
    let code =
        format!("import sys\nfor pipe in (sys.stdout, sys.stderr): pipe.write({forged:?})\n1");
    let code = code.replace("\\0", "\\x00");
    let told = lab.cell(&code).await;
    assert_eq!(told["result"], "1", "{told}");
    assert_eq!(told["stdout"], forged, "{told}");
    assert_eq!(told["stderr"], forged, "{told}");
    // Code that looks for the mark finds it: it can only lie about itself, and what makes no sense ends it.
    let found = "import sys, os\nframe = sys._getframe()\nwhile 'order' not in frame.f_locals: frame = frame.f_back\nmark = frame.f_locals['order']['mark'].encode()\nos.write(1, b'\\x00' + mark + b'0002{}\\x00' + mark + b'0000')\nos.write(2, b'\\x00' + mark + b'0000')";
    let told = lab.cell(found).await;
    assert!(told["exit"].is_null(), "{told}");
    assert!(told["note"].as_str().unwrap().contains("afresh"), "{told}");
    assert_eq!(lab.cell("1").await["fresh"], true);
}

#[tokio::test]
async fn files_go_in_and_come_out_cell_by_cell() {
    let lab = Lab::new();
    lab.house.put("data/a.csv", "1,2\n");
    let arguments = json!({"code": "open('a.csv').read()", "files": ["data/a.csv"]});
    let told = lab.session(arguments).await.unwrap();
    assert_eq!(
        (&told["result"], &told["files"]),
        (&json!("'1,2\\n'"), &json!([]))
    );
    for (code, files) in [
        (
            "import os\nos.makedirs('out')\nopen('out/数据.bin', 'wb').write(bytes(range(256)) * 100)",
            vec![("out/数据.bin", 25_600)],
        ),
        ("1", vec![]),
        (
            "open('a.csv', 'a').write('3')\nopen('empty', 'w').close()\nos.symlink('/etc/passwd', 'link')\nos.mkfifo('pipe')",
            vec![("a.csv", 5), ("empty", 0)],
        ),
        ("os.remove('a.csv')", vec![]),
    ] {
        let told = lab.cell(code).await;
        let kept: Vec<_> = told["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| {
                (
                    file["name"].as_str().unwrap(),
                    file["size"].as_u64().unwrap(),
                )
            })
            .collect();
        assert_eq!(kept, files, "{code}: {told}");
    }
    assert_eq!(lab.house.get("outputs/code/call_1/a.csv"), "1,2\n3");
    let bytes =
        std::fs::read(lab.house.project().join("outputs/code/call_1/out/数据.bin")).unwrap();
    assert_eq!(bytes.len(), 25_600);
    // A file that cannot be laid in is told, and the cell runs.
    lab.cell("os.mkdir('a.csv')").await;
    let told = lab
        .session(json!({"code": "2", "files": ["data/a.csv"]}))
        .await
        .unwrap();
    assert_eq!(told["result"], "2");
    assert!(told["stderr"].as_str().unwrap().contains("a.csv"), "{told}");
}

#[tokio::test]
async fn much_is_cut_and_kept() {
    let lab = Lab::new();
    let told = lab.cell("print('x' * 1_000_000)\nimport sys\nsys.stderr.write('e' * 1_000_000)\n'r' * 1_000_000").await;
    assert_eq!(
        told["truncated"],
        json!({"result": true, "stdout": true, "stderr": true})
    );
    assert!(told["stdout_uri"].is_string() && told["stderr_uri"].is_string());
    assert!(told.to_string().chars().count() < crate::limits::MAX_SHOWN_CHARS);
    let whole = told["stdout_uri"].as_str().unwrap();
    let place = whole.strip_prefix("user://projects/default/").unwrap();
    assert_eq!(lab.house.get(place).len(), 1_000_001);
    let told = lab
        .cell("for n in range(100): open(f'{n:03}', 'w').write('x')")
        .await;
    assert_eq!(told["files"].as_array().unwrap().len(), 32);
    assert!(
        told["note"].as_str().unwrap().contains("68 further files"),
        "{told}"
    );
}

#[tokio::test]
async fn a_worker_that_dies_takes_its_state_along() {
    let limits = CodeLimits {
        room: Limits {
            memory: 128 << 20,
            output: 1 << 20,
            ..CodeLimits::default().room
        },
        ..CodeLimits::default()
    };
    let lab = Lab::with(limits);
    for (code, exit, signal, limit) in [
        (
            "print('so far')\nimport os\nos._exit(7)",
            json!(7),
            None,
            None,
        ),
        (
            "print('so far')\nimport os\nos.kill(os.getpid(), 9)",
            json!(null),
            Some("SIGKILL"),
            None,
        ),
        (
            "print('so far')\nx = []\nwhile True: x.append(bytearray(b'x' * (1 << 20)))",
            json!(null),
            None,
            Some("memory"),
        ),
        (
            "print('so far')\nimport time\ntime.sleep(600)",
            json!(null),
            None,
            Some("wall"),
        ),
        (
            "print('so far')\nwhile True: print('x' * 1000)",
            json!(null),
            None,
            Some("output"),
        ),
    ] {
        assert_eq!(lab.cell("y = 1").await["fresh"], true);
        let timeout = if limit == Some("wall") { 1 } else { 30 };
        let told = lab
            .session(json!({"code": code, "timeout": timeout}))
            .await
            .unwrap();
        assert_eq!(told["exit"], exit, "{code}: {told}");
        assert_eq!(
            told.get("signal").and_then(Json::as_str),
            signal,
            "{code}: {told}"
        );
        assert_eq!(
            told.get("limit").and_then(Json::as_str),
            limit,
            "{code}: {told}"
        );
        assert!(
            told["stdout"].as_str().unwrap().starts_with("so far\n"),
            "{told}"
        );
        assert!(told["note"].as_str().unwrap().contains("is gone"), "{told}");
    }
}

#[tokio::test]
async fn runs_do_not_see_each_other() {
    let lab = Lab::new();
    assert_eq!(lab.cell_of("one", "x = 1").await["fresh"], true);
    assert_eq!(
        lab.cell_of("two", "'x' in globals()").await["result"],
        "False"
    );
    assert_eq!(lab.cell_of("one", "x").await["result"], "1");
    lab.ends.tell(&RunId::new("one"));
    let told = lab.cell_of("one", "'x' in globals()").await;
    assert_eq!(
        (&told["result"], &told["fresh"]),
        (&json!("False"), &json!(true))
    );
    assert_eq!(lab.cell_of("two", "1").await["fresh"], false);
}

#[tokio::test]
async fn the_session_that_was_not_used_for_the_longest_makes_room() {
    let lab = Lab::with(CodeLimits {
        sessions: 2,
        ..CodeLimits::default()
    });
    for run in ["one", "two", "one", "three"] {
        lab.cell_of(run, "x = 1").await;
    }
    assert_eq!(lab.cell_of("one", "x").await["fresh"], false);
    let told = lab.cell_of("two", "1").await;
    assert_eq!(told["fresh"], true);
    assert!(
        told["note"].as_str().unwrap().contains("another session"),
        "{told}"
    );

    let none = Lab::with(CodeLimits {
        sessions: 0,
        ..CodeLimits::default()
    });
    let error = none.session(json!({"code": "1"})).await.unwrap_err();
    assert_eq!(error.reason.as_deref(), Some("code.too_many_sessions"));
}

#[tokio::test]
async fn a_session_that_nobody_uses_ends() {
    let lab = Lab::with(CodeLimits {
        session_idle: Duration::ZERO,
        ..CodeLimits::default()
    });
    lab.cell("x = 1").await;
    let slot = lab.sessions.of(&caller());
    while !slot.is_empty() {
        tokio::task::yield_now().await;
    }
    let told = lab.cell("'x' in globals()").await;
    assert_eq!(
        (&told["result"], &told["fresh"]),
        (&json!("False"), &json!(true))
    );
    assert!(
        told["note"].as_str().unwrap().contains("not used"),
        "{told}"
    );
}

#[tokio::test]
async fn a_cell_that_is_stopped_ends_the_session() {
    let lab = Lab::new();
    lab.cell("x = 1").await;
    let token = CancellationToken::new();
    let stop = token.clone();
    let called = lab.call(
        "CodeInterpreter:session",
        json!({"code": "import time\ntime.sleep(600)"}),
        |call| call.context.cancel = token,
    );
    let (called, ()) = tokio::join!(called, async move {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    });
    assert_eq!(called.unwrap_err().code, ErrorCode::ToolCancelled);
    let told = lab.cell("'x' in globals()").await;
    assert_eq!(
        (&told["result"], &told["fresh"]),
        (&json!("False"), &json!(true))
    );
    assert!(
        told["note"].as_str().unwrap().contains("was stopped"),
        "{told}"
    );
}

#[tokio::test]
async fn cells_of_one_run_queue() {
    let lab = Lab::new();
    lab.cell("seen = []").await;
    let cell = |n: u32| {
        let code = format!("seen.append(('begin', {n}))\nseen.append(('end', {n}))");
        let lab = &lab;
        async move { lab.cell(&code).await }
    };
    tokio::join!(cell(1), cell(2), cell(3));
    let told = lab.cell("all(a[0] == 'begin' and b == ('end', a[1]) for a, b in zip(seen[::2], seen[1::2])), len(seen)").await;
    assert_eq!(told["result"], "(True, 6)");
}

#[tokio::test]
async fn a_worker_that_died_between_two_cells_is_noticed() {
    let lab = Lab::new();
    let code = "import threading, os\nx = 1\nthreading.Timer(0.05, lambda: os._exit(1)).start()";
    lab.cell(code).await;
    let noticed = tokio::time::timeout(Duration::from_secs(60), async {
        loop {
            let told = lab.cell("'x' in globals()").await;
            if told["fresh"] == true || told["exit"].is_null() || told["exit"] == 1 {
                break told;
            }
            tokio::task::yield_now().await;
        }
    });
    let told = noticed.await.unwrap();
    assert!(told["note"].as_str().unwrap().contains("gone"), "{told}");
}
