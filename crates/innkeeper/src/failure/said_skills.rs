//! What is said of skills, in Chinese. Found by its fixed words, as in `said.rs`.

/// The more exact one first. A number says which `{}` stands there.
#[rustfmt::skip]
pub(super) const PHRASES: &[(&str, &str)] = &[
    ("there is no skill '{}' in the scope {}: `innkeeper skills list` shows those there are", "范围 {1} 中没有技能“{0}”：`innkeeper skills list` 会列出所有技能"),
    ("the skill '{}' has no file '{}': begin with SKILL.md, which names the others", "技能“{0}”没有文件“{1}”：请从 SKILL.md 开始，其中会提到其他文件"),
    ("the scope {} has another skill '{}' already: say whether to replace it or to skip this one", "范围 {0} 中已有另一个技能“{1}”：请说明替换它（--replace）还是跳过（--skip）"),
    ("the scope {} has room for {} skills: delete some first", "范围 {0} 中最多有 {1} 个技能：请先删除一些"),
    ("'{}' is no name of a skill: use 1 to {} lower-case letters, digits, '-' and '_'", "“{0}”不是技能的名称：请用 1 至 {1} 个小写字母、数字、“-”和“_”"),
    ("the name '{}' in SKILL.md is no name of a skill: use 1 to {} lower-case letters, digits, '-' and '_'", "SKILL.md 中的 name“{0}”不是技能的名称：请用 1 至 {1} 个小写字母、数字、“-”和“_”"),
    ("the folder '{}' has no name of a skill: use 1 to {} lower-case letters, digits, '-' and '_'", "文件夹“{0}”的名字不是技能的名称：请用 1 至 {1} 个小写字母、数字、“-”和“_”"),
    // What a package lacks.
    ("there is no SKILL.md at the top of the package: a skill begins with one", "包的最上层没有 SKILL.md：技能从它开始"),
    ("there is no SKILL.md at the top of the package: '{}' has to be SKILL.md there", "包的最上层没有 SKILL.md：“{0}”应放在最上层，并命名为 SKILL.md"),
    ("SKILL.md has no front matter: begin it with a line '---', fields, and another '---'", "SKILL.md 没有前言：请以一行“---”、各字段和另一行“---”开头"),
    ("SKILL.md has to begin with a line '---' that opens its front matter", "SKILL.md 必须以一行“---”开头，作为前言的开始"),
    ("SKILL.md has front matter without an end: close it with a line '---'", "SKILL.md 的前言没有结尾：请用一行“---”结束"),
    ("the front matter of SKILL.md cannot be used: {}", "SKILL.md 的前言无法使用：{0}"),
    ("line {}: {}", "第 {0} 行：{1}"),
    ("'{}' stands there twice", "“{0}”出现了两次"),
    ("there is a second document", "其中有第二个文档"),
    ("{} is no number to work with", "{0} 不是可用的数"),
    ("it is too long or too deep", "内容太长，或嵌套太深"),
    ("it is nothing, and has to be fields like 'name: my-skill'", "它是空的，而应当是“name: my-skill”这样的字段"),
    ("it is true or false, and has to be fields like 'name: my-skill'", "它是真假值，而应当是“name: my-skill”这样的字段"),
    ("it is a number, and has to be fields like 'name: my-skill'", "它是数字，而应当是“name: my-skill”这样的字段"),
    ("it is a text, and has to be fields like 'name: my-skill'", "它是文本，而应当是“name: my-skill”这样的字段"),
    ("it is a list, and has to be fields like 'name: my-skill'", "它是列表，而应当是“name: my-skill”这样的字段"),
    ("metadata is true or false, not fields", "metadata 是真假值，而不是字段"),
    ("metadata is a number, not fields", "metadata 是数字，而不是字段"),
    ("metadata is a text, not fields", "metadata 是文本，而不是字段"),
    ("metadata is a list, not fields", "metadata 是列表，而不是字段"),
    ("metadata is {}, not fields", "metadata 是 {0}，而不是字段"),
    ("it is {}, and has to be fields like 'name: my-skill'", "它是 {0}，而应当是“name: my-skill”这样的字段"),
    ("it is longer than {} KiB", "它超过 {0} KiB"),
    ("unclosed bracket '{}'", "括号“{0}”没有闭合"),
    ("alias references unknown anchor", "引用了不存在的锚点"),
    ("{} has to be a text", "{0} 必须是文本"),
    ("{} has more than {} characters", "{0} 超过 {1} 个字符"),
    ("metadata.tags has more than {} entries", "metadata.tags 超过 {0} 项"),
    ("the description in SKILL.md is missing: say what the skill is for and when to use it", "SKILL.md 中没有 description：请说明技能的用途和何时使用"),
    ("the description in SKILL.md has more than {} characters: say it shorter", "SKILL.md 中的 description 超过 {0} 个字符：请写短一些"),
    ("agents/tauritavern.json cannot be used: {}", "agents/tauritavern.json 无法使用：{0}"),
    ("its version is {}, and only 1 is known", "其 version 为 {0}，而只支持 1"),
    ("words have at most {} characters, lists {} entries, notes {} characters", "词最多 {0} 个字符，列表最多 {1} 项，notes 最多 {2} 个字符"),
    ("{} is no UTF-8 text: save it as UTF-8", "{0} 不是 UTF-8 文本：请存为 UTF-8"),
    // Its files.
    ("'{}' is no path of a file: {}", "“{0}”不是文件的路径：{1}"),
    ("it is empty: name a file like {}", "它是空的：请写出文件，如 {0}"),
    ("it holds a control character: leave it out", "其中有控制字符：请去掉"),
    ("it begins with a slash: paths are relative, like {}", "它以斜杠开头：路径是相对的，如 {0}"),
    ("it begins with a drive: paths are relative, like {}", "它以盘符开头：路径是相对的，如 {0}"),
    ("'..' leads out of its folder: write the path from its root on", "“..”会走出文件夹：请从根写起"),
    ("it is longer than {} bytes: choose shorter names", "它超过 {0} 字节：请用短一些的名字"),
    ("one of its names is longer than {} bytes: choose a shorter one", "其中有名字超过 {0} 字节：请用短一些的"),
    ("it is more than {} folders deep: use fewer", "它的层数超过 {0}：请减少"),
    ("'{}' begins or ends with a blank: name the file without it", "“{0}”以空格开头或结尾：请去掉空格"),
    ("'{}' has a colon in a name, which is no part of a name on every system: rename it", "“{0}”的名字里有冒号，并非每个系统都允许：请改名"),
    ("'{}' has a name that ends with a dot or a blank, which some systems leave away: rename it", "“{0}”中有名字以点或空格结尾，有些系统会把它去掉：请改名"),
    ("'{}' has the name of a device of Windows: rename it", "“{0}”中有 Windows 设备的名字：请改名"),
    ("'{}' has a backslash in its name: rename it", "“{0}”的名字里有反斜杠：请改名"),
    ("'{}' has a name that is no text: rename it", "“{0}”的名字不是文本：请改名"),
    ("'{}' has a name that is no UTF-8: pack the files with UTF-8 names", "“{0}”的名字不是 UTF-8：请用 UTF-8 文件名打包"),
    ("'{}' is not taken, since it has '{}' in its path: leave such files out of the package", "不接受“{0}”，因为其路径中有“{1}”：请不要把这类文件放进包里"),
    ("'{}' is both a file and a folder of the package: rename one of them", "“{0}”在包里既是文件又是文件夹：请把其中一个改名"),
    ("'{}' lies in a folder that is spelled '{}' elsewhere in the package: spell it the same", "“{0}”所在的文件夹在包里别处写作“{1}”：请统一写法"),
    ("'{}' is in the package twice, or once more in other letter case: keep one of them", "“{0}”在包里出现两次，或只有大小写不同：请只留一个"),
    ("'{}' is a link or no plain file: put the file itself into the package", "“{0}”是链接或不是普通文件：请把文件本身放进包里"),
    ("'{}' is a link or no folder: put the folder itself there, or delete it", "“{0}”是链接或不是文件夹：请把文件夹本身放在那里，或删除它"),
    ("'{}' has more than {} files and folders: is it the folder of one skill?", "“{0}”中的文件和文件夹超过 {1} 个：它是一个技能的文件夹吗？"),
    ("the package has {} files; at most {} are taken", "包里有 {0} 个文件，最多接受 {1} 个"),
    ("'{}' has {} bytes; at most {} KiB are taken: make it shorter, or leave it out", "“{0}”有 {1} 字节，最多接受 {2} KiB：请缩短，或不放进包里"),
    ("the files of the package have {} bytes together; at most {} MiB are taken", "包里的文件共有 {0} 字节，最多接受 {1} MiB"),
    ("'{}' of the package cannot be read ({}): make the package anew", "无法读取包中的“{0}”（{1}）：请重新打包"),
    ("'{}' is not as long as it was said to be ({} bytes): it was changed meanwhile, or the package is damaged; try again, or make it anew", "“{0}”的长度与所说的（{1} 字节）不符：它在此期间被改动，或包已损坏；请重试，或重新打包"),
    ("'{}' was changed while it was imported: try again", "“{0}”在导入时被改动：请重试"),
    ("'{}' was changed meanwhile", "“{0}”在此期间被改动"),
    ("the content of '{}' is no Base64: encode it anew", "“{0}”的内容不是 Base64：请重新编码"),
    // Archives.
    ("'{}' is a file of a skill and not all of it: give the folder that it lies in", "“{0}”只是技能中的一个文件：请给出它所在的文件夹"),
    ("'{}' is no plain file", "“{0}”不是普通文件"),
    ("the archive has {} bytes; at most {} MiB are taken", "压缩包有 {0} 字节，最多接受 {1} MiB"),
    ("the archive is larger than {} MiB", "压缩包超过 {0} MiB"),
    ("the archive has more than {} entries", "压缩包的条目超过 {0} 个"),
    ("the archive does not have as many entries as it says: make it anew", "压缩包的条目数与它所说的不符：请重新打包"),
    ("'{}' in the archive is a link or no plain file: put the file itself into the package", "压缩包中的“{0}”是链接或不是普通文件：请把文件本身放进包里"),
    ("'{}' in the archive is encrypted: pack it without a password", "压缩包中的“{0}”已加密：请不设密码打包"),
    ("'{}' in the archive is packed in a way that is not known: use the usual one (deflate)", "压缩包中“{0}”的压缩方式无法识别：请用常见的方式（deflate）"),
    ("'{}' in the archive would become more than {} times as long: pack it without compression", "压缩包中的“{0}”解开后会超过 {1} 倍：请不压缩地打包"),
    ("files of the archive share their bytes: make it anew", "压缩包中的文件共用同一段内容：请重新打包"),
    ("this is no archive that can be read ({}): give a .zip or .ttskill file", "这不是能读取的压缩包（{0}）：请给出 .zip 或 .ttskill 文件"),
    // What is there, and what is done with it.
    ("the skill '{}' that the profile wants is not installed: import it, or take it out of skills.visible", "配置需要的技能“{0}”没有安装：请导入它，或从 skills.visible 中去掉"),
    ("the skill '{}' that the profile wants cannot be used: {}", "配置需要的技能“{0}”无法使用：{1}"),
    ("nobody knows which scope the folder '{}' belongs to: import one of its skills into that scope once more, and it is known again", "不知道文件夹“{0}”属于哪个范围：请把其中一个技能重新导入该范围，就会重新记下"),
    ("the folder is called '{}' and the skill in it '{}': give both the same name", "文件夹叫“{0}”，而其中的技能叫“{1}”：请让两者同名"),
    ("this SKILL.md is of a skill '{}', and the skill is called '{}': keep the name, or import it as a new skill", "这个 SKILL.md 属于技能“{0}”，而该技能叫“{1}”：请保留名称，或作为新技能导入"),
    ("the skill '{}' has {} files already", "技能“{0}”已有 {1} 个文件"),
    ("the skill '{}' of {} cannot be used: mend it or delete it", "{1} 的技能“{0}”无法使用：请修好或删除它"),
    ("the skills of {} cannot become those of {}: both have to be presets, profiles or characters", "{0} 的技能不能变为 {1} 的：两者须同为预设、配置或角色"),
    ("{}; {} of {} skills have been moved, the others are where they were", "{0}；{2} 个技能中已移动 {1} 个，其余仍在原处"),
    ("'{}' is not what it was when it was read: read it again, then write", "“{0}”自读取后已改变：请重新读取再写入"),
    ("this part of '{}' has {} characters; at most {} are read at once: read it in parts", "“{0}”的这一部分有 {1} 个字符，一次最多读取 {2} 个：请分段读取"),
    ("'{}' is too large to be read", "“{0}”太大，无法读取"),
    ("'{}' is no UTF-8 text, so it cannot be shown", "“{0}”不是 UTF-8 文本，无法显示"),
    ("a part is read by lines or by characters, not by both: give start_line and line_count, or start_char", "按行或按字符读取，不能同时：请给出 start_line 和 line_count，或 start_char"),
    ("lines are counted from 1, and at least one is read", "行从 1 数起，至少读取一行"),
    ("characters are counted from 0, and at least one is read", "字符从 0 数起，至少读取一个"),
    ("the file has {} {}, so there is none with the number {}", "文件有 {0} {1}，没有第 {2} 个"),
    ("'{}' is no scope: write global, preset:<api>/<name>, profile:<id> or character:<id>", "“{0}”不是范围：请写 global、preset:<api>/<名称>、profile:<id> 或 character:<id>"),
    ("'{}' is no scope: {}", "“{0}”不是范围：{1}"),
    ("a part of it is empty", "其中有一部分是空的"),
    ("a part of it is too long", "其中有一部分太长"),
    ("it holds a control character", "其中有控制字符"),
    // The disk.
    ("'{}' cannot be opened as a folder ({}): check the folder, its permissions and the disk", "“{0}”无法作为文件夹打开（{1}）：请检查文件夹、权限和磁盘"),
    ("'{}' cannot be opened ({}): check the folder, its permissions and the disk", "“{0}”无法打开（{1}）：请检查文件夹、权限和磁盘"),
    ("'{}' cannot be read ({}): check the folder, its permissions and the disk", "“{0}”无法读取（{1}）：请检查文件夹、权限和磁盘"),
    ("'{}' cannot be locked ({}): check the folder, its permissions and the disk", "“{0}”无法锁定（{1}）：请检查文件夹、权限和磁盘"),
    ("'{}' cannot be listed ({}): check the folder, its permissions and the disk", "“{0}”无法列出（{1}）：请检查文件夹、权限和磁盘"),
    ("'{}' cannot be made ready ({}): check the folder, its permissions and the disk", "“{0}”无法准备好（{1}）：请检查文件夹、权限和磁盘"),
    ("'{}' cannot be written to ({}): check the folder, its permissions and the disk", "“{0}”无法写入（{1}）：请检查文件夹、权限和磁盘"),
    ("'{}' cannot be written ({}): check the folder, its permissions and the disk", "“{0}”无法写入（{1}）：请检查文件夹、权限和磁盘"),
    ("'{}' cannot be moved ({}): check the folder, its permissions and the disk", "“{0}”无法移动（{1}）：请检查文件夹、权限和磁盘"),
    ("'{}' cannot be put in its place ({}): check the folder, its permissions and the disk", "“{0}”无法放到位（{1}）：请检查文件夹、权限和磁盘"),
    ("'{}' cannot be removed ({}): check the folder, its permissions and the disk", "“{0}”无法移除（{1}）：请检查文件夹、权限和磁盘"),
    ("'{}' cannot be packed ({}): check the folder, its permissions and the disk", "“{0}”无法打包（{1}）：请检查文件夹、权限和磁盘"),
];

