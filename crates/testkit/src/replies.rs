//! Replies as models write them, in the sizes that are measured.

/// About 1 KB: an explanation and one call.
pub fn typical() -> String {
    let mut text = String::from(
        "I looked at the log and the cause is clear: the retry counter is never reset after a successful \
         write, so the third error of the day ends the job even if two days lie between them.\n\n\
         I will reset the counter where the write succeeds and leave the limit as it is. The test that \
         covers the limit stays valid.\n\n\
         <|[REQUEST_TOOL]|>\n\
         # one edit, no other file is touched\n\
         request_id:»»»req-20250805-17«««\n\
         command:»»»File.ApplyEdit«««\n\
         file_path:»»»/srv/app/src/writer.js«««\n\
         search_string:»»»\n\
         async function write(entry) {\n  await store.put(entry);\n  metrics.count('written');\n}\n«««\n\
         replace_string:»»»\n\
         async function write(entry) {\n  await store.put(entry);\n  this.errors = 0;\n  metrics.count('written');\n}\n«««\n\
         on_error:»»»stop«««\n\
         retry:»»»2«««\n\
         <|[END_TOOL]|>\n",
    );
    text.push_str(
        "\nWhen the edit is in, I run the tests of this folder and report what they say. If one of them \
         still counts errors across days, I will look at the clock that the store uses before I change \
         anything else.\n",
    );
    text
}

/// What a huge value consists of.
pub const FILLINGS: &[(&str, &str)] = &[
    (
        "prose",
        "It was the best of times, it was the worst of times, and nobody had a watch.\n",
    ),
    (
        "code",
        "    if (a < b && list[i] > 0) { out.push({ key: list[i] << 2, name: \"x: y\" }); } // > done\n",
    ),
    (
        "chinese",
        "天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。他说：“好。”\n",
    ),
];

fn filled(filling: &str, size: usize) -> String {
    filling.repeat(size / filling.len().max(1))
}

/// One TAM call with a value of about `size` bytes.
pub fn huge_tam(filling: &str, size: usize) -> String {
    format!(
        "I write the file.\n<|[REQUEST_TOOL]|>\ncommand:»»»File.Write«««\npath:»»»a.txt«««\ncontent:»»»\n{}«««\n<|[END_TOOL]|>\nDone.\n",
        filled(filling, size)
    )
}

/// One ACTION call with a CDATA section of about `size` bytes.
pub fn huge_action(filling: &str, size: usize) -> String {
    format!(
        "I write the file.\n<ACTION>\n  <File.Write>\n    <path>a.txt</path>\n    <content><![CDATA[\n{}]]></content>\n  </File.Write>\n</ACTION>\nDone.\n",
        filled(filling, size)
    )
}

/// The text in pieces of so many characters, as a model sends it.
pub fn pieces(text: &str, size: usize) -> Vec<&str> {
    let starts: Vec<usize> = text
        .char_indices()
        .map(|(at, _)| at)
        .step_by(size.max(1))
        .collect();
    let ends = starts.iter().copied().skip(1).chain([text.len()]);
    starts
        .iter()
        .zip(ends)
        .filter_map(|(&start, end)| text.get(start..end))
        .collect()
}
