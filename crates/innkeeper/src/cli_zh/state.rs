//! `innkeeper state …` in Chinese.

const CHAT: &str = "对话，用它的固定 ID 指明";
const RUN: &str = "这次运行所属的对话";
const KIND: &str = "--chat 是哪种对话：session（innkeeper run --chat 的）、character、group（应用程序的） [默认：session]";

pub(super) const ARGUMENTS: &[(&str, &str, &str)] = &[
    ("state show", "chat", CHAT),
    ("state show", "run", RUN),
    ("state show", "kind", KIND),
    (
        "state show",
        "private",
        "只看这个智能体的私有状态，用配置指明",
    ),
    ("state show", "world", "只看世界状态"),
    (
        "state show",
        "path",
        "只看这里的内容：用点分隔的名称，或 JSON Pointer",
    ),
    ("state history", "chat", CHAT),
    ("state history", "run", RUN),
    ("state history", "kind", KIND),
    (
        "state history",
        "private",
        "这个智能体的私有状态，用配置指明；不写则为世界状态",
    ),
    ("state history", "limit", "最多显示几个版本 [默认：20]"),
    (
        "state set",
        "path",
        "改哪里：用点分隔的名称，或 JSON Pointer",
    ),
    ("state set", "value", "改成什么：JSON，或文字"),
    ("state set", "chat", CHAT),
    ("state set", "run", RUN),
    ("state set", "kind", KIND),
    (
        "state set",
        "op",
        "怎样改：set 放入值，merge 并入对象的字段，append 加到列表，increment 加到数字（不写值则加 1），remove 去掉 [默认：set]",
    ),
    (
        "state set",
        "private",
        "这个智能体的私有状态，用配置指明；不写则为世界状态",
    ),
    (
        "state set",
        "expected_version",
        "仅当状态仍是这个版本时才改",
    ),
    ("state set", "project", "配置所在的项目 [默认：default]"),
    ("state delete", "chat", CHAT),
    ("state delete", "run", RUN),
    ("state delete", "kind", KIND),
    ("state delete", "world", "世界状态，连同历史和 schema"),
    (
        "state delete",
        "private",
        "这个智能体的私有状态，用配置指明",
    ),
    (
        "state delete",
        "all",
        "全部：世界状态，以及这个对话的运行为以后留下的一切",
    ),
    ("state delete", "yes", "不再询问"),
    (
        "state schema",
        "file",
        "存有 JSON Schema 的文件；不写则显示现有的 schema",
    ),
    ("state schema", "chat", CHAT),
    ("state schema", "run", RUN),
    ("state schema", "kind", KIND),
    ("state schema", "remove", "去掉现有的 schema"),
];

pub(super) const COMMANDS: &[(&str, &str, &str)] = &[
    ("state", "查看和更正智能体的私有状态与世界状态", EXAMPLES),
    (
        "state show",
        "显示一个对话的世界状态和各智能体的私有状态",
        SHOW,
    ),
    ("state history", "显示谁在何时怎样改了状态", HISTORY),
    ("state set", "更改世界状态或一个智能体的私有状态", SET),
    (
        "state delete",
        "删除世界状态、一个智能体的私有状态，或对话记得的一切",
        DELETE,
    ),
    ("state schema", "显示或规定世界状态必须符合什么", SCHEMA),
];

const EXAMPLES: &str = "\
示例：
  innkeeper state show --run last                     最近一次运行的对话中，智能体知道什么
  innkeeper state show --chat evening --world         一个对话中各智能体共享什么
  innkeeper state history --run last --private keeper 谁改了某个智能体的私有状态，怎样改的
  innkeeper state set --chat evening door.open true   更正世界状态
  innkeeper state delete --chat evening --all         让一个对话忘记一切

私有状态属于一个对话中的一个智能体；世界状态属于对话中的所有智能体。docs/state.md 讲它们怎样保存。
对话用固定 ID 指明（--chat，由应用程序保存的还要 --kind），或用其中一次运行指明（--run）。

退出码：0 完成，1 被拒绝，2 用法有误或没有这次运行，6 另一个进程正在驱动这里的运行。";

const SHOW: &str = "\
示例：
  innkeeper state show --run last
  innkeeper state show --chat evening --world --path environment.weather
  innkeeper state show --chat abc --kind character --private keeper --json | jq '.private[0].value'

用 --run 时，显示那次运行中的私有状态；用 --chat 时，显示这个对话的下一次运行会以什么开始：
最近开始、已完成且此后没有退回的运行所留下的。";

const HISTORY: &str = "\
示例：
  innkeeper state history --run last
  innkeeper state history --chat evening --private keeper --limit 5
  innkeeper state history --run last --json | jq '.versions[] | [.version, .by.runId, .by.callId]'

不用 --private 指明智能体时为世界状态。世界状态保留最近 200 个版本，私有状态保留最近 50 个。";

const SET: &str = "\
示例：
  innkeeper state set --chat evening door.open true
  innkeeper state set --chat evening --op increment guests
  innkeeper state set --chat evening --op remove /environment/weather
  innkeeper state set --chat evening --private keeper mood '\"calm\"' --expected-version 7

VALUE 按 JSON 读取；不是 JSON 的当作文字。一切都必须符合现有的 schema：智能体配置中的，或世界状态的。
私有状态在运行留下的内容中更正：这个对话的下一次运行会以之开始的那份，或 --run 指明的。此后从那里继续的运行以它开始。
整数保留每一位，最大 18446744073709551615；更大的会被拒绝，请写成文字。";

const DELETE: &str = "\
示例：
  innkeeper state delete --chat evening --world
  innkeeper state delete --chat evening --private keeper --yes
  innkeeper state delete --chat evening --all

删除之后，这个对话以后的运行就没有它了。--private 把这个智能体的状态从这个对话的运行留下的所有内容中去掉，与 --run
同用时只从那次运行留下的内容中去掉；--all 还会删除运行保存在 persist/ 中的文件。运行自己的内容不动：用
innkeeper runs delete 删除运行。没有结束的运行所用的状态会保留，并会列出。";

const SCHEMA: &str = "\
示例：
  innkeeper state schema --chat evening               显示现有的
  innkeeper state schema --chat evening world.schema.json
  innkeeper state schema --chat evening --remove

不写文件时，显示世界状态必须符合的 JSON Schema；写了文件，世界状态从此必须符合它，不符合的更改会被拒绝。
现有的世界状态必须已经符合它。";