#[cfg(test)]
mod tests {
    use super::super::said::Said;
    use crate::lang::Lang;

    const SOURCES: [&str; 13] = [
        include_str!("../../../agent/src/skills/archive.rs"),
        include_str!("../../../agent/src/skills/change.rs"),
        include_str!("../../../agent/src/skills/error.rs"),
        include_str!("../../../agent/src/skills/folder.rs"),
        include_str!("../../../agent/src/skills/front.rs"),
        include_str!("../../../agent/src/skills/house.rs"),
        include_str!("../../../agent/src/skills/import.rs"),
        include_str!("../../../agent/src/skills/manifest.rs"),
        include_str!("../../../agent/src/skills/package.rs"),
        include_str!("../../../agent/src/skills/path.rs"),
        include_str!("../../../agent/src/skills/scope.rs"),
        include_str!("../../../agent/src/skills/source.rs"),
        include_str!("../../../agent/src/workspace/path.rs"),
    ];

    /// What only stands in others, with those it stands in; and what the system says of a file, or programs read.
    const PARTS: [(&str, &[&str]); 7] = [
        (
            "'{}' in the archive {why}",
            &[
                "is encrypted: pack",
                "is a link or no plain file: put",
                "is packed in a way",
                "would become more than",
            ],
        ),
        (
            "'{}' {why}: rename it",
            &[
                "has a colon in a name",
                "has a name that ends",
                "has the name of a device",
            ],
        ),
        (
            "SKILL.md {message}",
            &[
                "has no front matter",
                "has to begin with",
                "has front matter without",
            ],
        ),
        (
            "the description in SKILL.md {why}",
            &["is missing: say", "has more than 7 characters: say"],
        ),
        (
            "there is no SKILL.md at the top of the package: {found}",
            &["a skill begins with one", "'x' has to be SKILL.md there"],
        ),
        (
            "'{}' cannot be {doing} ({error}): check the folder, its permissions and the disk",
            &["opened as a folder"],
        ),
        (
            "",
            &[
                "it is no plain file",
                "{changed:?} {inode} {touched:?}",
                "; 7 of 7 skills have been moved",
            ],
        ),
    ];

