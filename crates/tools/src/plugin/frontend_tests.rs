use super::*;
use crate::plugin::testing::{MINIMAL, Sample};

fn sample(frontend: &str) -> Sample {
    Sample::new(&format!("{MINIMAL}frontend: {frontend}\n"))
        .file("dist/index.js", "")
        .file("dist/style.css", "")
        .file("web/main.js", "")
        .file("top.js", "")
}

#[test]
fn both_styles_and_both_ways_to_write_paths_work() {
    for (frontend, entry, root, warnings) in [
        (
            "{build: {entry: index.js, styles: [style.css], outputDir: dist}}",
            "dist/index.js",
            "dist",
            0,
        ),
        (
            "{build: {entry: dist/index.js, styles: [style.css], outputDir: ./dist/}}",
            "dist/index.js",
            "dist",
            1,
        ),
        (
            "{build: {entry: dist/index.js, styles: [dist/style.css]}}",
            "dist/index.js",
            "dist",
            1,
        ),
        (
            "{type: vite, dev: {entry: src/main.ts}, build: {entry: index.js, styles: [style.css], outputDir: dist}}",
            "dist/index.js",
            "dist",
            0,
        ),
        ("{vanilla: {entry: main.js}}", "web/main.js", "web", 0),
        (
            "{type: vanilla, vanilla: {entry: main.js, rootDir: web}}",
            "web/main.js",
            "web",
            0,
        ),
        ("{vanilla: {entry: web/main.js}}", "web/main.js", "web", 1),
    ] {
        let reading = sample(frontend).read();
        let found = reading.outcome.unwrap().frontend.unwrap();
        assert_eq!(found.entry, Path::new(entry), "{frontend}");
        assert_eq!(found.root, Path::new(root), "{frontend}");
        assert!(
            found
                .styles
                .iter()
                .all(|style| style == Path::new("dist/style.css")),
            "{frontend}"
        );
        assert_eq!(
            reading.warnings.len(),
            warnings,
            "{frontend}: {:?}",
            reading.warnings
        );
        assert!(
            reading
                .warnings
                .iter()
                .all(|warning| warning.code == "plugin.frontend_path")
        );
    }
}

#[test]
fn every_mistake_is_named_with_its_place() {
    for (frontend, field, code, says) in [
        (
            "{build: {entry: top.js}}",
            "frontend.build.outputDir",
            "plugin.missing_field",
            "a folder of their own",
        ),
        (
            "{build: {entry: top.js, outputDir: .}}",
            "frontend.build.outputDir",
            "plugin.bad_value",
            "whole plugin",
        ),
        (
            "{}",
            "frontend.build",
            "plugin.missing_field",
            "where the files",
        ),
        (
            "{type: vanilla, build: {entry: dist/index.js}}",
            "frontend.vanilla",
            "plugin.missing_field",
            "where the files",
        ),
        (
            "{type: react}",
            "frontend.type",
            "plugin.bad_value",
            "vite, vanilla",
        ),
        (
            "{build: 5}",
            "frontend.build",
            "plugin.wrong_type",
            "expected a map",
        ),
        (
            "{build: {outputDir: dist}}",
            "frontend.build.entry",
            "plugin.missing_field",
            "is missing",
        ),
        (
            "{build: {entry: x.js, outputDir: dist}}",
            "frontend.build.entry",
            "plugin.path_missing",
            "no file 'x.js'",
        ),
        (
            "{build: {entry: ../x.js}}",
            "frontend.build.entry",
            "plugin.path_outside",
            "leads out",
        ),
        (
            "{build: {entry: top.js, outputDir: dist}}",
            "frontend.build.entry",
            "plugin.path_outside",
            "is served",
        ),
        (
            "{build: {entry: index.js, outputDir: dist, styles: [/a.css]}}",
            "frontend.build.styles[0]",
            "plugin.path_outside",
            "absolute",
        ),
        (
            "{build: {entry: dist/index.js, outputDir: out}}",
            "frontend.build.outputDir",
            "plugin.path_missing",
            "no folder 'out'",
        ),
    ] {
        let reading = sample(frontend).read();
        let problems = reading.outcome.unwrap_err();
        let problem = &problems[0];
        assert_eq!(problems.len(), 1, "{frontend}: {problems:?}");
        assert_eq!(problem.field.as_deref(), Some(field), "{frontend}");
        assert_eq!(problem.code, code, "{frontend}");
        assert!(problem.message.contains(says), "{frontend}: {problem}");
        assert_eq!(problem.line, Some(3));
    }
}
