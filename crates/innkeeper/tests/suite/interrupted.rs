//! What is left when a process is killed in the middle of a call, or cannot write its log.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use serde_json::json;

use super::home::{House, Plugin};

#[test]
fn a_killed_process_leaves_a_record_of_the_call() {
    let house = House::new();
    let pipe = house.pipe("slow");
    house.plugin(&Plugin {
        name: "slow",
        tool: "Slow.Wait",
        parameters: json!({"type": "object"}),
        mode: "sync",
        // It says that it has begun, and then holds on to the line without a word.
        script: "exec 3> \"$INNKEEPER_DATA/pipe\"; echo begun >&3; sleep 600; exit 0",
        manifest: "",
    });
    let mut child = house
        .command(&["tools", "call", "Slow.Wait"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = fs::File::open(&pipe).unwrap();
    let mut said = [0; 6];
    line.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"begun\n");
    child.kill().unwrap();
    child.wait().unwrap();
    // The line ends when nobody holds it any more: the script and all it has started went with the process.
    assert_eq!(line.read(&mut said).unwrap(), 0);

    let log = house.json(&["tools", "audit"]);
    assert_eq!(log[0]["tool"], "Slow.Wait");
    assert_eq!(log[0]["outcome"], "outcome_unknown");
    assert_eq!(log.as_array().unwrap().len(), 1, "{log}");
    assert_eq!(house.run(&["tools", "audit", "--verify"]).code, Some(0));
}

#[test]
fn what_cannot_be_written_down_is_not_done() {
    let house = House::new();
    house.json(&[
        "tools",
        "call",
        "File.Write",
        "file_path=a.txt",
        "content=x",
    ]);
    let path = house.path().join("innkeeper.db");
    let mut bytes = fs::read(&path).unwrap();
    for byte in &mut bytes[4_096..] {
        *byte ^= 0x5a;
    }
    fs::write(&path, bytes).unwrap();
    let run = house.run(&[
        "tools",
        "call",
        "File.Write",
        "file_path=b.txt",
        "content=x",
    ]);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(!house.path().join("projects/default/b.txt").exists());
}
