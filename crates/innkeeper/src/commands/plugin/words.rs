//! Permissions in words that a person can decide by.

use innkeeper_tools::plugin::Permission;

use crate::failure::shown;
use crate::lang::Lang;

/// What saying yes would allow; whatever it is, its canonical form stands behind it.
pub(super) fn plain(permission: &Permission, lang: Lang) -> String {
    let name = permission.as_str();
    let known = KINDS.iter().find_map(|(prefix, english, chinese)| {
        let rest = name.strip_prefix(prefix)?;
        Some(lang.pick(english, chinese).replace("{}", &shown(rest)))
    });
    match known {
        Some(words) => format!("{words} [{}]", shown(name)),
        None => shown(name),
    }
}

/// The longer prefix first where two fit.
const KINDS: &[(&str, &str, &str)] = &[
    (
        "hook:server:tool:before-call",
        "look at every tool call before it is made, change it or refuse it{}",
        "在每次工具调用之前查看、修改或拒绝它{}",
    ),
    (
        "hook:server:tool:after-call",
        "look at the result of every tool call and change it{}",
        "查看并修改每次工具调用的结果{}",
    ),
    (
        "hook:server:",
        "take part on the server at {}",
        "在服务器的 {} 处介入",
    ),
    (
        "hook:client:",
        "take part in the page at {}",
        "在页面的 {} 处介入",
    ),
    (
        "ui:wrap:",
        "put something around {} in the page",
        "在页面中包裹 {}",
    ),
    (
        "ui:inject:",
        "add something to {} in the page",
        "在页面的 {} 处添加内容",
    ),
    ("ui:override:", "replace {} in the page", "替换页面中的 {}"),
    (
        "service:override:",
        "do the work of the service {} in its place",
        "取代服务 {}",
    ),
    (
        "run:",
        "run the program {} on this machine",
        "在本机运行程序 {}",
    ),
    (
        "file:read:project",
        "read the files of the project it is called in",
        "读取调用它的项目中的文件",
    ),
    (
        "file:write:project",
        "write the files of the project it is called in",
        "写入调用它的项目中的文件",
    ),
    ("file:read:", "read files in {}", "读取 {} 中的文件"),
    ("file:write:", "write files in {}", "写入 {} 中的文件"),
    ("net:", "reach {} over the network", "通过网络访问 {}"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_words_in_both_languages() {
        for (name, english, chinese) in [
            ("run:python", "run the program python", "运行程序 python"),
            (
                "net:api.example.com",
                "reach api.example.com",
                "访问 api.example.com",
            ),
            (
                "file:read:user://notes/",
                "read files in user://notes/",
                "读取 user://notes/",
            ),
            (
                "hook:server:tool:before-call",
                "look at every tool call before",
                "之前",
            ),
            (
                "hook:server:db:before-save",
                "take part on the server at db:before-save",
                "介入",
            ),
            (
                "service:override:Http.Request",
                "of the service Http.Request",
                "取代服务 Http.Request",
            ),
            ("brew:coffee", "brew:coffee", "brew:coffee"),
        ] {
            let permission = Permission::new(name);
            let (en, zh) = (plain(&permission, Lang::En), plain(&permission, Lang::Zh));
            assert!(en.contains(english) && en.contains(name), "{en}");
            assert!(zh.contains(chinese) && zh.contains(name), "{zh}");
            assert!(!en.contains("{}") && !zh.contains("{}"), "{en} {zh}");
        }
    }
}
