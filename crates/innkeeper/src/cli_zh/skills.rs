//! `innkeeper skills …` in Chinese.

pub(super) const ARGUMENTS: &[(&str, &str, &str)] = &[
    (
        "skills list",
        "scope",
        "只列出这个范围的技能，或 all [默认：all]",
    ),
    ("skills show", "name", "技能的名称"),
    ("skills show", "scope", "它所在的范围 [默认：global]"),
    ("skills show", "file", "显示其中的这个文件"),
    (
        "skills import",
        "source",
        "含有 SKILL.md 的文件夹，或 .zip、.ttskill 文件",
    ),
    ("skills import", "scope", "供谁使用 [默认：global]"),
    ("skills import", "replace", "替换同名的另一个技能"),
    ("skills import", "skip", "保留同名的另一个技能"),
    ("skills import", "preview", "显示会带来什么，不改动任何东西"),
    ("skills export", "name", "技能的名称"),
    ("skills export", "scope", "它所在的范围 [默认：global]"),
    ("skills export", "output", "要写入的压缩包"),
    ("skills delete", "name", "技能的名称"),
    ("skills delete", "scope", "它所在的范围 [默认：global]"),
    ("skills delete", "yes", "不再询问"),
    ("skills move", "name", "技能的名称"),
    ("skills move", "scope", "它所在的范围 [默认：global]"),
    ("skills move", "to", "移到哪个范围"),
    ("skills move", "replace", "替换同名的另一个技能"),
    ("skills move", "skip", "保留同名的另一个技能"),
    ("skills retarget", "from", "范围原来的名称"),
    ("skills retarget", "to", "范围现在的名称"),
    ("skills retarget", "replace", "替换同名的另一个技能"),
    ("skills retarget", "skip", "保留同名的另一个技能"),
];

pub(super) const COMMANDS: &[(&str, &str, &str)] = &[
    ("skills", "查看、导入、导出智能体的技能", EXAMPLES),
    ("skills list", "列出技能，以及其中无法使用的", LIST),
    (
        "skills show",
        "显示一个技能的用途和文件，或其中一个文件",
        SHOW,
    ),
    ("skills import", "从文件夹或压缩包导入技能", IMPORT),
    ("skills export", "把技能写成压缩包", EXPORT),
    ("skills delete", "删除技能", DELETE),
    ("skills move", "把技能移到另一个范围", MOVE),
    (
        "skills retarget",
        "预设、智能体或角色改名后，让它的全部技能跟着走",
        RETARGET,
    ),
];

const EXAMPLES: &str = "\
示例：
  innkeeper skills list                               所有范围的技能，以及无法使用的
  innkeeper skills import ./haiku                     导入一个：文件夹，或 .zip、.ttskill 文件
  innkeeper skills show haiku                         它的用途和文件
  innkeeper skills move haiku --to profile:poet       只给一个智能体用

技能是一个文件夹，里面是智能体需要时才读的说明；docs/skills.md 讲怎样写。范围说明供谁使用：
global、preset:<api>/<名称>、profile:<ID> 或 character:<ID>。同名时以这里排在后面的为准。

退出码：0 完成，1 没有这个技能或它无法使用，2 用法有误。";

const LIST: &str = "\
示例：
  innkeeper skills list
  innkeeper skills list --scope character:Seraphina
  innkeeper skills list --json | jq -r '.skills[] | [.name, .installedHash] | @tsv'";

const SHOW: &str = "\
示例：
  innkeeper skills show haiku
  innkeeper skills show haiku --file references/seasons.md
  innkeeper skills show haiku --scope profile:poet --json | jq '.files'";

const IMPORT: &str = "\
示例：
  innkeeper skills import ./haiku
  innkeeper skills import haiku.ttskill --scope preset:openai/Storyteller
  innkeeper skills import haiku.zip --preview         看它会带来什么，不改动任何东西
  innkeeper skills import haiku.zip --replace         替换已有的那个

写入之前先检查整个包；要么完整装好，要么什么都不留下。如果已有同名的另一个技能，
不加 --replace 或 --skip 就不会改动。

退出码：0 完成或已有相同的，1 无法使用或已有另一个，2 用法有误。";

const EXPORT: &str = "\
示例：
  innkeeper skills export haiku --output haiku.zip
  innkeeper skills export haiku --scope profile:poet --output haiku.ttskill

同一个技能总是得到同样的字节；innkeeper skills import 可以导入它。";

const DELETE: &str = "\
示例：
  innkeeper skills delete haiku
  innkeeper skills delete haiku --scope profile:poet --yes

正在进行的运行再次读取它时，会得知它已不在。";

const MOVE: &str = "\
示例：
  innkeeper skills move haiku --to profile:poet
  innkeeper skills move haiku --scope profile:poet --to global --replace";

const RETARGET: &str = "\
示例：
  innkeeper skills retarget profile:poet profile:haiku-poet
  innkeeper skills retarget preset:openai/One preset:openai/Two --skip
  innkeeper skills retarget character:Seraphina character:Sera --json | jq -r '.moved[].skill.name'";
