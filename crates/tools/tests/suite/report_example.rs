//! The three-step report: an async picture, a log line, a report that uses both.

use innkeeper_protocol::ExecutionMode::{Async, Sync};
use innkeeper_tools::ToolError;
use innkeeper_tools::file::WriteMode;
use serde_json::json;

use super::harness::{World, codes, object, say, told};

const REPORT: &str = r#"<|[REQUEST_TOOL]|>
request_id:»»»req-20250805-report«««
common_output_dir:»»»fam://project-x/reports/today«««
comment:»»»生成每日报告的完整流程«««

# 步骤 1: 异步生成封面图，如果失败则跳过
command_1:»»»ImageTool.Generate«««
on_error_1:»»»continue«««
prompt_1:»»»一只戴着宇航头盔的猫头鹰，赛博朋克风格«««
output_uri_1:»»»@{common_output_dir}/cover.png«««

# 步骤 2: 同步写日志
command_2:»»»File.Append«««
file_path_2:»»»@{common_output_dir}/run.log«««
content_2:»»»-- Report generation started at @{timestamp} --«««

# 步骤 3: 构建最终报告
command_3:»»»Report.Build«««
type_hint_payload_3:»»»json«««
payload_3:»»»
{
  "title": "每日运营报告",
  "coverImageUri": "@{common_output_dir}/cover.png",
  "logFileUri": "@{common_output_dir}/run.log",
  "author": "咕咕"
}
«««
<|[END_TOOL]|>"#;

const DIR: &str = "fam://project-x/reports/today";

/// A world with the two tools of the example. The picture waits at the gate `paint`.
async fn studio(paints: bool) -> World {
    let world = World::new().await;
    let files = world.manager.files().clone();
    let parameters = object(
        json!({"prompt": {"type": "string"}, "output_uri": {"type": "string"}}),
        &["prompt", "output_uri"],
    );
    let image = world.tool(
        "ImageTool.Generate",
        Async,
        parameters,
        move |seen, call| {
            let files = files.clone();
            Box::pin(async move {
                seen.pass("paint").await;
                if !paints {
                    return Err(ToolError::failed("the paint ran out"));
                }
                let uri = call.arguments["output_uri"].as_str().unwrap();
                let uri = files.resolve(&call.context.caller, uri)?;
                files
                    .write(&uri, b"\x89PNG owl".to_vec(), WriteMode::Replace)
                    .await?;
                Ok(json!({"uri": uri}))
            })
        },
    );
    let files = world.manager.files().clone();
    let parameters = object(
        json!({"payload": {"type": "object", "required": ["title"]}}),
        &["payload"],
    );
    let report = world.tool("Report.Build", Sync, parameters, move |_, call| {
        let files = files.clone();
        Box::pin(async move {
            let payload = &call.arguments["payload"];
            let at = |text: &str| files.resolve(&call.context.caller, text);
            let text = |name: &str| payload[name].as_str().unwrap().to_owned();
            let cover = files.read(&at(&text("coverImageUri"))?, 1 << 20).await;
            let log = files.read_text(&at(&text("logFileUri"))?, 1 << 20).await?;
            let cover = cover.map_or("no cover".to_owned(), |bytes| {
                format!("{} bytes", bytes.len())
            });
            let page = format!(
                "# {} by {}\ncover: {cover}\nlog: {log}",
                text("title"),
                text("author")
            );
            let uri = at("fam://project-x/reports/today/report.md")?;
            files
                .write(&uri, page.into_bytes(), WriteMode::Replace)
                .await?;
            Ok(json!({"report": uri}))
        })
    });
    world.offer("plugin:studio", vec![image, report]);
    world
}

