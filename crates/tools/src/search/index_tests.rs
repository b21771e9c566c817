use std::collections::BTreeMap;

use serde_json::json;

use super::*;

fn tool(id: &str, title: &str, description: &str, parameters: Json) -> Arc<ToolDefinition> {
    Arc::new(ToolDefinition {
        display_name: title.to_owned(),
        ..ToolDefinition::new(id, description, parameters)
    })
}

fn none() -> Json {
    json!({"type": "object", "properties": {}})
}

fn house() -> Vec<Arc<ToolDefinition>> {
    let city = json!({"type": "object", "properties": {
        "city": {"type": "string", "description": "Name of the municipality"}}});
    let mut aliased = ToolDefinition::new("Sys.Now", "Tells the hour", none());
    aliased.aliases = vec!["get_clock".into()];
    vec![
        Arc::new(aliased),
        tool(
            "File.Delete",
            "Delete a file",
            "Moves a file to the recycle bin",
            none(),
        ),
        tool(
            "File.Read",
            "Read a file",
            "Gives the text of a file",
            none(),
        ),
        tool("meteo.outlook", "Outlook", "How the weather will be", city),
        tool("notes.add", "笔记", "把一段文字写入笔记", none()),
    ]
}

fn best(question: &str) -> Vec<String> {
    let index = Index::of(&house());
    let hits = index.rank(&Query::new(question));
    hits.iter()
        .map(|hit| index.tools()[hit.tool].id.to_string())
        .collect()
}

#[test]
fn every_part_of_a_tool_can_be_found() {
    for (question, expected) in [
        ("delete", "File.Delete"),
        ("deleting some files", "File.Delete"),
        ("recycle", "File.Delete"),
        ("get_clock", "Sys.Now"),
        ("hour", "Sys.Now"),
        ("outlook", "meteo.outlook"),
        ("municipality", "meteo.outlook"),
        ("city", "meteo.outlook"),
        ("forecast", "meteo.outlook"),
        ("明天天气如何", "meteo.outlook"),
        ("写笔记", "notes.add"),
        ("memo", "notes.add"),
        ("读文件", "File.Read"),
    ] {
        assert_eq!(
            best(question).first().map(String::as_str),
            Some(expected),
            "{question}"
        );
    }
    for question in ["", "xyzzy", "the", "…"] {
        assert_eq!(best(question), [""; 0], "{question}");
    }
}

#[test]
fn a_name_that_stands_in_the_question_comes_first() {
    let question = "How is the weather? Do not ask the outlook, use `File.Read`.";
    assert_eq!(best(question)[0], "File.Read");
    assert_eq!(best("weather, file.read")[0], "File.Read");
}

/// Whoever makes a tool may call it what they like; that brings it before nothing.
#[test]
fn a_name_that_is_a_word_is_no_more_than_a_word() {
    let mut tools = house();
    let mut pushy = ToolDefinition::new("big:none", "", none());
    pushy.aliases = [
        "please",
        "read",
        "file",
        "now",
        "README.md",
        "e.g",
        "iPhone",
    ]
    .map(Into::into)
    .to_vec();
    tools.push(Arc::new(pushy));
    tools.push(tool("weather", "Weather", "How the weather is", none()));
    let index = Index::of(&tools);
    let first = |question: &str| {
        let hits = index.rank(&Query::new(question));
        index.tools()[hits[0].tool].id.to_string()
    };
    for (question, expected) in [
        ("please read the file", "File.Read"),
        ("Read this file now, please: give me its text", "File.Read"),
        (
            "delete the file, e.g. one on my phone, delete it",
            "File.Delete",
        ),
        ("delete the file about the weather", "File.Delete"),
        // Whoever writes nothing else means it.
        ("weather", "weather"),
        ("iPhone", "big:none"),
        ("use big:none for the weather", "big:none"),
    ] {
        assert_eq!(first(question), expected, "{question}");
    }
}

#[test]
fn the_same_question_gets_the_same_answer() {
    let index = Index::of(&house());
    let query =
        || Query::new("read delete weather clock notes 文件 file text").and("city hour", 0.3);
    let first = index.rank(&query());
    for _ in 0..20 {
        assert_eq!(Index::of(&house()).rank(&query()), first);
    }
}

#[test]
fn what_counts_less_comes_later() {
    let index = Index::of(&house());
    let first = |query: &Query| index.tools()[index.rank(query)[0].tool].id.to_string();
    let both = |read: f32, weather: f32| {
        let query = Query::default().and("read a file", read);
        first(&query.and("weather outlook", weather))
    };
    assert_eq!(both(1.0, 0.3), "File.Read");
    assert_eq!(both(0.3, 1.0), "meteo.outlook");
}

#[test]
fn long_texts_are_bounded() {
    let long = "lorem ".repeat(MAX_INDEXED_FIELD_CHARS) + "needle";
    let within = "字".repeat(MAX_INDEXED_FIELD_CHARS - 7) + " needle";
    let chinese = Index::of(&[tool("a", "", &within, none())]);
    assert_eq!(chinese.rank(&Query::new("a needle")).len(), 1);
    let index = Index::of(&[tool("a", "", &long, none()), tool("needle", "", "", none())]);
    let query = Query::new(&("hay ".repeat(5_000) + "needle"));
    let hits = index.rank(&query);
    assert_eq!(
        hits.len(),
        1,
        "the end of the question counts, that of the description does not"
    );
    assert_eq!(hits[0].tool, 1);
    // What is wanted stands before a long text as often as behind it.
    for question in [
        "needle first. ".to_owned() + &"hay ".repeat(5_000),
        "hay ".repeat(5_000) + "and the needle",
        "needle first. ".to_owned()
            + &(0..5_000)
                .map(|number| format!("w{number} "))
                .collect::<String>(),
        (0..5_000)
            .map(|number| format!("w{number} "))
            .collect::<String>()
            + "needle",
    ] {
        assert_eq!(index.rank(&Query::new(&question)).len(), 1);
    }
    let many: String = (0..5_000).map(|number| format!("w{number} ")).collect();
    let terms: usize = Query::new(&many).words().iter().map(BTreeMap::len).sum();
    assert_eq!(terms, crate::limits::MAX_SEARCH_TERMS);
}

#[test]
fn a_word_counts_more_in_a_name_than_in_passing() {
    let index = Index::of(&[
        tool(
            "a.one",
            "",
            "Something that mentions invoices in passing among other words",
            none(),
        ),
        tool("b.invoice", "", "Something else", none()),
    ]);
    assert_eq!(index.rank(&Query::new("invoice"))[0].tool, 1);
}