    fn has_chinese(text: &str) -> bool {
        text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
    }

    /// Texts of a source that are sentences: the code's own words are shorter.
    fn sentences(source: &str) -> Vec<String> {
        let source = source.split("#[cfg(test)]").next().unwrap_or_default();
        let code: Vec<&str> = source
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        let code = code.join("\n").replace("\\\"", "”");
        let texts = code.split('"').skip(1).step_by(2);
        let sentences = texts.filter(|text| text.split(' ').count() >= 3);
        sentences.map(filled).collect()
    }

    /// A name or a number for each place that is filled in.
    fn filled(text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').unwrap_or(("", after));
            out.push_str(before);
            out.push_str(match name {
                "SKILL_MD" => "SKILL.md",
                "MANIFEST" => "agents/tauritavern.json",
                "why" | "message" | "found" | "doing" | "changed:?" | "inode" | "touched:?" => {
                    out.push_str(&format!("{{{name}}}"));
                    rest = after;
                    continue;
                }
                _ if out.ends_with('\'') => "x",
                _ => "7",
            });
            rest = after;
        }
        out + rest
    }

    #[test]
    fn whatever_is_said_of_skills_is_said_in_chinese() {
        let mut seen = 0;
        for sentence in SOURCES.iter().flat_map(|source| sentences(source)) {
            let is_part = |(whole, parts): &(&str, &[&str])| {
                filled(whole) == sentence || parts.iter().any(|part| sentence.starts_with(part))
            };
            let whole: Vec<String> = match PARTS.iter().find(|part| is_part(part)) {
                None => vec![sentence.clone()],
                Some(("", _)) => continue,
                // Its own words are in those that it stands in.
                Some((whole, _)) if filled(whole) == sentence => continue,
                Some((whole, _)) => {
                    let name = ["{why}", "{message}", "{found}", "{doing}"];
                    let name = name.iter().find(|name| whole.contains(**name)).unwrap();
                    vec![filled(&whole.replace(name, &sentence))]
                }
            };
            for sentence in whole {
                let said = Said::of(&sentence);
                assert!(has_chinese(said.pick(Lang::Zh)), "{sentence}");
                seen += 1;
            }
        }
        assert!(seen > 80, "{seen}");
    }
}
