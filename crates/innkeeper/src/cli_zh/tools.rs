//! `innkeeper tools …` and `innkeeper call` in Chinese.

pub(super) const ARGUMENTS: &[(&str, &str, &str)] = &[
    ("call", "file", "存有回复的文件；- 或不写则读取标准输入"),
    (
        "call",
        "protocol",
        "要寻找的调用写法：auto（全部，含各家原生响应）、tam、action、tool-call [默认：auto]",
    ),
    ("call", "project", "普通路径所指的项目 [默认：default]"),
    ("call", "yes", "凡规则要求询问的，一律回答“是”"),
    (
        "call",
        "allow",
        "只提供这些名字的工具，* 代表任意文字；可重复 [默认：全部]",
    ),
    (
        "call",
        "deny",
        "不提供这些名字的工具；可重复，优先于 --allow",
    ),
    (
        "tools list",
        "pattern",
        "只列出这些名字的工具，* 代表任意文字",
    ),
    (
        "tools list",
        "source",
        "只列出此来源的工具，例如 builtin 或 plugin:*",
    ),
    ("tools list", "tag", "只列出带此标签的工具"),
    ("tools search", "words", "要做什么，用几个词来说"),
    ("tools search", "limit", "最多显示多少个工具 [默认：5]"),
    ("tools show", "id", "工具的 ID 或别名"),
    ("tools call", "id", "工具的 ID 或别名"),
    ("tools call", "assignments", "参数；值按工具声明的类型读取"),
    (
        "tools call",
        "args",
        "以 JSON 对象给出全部参数；- 从标准输入读取",
    ),
    (
        "tools call",
        "project",
        "普通路径所指的项目 [默认：default]",
    ),
    (
        "tools call",
        "no_wait",
        "不等待在后台运行的工具，只输出它的编号",
    ),
    (
        "tools manifest",
        "protocol",
        "要讲解的调用写法：tam、action、tool-call、openai、anthropic、gemini [默认：tam]",
    ),
    (
        "tools manifest",
        "locale",
        "讲解所用的语言：en 或 zh [默认：提示信息的语言]",
    ),
    (
        "tools manifest",
        "tools",
        "只包含这些名字的工具，* 代表任意文字；可重复 [默认：全部]",
    ),
    ("tools audit", "tool", "只看这个工具的调用，* 代表任意文字"),
    (
        "tools audit",
        "outcome",
        "只看这样结束的调用：success、error、denied、cancelled、started、outcome_unknown、skipped",
    ),
    ("tools audit", "run", "只看这次运行的调用"),
    (
        "tools audit",
        "since",
        "只看自某日期、某时间或多久以前（2h、7d）起的调用",
    ),
    ("tools audit", "limit", "最多显示多少条 [默认：50]"),
    ("tools audit", "verify", "检查记录是否被改动或删除"),
    ("tools grants", "revoke", "收回这个编号的许可"),
];

/// Command, what it does, examples and exit codes.
pub(super) const COMMANDS: &[(&str, &str, &str)] = &[
    ("call", "执行模型回复中的工具调用，输出结果", CALL_REPLY),
    ("tools", "查看和调用工具，查看调用记录", TOOLS),
    ("tools list", "列出可以调用的工具", LIST),
    ("tools search", "按要做的事寻找合适的工具", SEARCH),
    ("tools show", "显示一个工具及其参数", SHOW),
    ("tools call", "调用一个工具并输出结果", CALL),
    ("tools manifest", "输出告诉模型的工具说明", MANIFEST),
    ("tools audit", "查看调用了什么、由谁调用、结果如何", AUDIT),
    ("tools grants", "列出或收回“始终允许”的许可", GRANTS),
];

const CALL_REPLY: &str = "\
示例：
  innkeeper call reply.txt                  执行文件中的调用
  my-model | innkeeper call                 执行模型输出中的调用
  innkeeper call --deny 'File.*' reply.txt  执行，但不碰文件
  innkeeper call --yes reply.txt            凡需询问的一律同意
  innkeeper call --json reply.txt | jq '.[].outcome'

文字中可以有 TAM 块、<ACTION> 块、<tool_call> 元素或各家的原生响应。调用以智能体的身份
执行，受 innkeeper.toml 中规则的约束。每个调用的结果按模型将读到的样子输出；加 --json 则
输出记录数组，每条记录带有这段文字。规则要求询问时会询问您；没有终端时等于拒绝，除非加了
--yes。按 Ctrl-C 会停止正在运行的工具，并输出已有的结果。

退出码：0 全部成功，1 有调用失败或被拒绝，2 用法有误或输入无法读取，3 文字中没有调用，
130 被 Ctrl-C 停止。";

const TOOLS: &str = "\
示例：
  innkeeper tools list                           所有工具
  innkeeper tools search \"掷骰子\"                哪个工具能做这件事？
  innkeeper tools show File.Read                 某个工具的参数
  innkeeper tools call dice.roll formula=2d6      亲自调用
  innkeeper tools manifest --protocol tam        模型看到的工具说明
  innkeeper tools audit --limit 20               最近的调用

退出码：0 完成，1 调用失败或被拒绝，或记录被改动，2 用法有误。";

const LIST: &str = "\
示例：
  innkeeper tools list
  innkeeper tools list 'File.*'
  innkeeper tools list --source 'plugin:*' --tag file
  innkeeper tools list --json | jq -r '.[].id'";

const SEARCH: &str = "\
示例：
  innkeeper tools search \"roll some dice\"
  innkeeper tools search 天气预报 --limit 3
  innkeeper tools search 读取文件 --json | jq -r '.[].id'

中文、英文都可以，词序和词形不限，最合适的排在最前。会查找名称、说明、标签和参数；以前帮过您的
工具会稍微靠前。可用工具很多的智能体只会先看到适合任务的那些，其余的也用同样的方法找到。";

const SHOW: &str = "\
示例：
  innkeeper tools show File.Read
  innkeeper tools show File.Read --json | jq .parameters";

const CALL: &str = "\
示例：
  innkeeper tools call dice.roll formula=2d6
  innkeeper tools call File.Write --args '{\"file_path\": \"notes.md\", \"content\": \"八点上茶\"}'
  innkeeper tools call File.Write --args - < arguments.json

调用者是您本人：规则要求询问的，视为您已同意；规则禁止的，仍然禁止。参数有误时会一次列出
全部错误。在后台运行的工具会等到结束；加 --no-wait 则只输出它的编号。

退出码：0 完成，1 调用失败或被拒绝，2 用法有误，130 被 Ctrl-C 停止。";

const MANIFEST: &str = "\
示例：
  innkeeper tools manifest                       用于提示词，TAM 写法
  innkeeper tools manifest --protocol action --locale zh
  innkeeper tools manifest --protocol openai --tools 'File.*' > tools.json";

const AUDIT: &str = "\
示例：
  innkeeper tools audit                          最近的调用，最新的在前
  innkeeper tools audit --tool 'File.*' --outcome denied --since 7d
  innkeeper tools audit --verify                 记录被改动过吗？
  innkeeper tools audit --json | jq '.[] | [.at, .tool, .outcome]'

退出码：0 完成，1 记录被改动，2 用法有误。";

const GRANTS: &str = "\
示例：
  innkeeper tools grants                         回答过“始终允许”的问题
  innkeeper tools grants --revoke 3              从现在起重新询问";