#[tokio::test]
async fn the_report_is_made_once_the_picture_is_there() {
    let world = studio(true).await;
    let run = world.run("r");
    let mut running = Box::pin(say(&run, REPORT));
    world.until_at("paint", &mut running).await;
    world.still_waits(&mut running).await;
    // The log was written meanwhile; the report waits for the picture it mentions.
    let log = world.read(&format!("{DIR}/run.log")).await.unwrap();
    assert!(!world.events().contains(&"begin Report.Build".to_owned()));
    world.open("paint");
    let said = running.await;
    assert_eq!(codes(&said), ["started", "ok", "ok"], "{:?}", told(&said));

    let stamp = log
        .strip_prefix("-- Report generation started at ")
        .and_then(|rest| rest.strip_suffix(" --"))
        .unwrap();
    assert!(stamp.parse::<jiff::Timestamp>().is_ok(), "{log}");
    assert_eq!(
        world.given("ImageTool.Generate"),
        [json!({
            "prompt": "一只戴着宇航头盔的猫头鹰，赛博朋克风格",
            "output_uri": "fam://project-x/reports/today/cover.png"
        })]
    );
    assert_eq!(
        world.given("Report.Build"),
        [json!({"payload": {
            "title": "每日运营报告",
            "coverImageUri": "fam://project-x/reports/today/cover.png",
            "logFileUri": "fam://project-x/reports/today/run.log",
            "author": "咕咕"
        }})]
    );
    let report = world.read(&format!("{DIR}/report.md")).await.unwrap();
    assert_eq!(
        report,
        format!("# 每日运营报告 by 咕咕\ncover: 8 bytes\nlog: {log}")
    );
    let on_disk = world
        .read("user://projects/project-x/reports/today/report.md")
        .await;
    assert_eq!(on_disk.as_deref(), Some(report.as_str()));
    assert_eq!(codes(&run.finished_tasks()), ["ok"]);
    assert_eq!(
        told(&said)[2],
        r#"Observation: Tool Report.Build executed successfully. Result: {"report":"user://projects/project-x/reports/today/report.md"}"#
    );
}

#[tokio::test]
async fn the_same_report_is_not_made_twice() {
    let world = studio(true).await;
    world.open("paint");
    let run = world.run("r");
    let first = say(&run, REPORT).await;
    assert_eq!(say(&run, REPORT).await, first);
    assert_eq!(world.given("Report.Build").len(), 1);
    let log = world.read(&format!("{DIR}/run.log")).await.unwrap();
    assert_eq!(log.matches("started").count(), 1);
}

/// Step 1 goes wrong in every way it can; with `on_error_1: continue` the report is made all the same.
#[tokio::test]
async fn without_a_picture_the_report_is_made_all_the_same() {
    for (text, first) in [
        (
            REPORT.replace("ImageTool.Generate", "PaintTool.Paint"),
            "tool.unknown",
        ),
        (
            REPORT.replace("prompt_1", "promt_1"),
            "tool.invalid_arguments",
        ),
        (
            REPORT.replace("prompt_1:»»»", "size_1:»»»huge«««\nprompt_1:»»»"),
            "tool.invalid_arguments",
        ),
        (REPORT.to_owned(), "started"),
    ] {
        let world = studio(false).await;
        world.open("paint");
        let run = world.run("r");
        let said = say(&run, &text).await;
        assert_eq!(codes(&said), [first, "ok", "ok"], "{:?}", told(&said));
        let report = world.read(&format!("{DIR}/report.md")).await.unwrap();
        assert!(
            report.contains("cover: no cover\nlog: -- Report"),
            "{report}"
        );
        run.settle().await;
        if first == "started" {
            assert_eq!(codes(&run.finished_tasks()), ["tool.execution_failed"]);
        }
    }
}

#[tokio::test]
async fn without_continue_nothing_follows_a_failed_first_step() {
    let text = REPORT
        .replace("ImageTool.Generate", "PaintTool.Paint")
        .replace("on_error_1:»»»continue«««", "");
    let world = studio(true).await;
    let said = world.say(&text).await;
    assert_eq!(
        codes(&said),
        ["tool.unknown", "tool.skipped", "tool.skipped"]
    );
    assert_eq!(world.read(&format!("{DIR}/run.log")).await, None);
    assert_eq!(world.read(&format!("{DIR}/report.md")).await, None);
}
