//! What is said of skills, in Chinese. Found by its fixed words, as in `said.rs`.

/// The more exact one first. A number says which `{}` stands there.
#[rustfmt::skip]
pub(super) const PHRASES: &[(&str, &str)] = &[
    ("there is no skill '{}' in the scope {}: `innkeeper skills list` shows those there are", "范围 {1} 中没有技能“{0}”：`innkeeper skills list` 会列出所有技能"),
    ("the skill '{}' has no file '{}': begin with SKILL.md, which names the others", "技能“{0}”没有文件“{1}”：请从 SKILL.md 开始，其中会提到其他文件"),
    ("the scope {} has another skill '{}' already: say whether to replace it or to skip this one", "范围 {0} 中已有另一个技能“{1}”：请说明替换它（--replace）还是跳过（--skip）"),
    ("the scope {} has {} skills already: delete one first", "范围 {0} 中已有 {1} 个技能：请先删除一个"),
    ("'{}' is no name of a skill: use 1 to {} lower-case letters, digits, '-' and '_'", "“{0}”不是技能的名称：请用 1 至 {1} 个小写字母、数字、“-”和“_”"),
    ("the name '{}' in SKILL.md is no name of a skill: use 1 to {} lower-case letters, digits, '-' and '_'", "SKILL.md 中的 name“{0}”不是技能的名称：请用 1 至 {1} 个小写字母、数字、“-”和“_”"),
    ("there is no SKILL.md at the top of the package: a skill begins with one", "包的最上层没有 SKILL.md：技能从它开始"),
    ("SKILL.md has no front matter: begin it with a line '---', fields, and another '---'", "SKILL.md 没有前言：请以一行“---”、各字段和另一行“---”开头"),
    ("SKILL.md has to begin with a line '---' that opens its front matter", "SKILL.md 必须以一行“---”开头，作为前言的开始"),
    ("SKILL.md has front matter without an end: close it with a line '---'", "SKILL.md 的前言没有结尾：请用一行“---”结束"),
    ("the front matter of SKILL.md cannot be used: {}", "SKILL.md 的前言无法使用：{0}"),
    ("the description in SKILL.md is missing: say what the skill is for and when to use it", "SKILL.md 中没有 description：请说明技能的用途和何时使用"),
    ("the description in SKILL.md has more than {} characters: say it shorter", "SKILL.md 中的 description 超过 {0} 个字符：请写短一些"),
    ("agents/tauritavern.json cannot be used: {}", "agents/tauritavern.json 无法使用：{0}"),
    ("'{}' is a link or no plain file: put the file itself into the package", "“{0}”是链接或不是普通文件：请把文件本身放进包里"),
    ("'{}' in the archive would become more than {} times as long: pack it without compression", "压缩包中的“{0}”解开后会超过 {1} 倍：请不压缩地打包"),
    ("this is no archive that can be read ({}): give a .zip or .ttskill file", "这不是能读取的压缩包（{0}）：请给出 .zip 或 .ttskill 文件"),
    ("the skill '{}' that the profile wants is not installed: import it, or take it out of skills.visible", "配置需要的技能“{0}”没有安装：请导入它，或从 skills.visible 中去掉"),
    ("the skill '{}' that the profile wants cannot be used: {}", "配置需要的技能“{0}”无法使用：{1}"),
];
