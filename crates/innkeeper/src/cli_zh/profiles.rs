//! `innkeeper profiles …` in Chinese.

pub(super) const ARGUMENTS: &[(&str, &str, &str)] = &[
    (
        "profiles list",
        "project",
        "看哪个项目的配置 [默认：default]",
    ),
    ("profiles show", "id", "配置的 ID"),
    (
        "profiles show",
        "project",
        "看哪个项目的配置 [默认：default]",
    ),
];

pub(super) const COMMANDS: &[(&str, &str, &str)] = &[
    ("profiles", "查看智能体的配置", EXAMPLES),
    ("profiles list", "列出配置，以及无法使用的文件和原因", LIST),
    (
        "profiles show",
        "显示一个智能体：它得到的提示、工具和界限",
        SHOW,
    ),
];

const EXAMPLES: &str = "\
示例：
  innkeeper profiles list                        可以运行的智能体，以及无法使用的文件
  innkeeper profiles show default-writer         某个智能体的样子
  innkeeper run default-writer \"写写茶\"          让其中一个做一件事

配置是数据文件夹和各项目的 agent_profiles 文件夹中的文件；另有两个是内置的。同一个 ID 以先找到的为准：
先看项目，再看数据文件夹，最后是内置的。

退出码：0 完成，1 没有这个配置或它无法使用，2 用法有误。";

const LIST: &str = "\
示例：
  innkeeper profiles list
  innkeeper profiles list --project novel
  innkeeper profiles list --json | jq -r '.profiles[].id'
  innkeeper profiles list --json | jq '.issues'";

const SHOW: &str = "\
示例：
  innkeeper profiles show default-writer
  innkeeper profiles show innkeeper --json | jq .profile > agent_profiles/mine.json";
