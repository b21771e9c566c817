//! `innkeeper runs memory …` and `innkeeper runs prune` in Chinese.

const CHAT: &str = "聊天的固定 ID、工作区，或其中的一次运行";

pub(super) const ARGUMENTS: &[(&str, &str, &str)] = &[
    ("runs memory list", "chat", CHAT),
    ("runs memory show", "chat", CHAT),
    (
        "runs memory show",
        "state",
        "状态的 ID、其开头部分，或 last（最新的）",
    ),
    ("runs memory show", "file", "其中某个文件的文本"),
    ("runs memory diff", "chat", CHAT),
    ("runs memory diff", "from", "状态、last 或 none（空）"),
    (
        "runs memory diff",
        "to",
        "状态、last 或 none（空）[默认：last]",
    ),
    ("runs memory diff", "stat", "只列出哪些文件，各有多少行"),
    (
        "runs memory copy",
        "chat",
        "谁的记忆：聊天的固定 ID、工作区，或其中的一次运行",
    ),
    (
        "runs memory copy",
        "target",
        "复制到哪里：聊天的固定 ID（可以是新的）、工作区，或其中的一次运行",
    ),
    ("runs memory prune", "chat", CHAT),
    ("runs memory prune", "states", "状态的 ID 或其开头部分"),
    ("runs memory prune", "yes", "不再询问"),
    ("runs prune", "keep", "最近结束的运行保留多少个"),
    ("runs prune", "keep_full", "其中完整保留多少个"),
    ("runs prune", "dry_run", "只说明会清理什么"),
    ("runs prune", "yes", "不再询问"),
];

pub(super) const COMMANDS: &[(&str, &str, &str)] = &[
    ("runs memory", "查看、比较、复制、清理聊天的记忆", MEMORY),
    (
        "runs memory list",
        "列出有记忆的聊天，或其中一个的各个状态",
        LIST,
    ),
    ("runs memory show", "显示一个状态的文件，或其中一个", SHOW),
    ("runs memory diff", "显示两个状态之间的不同", DIFF),
    ("runs memory copy", "把一个聊天的记忆复制给它的分支", COPY),
    ("runs memory prune", "删除不再有消息引用的状态", FORGET),
    (
        "runs prune",
        "清理旧的运行：先去掉内容，只留经过；更旧的全部删除",
        PRUNE,
    ),
];

const MEMORY: &str = "\
示例：
  innkeeper runs memory list                          有记忆的聊天
  innkeeper runs memory list evening                  一个聊天的各个状态
  innkeeper runs memory list last                     最新一次运行所属聊天的各个状态
  innkeeper runs memory show last last                其中最新的一个及其文件
  innkeeper runs memory diff last 0197aa 0197bb       两个状态之间学到了什么
  innkeeper runs memory copy chat_b30dd8f137c0e127 chat_84134139c4785d9f

运行完成时，它在 persist/ 中的内容成为一个状态，以该运行命名，同一聊天以后的运行从它开始。
聊天用固定 ID（innkeeper run --chat 的，或应用程序的）、工作区（chat_……）或其中的一次运行来指明；状态用 ID、其开头部分或 last 来指明。";

const LIST: &str = "\
示例：
  innkeeper runs memory list
  innkeeper runs memory list last --json | jq -r '.states[].stateId'";

const SHOW: &str = "\
示例：
  innkeeper runs memory show last last
  innkeeper runs memory show last last --file persist/names.md";

const DIFF: &str = "\
示例：
  innkeeper runs memory diff last 0197aa last
  innkeeper runs memory diff last none last           最新状态的全部内容";

const COPY: &str = "\
示例：
  innkeeper runs memory copy letters letters-2
  innkeeper runs memory copy chat_b30dd8f137c0e127 chat_84134139c4785d9f

复制到 innkeeper run --chat 的聊天（新的也可以）：复制 CHAT 的下一次运行会用到的文件和私有状态；TARGET 的下一次运行
从它开始，之后 CHAT 怎样变化都不影响它。复制到应用程序的聊天：复制所有状态，ID 不变，因此复制到分支中的消息仍能找到
自己的状态；再次执行会补上新增的状态。";

const FORGET: &str = "\
示例：
  innkeeper runs memory prune last 0197aa 0197bb --yes

用于聊天中不再有消息引用的状态。没有结束的运行所用的状态会保留。";

const PRUNE: &str = "\
示例：
  innkeeper runs prune --dry-run                      会清理什么，为什么
  innkeeper runs prune                                询问之后清理
  innkeeper runs prune --keep 50 --keep-full 10 --yes

已结束的运行中，最近结束的完整保留；其次的保留记录和事件；其余的删除。数量写在 innkeeper.toml 的
[retention] 中，或在这里指定。没有结束的和损坏的运行不动。其他运行或记忆需要的内容也会保留。
不属于聊天的运行，它的记忆随它一起删除；聊天的记忆中，以后的运行再也用不到的会删除。
使用 --json 时输出计划，或清理的结果。

退出码：0 完成，1 有的无法清理或你没有同意，2 用法有误，6 另一个进程正在驱动这里的运行。";
