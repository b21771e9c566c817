use super::*;
use crate::plugin::{Implementation, Reading, ScriptProtocol, read_plugin_with_warnings};

#[test]
fn a_new_plugin_is_sound() {
    use ScriptProtocol::{JsonRpc, Stdio};
    for (template, program, script, protocol) in [
        (Template::Python, "python", "scripts/greet.py", Stdio),
        (Template::Node, "node", "scripts/greet.mjs", Stdio),
        (
            Template::PythonWorker,
            "python",
            "scripts/greet.py",
            JsonRpc,
        ),
        (Template::NodeWorker, "node", "scripts/greet.mjs", JsonRpc),
    ] {
        let parent = tempfile::tempdir().unwrap();
        let folder = new_plugin(parent.path(), "my-plugin", template).unwrap();
        assert_eq!(folder, parent.path().join("my-plugin"));
        let Reading { outcome, warnings } = read_plugin_with_warnings(&folder);
        let package = outcome.unwrap();
        assert_eq!(warnings, []);
        assert_eq!(package.name, "my-plugin");
        assert_eq!(package.config.len(), 1);
        assert_eq!(package.config[0].variable, "GREETING");
        let tool = &package.tools[0];
        assert_eq!(tool.definition.id.as_str(), "my-plugin:greet");
        let Implementation::Script(command) = &tool.implementation else {
            panic!("{:?}", tool.implementation);
        };
        assert_eq!(command.program, program);
        assert_eq!(command.arguments, [script]);
        assert_eq!(command.protocol, protocol);
        let asked: Vec<_> = package.permissions.iter().map(|p| p.as_str()).collect();
        assert_eq!(asked, [format!("run:{program}")]);
        for file in ["README.md", "plugin.yaml", script] {
            let text = std::fs::read_to_string(folder.join(file)).unwrap();
            for placeholder in ["@NAME@", "@COMMAND@", "@SCRIPT", "@PROTOCOL@", "@INPUT@"] {
                assert!(!text.contains(placeholder), "{file}: {placeholder}");
            }
        }
    }
}

#[test]
fn nothing_is_overwritten() {
    let parent = tempfile::tempdir().unwrap();
    std::fs::create_dir(parent.path().join("taken")).unwrap();
    std::fs::write(parent.path().join("taken/plugin.yaml"), "mine").unwrap();
    let error = new_plugin(parent.path(), "taken", Template::Node).unwrap_err();
    assert!(matches!(error, NewPluginError::Exists(_)), "{error}");
    let kept = std::fs::read_to_string(parent.path().join("taken/plugin.yaml")).unwrap();
    assert_eq!(kept, "mine");
}

#[test]
fn a_name_that_is_a_path_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    for name in ["", "../up", "a/b", "a b", ".", "ü", &"n".repeat(65)] {
        let error = new_plugin(parent.path(), name, Template::Python).unwrap_err();
        assert!(
            matches!(error, NewPluginError::BadName(_)),
            "{name}: {error}"
        );
    }
    assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
}
