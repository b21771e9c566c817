//! The code interpreter as an agent meets it: through the pipeline, for the length of a run.

use innkeeper_sandbox::{Sandbox, SandboxOptions};
use innkeeper_tools::builtin::code::{self, CodeLimits, CodeParts};
use innkeeper_tools::policy::Policy;
use innkeeper_tools::registry::{Offer, Prepared};
use innkeeper_tools::script::Interpreters;
use serde_json::json;

use super::harness::{World, codes, result, say, tam, told};

async fn world() -> World {
    let world = World::new().await;
    let launcher = innkeeper_testkit::room::launcher();
    let tools = code::tools(CodeParts {
        sandbox: Sandbox::new(SandboxOptions::new(launcher)),
        interpreters: Interpreters::default(),
        files: world.manager.files().clone(),
        run_ends: world.manager.run_ends().clone(),
        limits: CodeLimits::default(),
    });
    let offers = tools
        .into_iter()
        .map(|(definition, executor)| Offer::new(Prepared::new(definition).unwrap(), executor));
    world.offer("code", offers.collect());
    world
}

#[tokio::test]
async fn a_session_lasts_as_long_as_its_run() {
    let world = world().await;
    let cell = |code: &str| tam(&format!("command: CodeInterpreter:session\n code: {code}"));
    let run = world.run("run-1");
    let said = say(&run, &cell("x = 41")).await;
    assert_eq!(result(&said[0])["fresh"], true, "{:?}", told(&said));
    // A clone, and another beginning under the same id, are the same run.
    let again = world.run("run-1");
    drop(run);
    let said = say(&again, &cell("x + 1")).await;
    assert_eq!(result(&said[0])["result"], "42", "{:?}", told(&said));
    drop(again);
    let said = say(&world.run("run-1"), &cell("'x' in globals()")).await;
    assert_eq!(result(&said[0])["result"], "False", "{:?}", told(&said));
    assert_eq!(result(&said[0])["fresh"], true);
}

/// Handing files to code is reading them, each one.
#[tokio::test]
async fn what_may_not_be_read_is_handed_to_no_code() {
    let world = world().await;
    world.write("public/a.txt", "open").await;
    world.write("private/b.txt", "closed").await;
    let rule = json!({
        "tool": "File.Read",
        "arguments": {"file_path": "user://projects/default/private/*"},
        "decision": "deny",
    });
    world.manager.set_policy(Policy::read(vec![rule]).unwrap());
    for (files, code) in [
        (r#"["public/a.txt"]"#, "ok"),
        (r#"["public/a.txt", "private/b.txt"]"#, "tool.policy_denied"),
        (r#"["public/../private/b.txt"]"#, "tool.policy_denied"),
    ] {
        for call in [
            "command: CodeInterpreter:execute\n language: bash\n code: cat *.txt",
            "command: CodeInterpreter:session\n code: import os; os.listdir()",
        ] {
            let said = world.say(&tam(&format!("{call}\n files: {files}"))).await;
            assert_eq!(codes(&said), [code], "{files}: {:?}", told(&said));
        }
    }
}

/// What is made by one step can be read by the next.
#[tokio::test]
async fn what_code_makes_is_there_for_other_tools() {
    let world = world().await;
    let block = "<|[REQUEST_TOOL]|>
command1:»»»CodeInterpreter:execute«««
language1:»»»python«««
code1:»»»open('a.txt', 'w').write('made')
print('done')«««
command2:»»»File.Read«««
file_path2:»»»@{step_1.result.files[0].uri}«««
<|[END_TOOL]|>";
    let said = world.say(block).await;
    assert_eq!(codes(&said), ["ok", "ok"], "{:?}", told(&said));
    assert_eq!(result(&said[0])["stdout"], "done\n");
    assert_eq!(result(&said[1])["content"], "made");
}
