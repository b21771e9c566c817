use super::super::testing::House;
use super::*;

#[test]
fn every_path_of_a_run_is_a_file_or_a_paper() {
    let file = |path: &str| WorkspacePath::parse(path).unwrap();
    for (text, paper) in [
        ("events.jsonl", Paper::Events),
        ("./run.json", Paper::Run),
        ("manifest.json", Paper::Manifest),
        (
            "input/prompt_snapshot.json",
            Paper::Input("prompt_snapshot".into()),
        ),
        (
            "tool-args/call_74196fe72e4cdc13.json",
            Paper::ToolArguments("call_74196fe72e4cdc13".into()),
        ),
        (
            "tool-results/call_1.json",
            Paper::ToolResult("call_1".into()),
        ),
        (
            "model-responses/round-001.json",
            Paper::ModelResponse {
                invocation: None,
                round: 1,
            },
        ),
        (
            "model-responses/round-1200.json",
            Paper::ModelResponse {
                invocation: None,
                round: 1200,
            },
        ),
        (
            "model-responses/inv_2/round-012.json",
            Paper::ModelResponse {
                invocation: Some("inv_2".into()),
                round: 12,
            },
        ),
        (
            "checkpoints/cp_000001/checkpoint.json",
            Paper::Checkpoint {
                id: "cp_000001".into(),
                file: None,
            },
        ),
        (
            "checkpoints/cp_000001/output/main.md",
            Paper::Checkpoint {
                id: "cp_000001".into(),
                file: Some(file("output/main.md")),
            },
        ),
    ] {
        assert_eq!(paper.to_string(), text.trim_start_matches("./"));
        assert_eq!(HostPath::parse(text), Ok(HostPath::Paper(paper)), "{text}");
    }
    assert_eq!(
        HostPath::parse("summaries/a.md"),
        Ok(HostPath::File(file("summaries/a.md")))
    );
    assert_eq!(model_response_path(7), "model-responses/round-007.json");
    for (text, reason) in [
        ("/etc/passwd", "workspace.invalid_path"),
        ("output/../../x", "workspace.invalid_path"),
        ("", "workspace.invalid_path"),
        ("input", "workspace.file_not_found"),
        ("input/a.txt", "workspace.file_not_found"),
        ("model-responses/round-1.json", "workspace.file_not_found"),
        ("model-responses/round-x01.json", "workspace.file_not_found"),
        ("checkpoints/cp_000001", "workspace.file_not_found"),
        ("checkpoints/cp_000001/input/x", "workspace.file_not_found"),
        ("secrets.json", "workspace.file_not_found"),
    ] {
        let error = HostPath::parse(text).unwrap_err();
        assert_eq!(error.reason.as_deref(), Some(reason), "{text}");
    }
}

#[tokio::test]
async fn hosts_read_every_root() {
    let house = House::new(&[("summaries/s.md", "一 two")]);
    let path = |text: &str| WorkspacePath::parse(text).unwrap();
    let live = house
        .session
        .read_for_host(&path("summaries/s.md"))
        .await
        .unwrap();
    assert_eq!(
        (live.text.as_str(), live.bytes, live.chars, live.words),
        ("一 two", 7, 5, 2)
    );
    assert_eq!(live, HostFile::new("summaries/s.md", "一 two".into()));
    let files = house.session.state().files;
    let kept = read_for_host(&*house.contents, &files, &path("summaries/s.md")).await;
    assert_eq!(kept, Ok(live));
    for (text, reason) in [
        ("summaries", "workspace.path_is_directory"),
        ("output/none.md", "workspace.file_not_found"),
    ] {
        let live = house.session.read_for_host(&path(text)).await.unwrap_err();
        let kept = read_for_host(&*house.contents, &files, &path(text)).await;
        assert_eq!(live.reason.as_deref(), Some(reason), "{text}");
        assert_eq!(kept, Err(live), "{text}");
    }
}
