//! `innkeeper run` and `innkeeper runs …` in Chinese.

const RUN_ID: &str = "运行的 ID、其开头部分，或 last（最新的一次）";

pub(super) const ARGUMENTS: &[(&str, &str, &str)] = &[
    (
        "run",
        "first",
        "后面还有消息时是配置；否则就是消息本身；- 从标准输入读取",
    ),
    ("run", "second", "要做的事"),
    (
        "run",
        "chat",
        "用这个名字的对话：运行知道此前留下的内容，并共享它的世界状态",
    ),
    (
        "run",
        "profile",
        "由哪个智能体（配置）来做 [默认：innkeeper，回答你并拥有全部工具]",
    ),
    ("run", "model", "改用这个模型，代替配置中的"),
    (
        "run",
        "project",
        "所指的项目，决定配置、工作流和文件的位置 [默认：default]",
    ),
    (
        "run",
        "protocol",
        "模型书写调用的方式，代替配置中的：tam、action、native",
    ),
    (
        "run",
        "background",
        "不要求发布内容：无论配置怎么说，普通的回答即可结束",
    ),
    (
        "run",
        "max_rounds",
        "最多向模型请求几次，代替配置中的；移交后由接手者用剩下的次数，做任务的智能体另计",
    ),
    ("run", "yes", "凡规则要求询问的，一律回答“是”"),
    ("run", "resume", "继续这次运行；给出的消息会转告它"),
    (
        "runs list",
        "status",
        "只列出这种状态的运行，或 unfinished（没有结束的）；可重复",
    ),
    ("runs list", "limit", "最多多少个 [默认：20]"),
    ("runs show", "run", RUN_ID),
    ("runs show", "turn", "这一轮发给模型的内容和得到的回复"),
    (
        "runs show",
        "invocation",
        "与 --turn 一起：运行中这个智能体的（invocation ID）",
    ),
    ("runs show", "task", "委派给其他智能体的一项任务及其结果"),
    ("runs show", "file", "工作区中某个文件的文本"),
    ("runs events", "run", RUN_ID),
    ("runs events", "after", "只要这个编号之后的事件"),
    ("runs events", "limit", "最多多少个 [默认：100]"),
    ("runs events", "follow", "继续显示新的事件，直到运行结束"),
    (
        "runs events",
        "invocation",
        "只要运行中这个智能体的事件（invocation ID，runs show 会列出）",
    ),
    ("runs checkpoint", "run", RUN_ID),
    ("runs checkpoint", "note", "原因；与检查点一起保存"),
    ("runs checkpoints", "run", RUN_ID),
    (
        "runs checkpoints",
        "checkpoint",
        "只看这一个检查点及其全部文件",
    ),
    ("runs diff", "run", RUN_ID),
    ("runs diff", "from", "检查点、start 或 now [默认：start]"),
    ("runs diff", "to", "检查点、start 或 now [默认：now]"),
    (
        "runs diff",
        "path",
        "只看这个文件，或这个文件夹中的文件；可重复",
    ),
    ("runs diff", "stat", "只列出哪些文件，各有多少行"),
    ("runs rollback", "run", RUN_ID),
    ("runs rollback", "checkpoint", "检查点，或 start"),
    (
        "runs rollback",
        "scope",
        "除文件和对话外还撤回什么：workspace（不撤回，已发布的保留）、committed-message（收回之后发布的内容） [默认：workspace]",
    ),
    ("runs rollback", "undo", "恢复到上一次退回之前"),
    ("runs rollback", "reason", "原因，供查看事件的人了解"),
    ("runs rollback", "yes", "不再询问"),
    ("runs fork", "run", RUN_ID),
    (
        "runs fork",
        "checkpoint",
        "检查点、start 或 now [默认：now]",
    ),
    (
        "runs fork",
        "tell",
        "随第一次请求告诉智能体的话；- 从标准输入读取",
    ),
    ("runs fork", "profile", "改由另一个智能体（配置）来做"),
    ("runs fork", "model", "改用另一个模型"),
    ("runs fork", "no_start", "只建立，不开始"),
    ("runs fork", "yes", "凡规则要求询问的，一律回答“是”"),
    ("runs resume", "run", RUN_ID),
    ("runs resume", "all", "所有没有结束的运行"),
    ("runs resume", "rounds", "比原来多允许几次模型请求"),
    ("runs resume", "yes", "凡规则要求询问的，一律回答“是”"),
    ("runs guide", "run", RUN_ID),
    ("runs guide", "text", "要告诉智能体的话；- 从标准输入读取"),
    ("runs approve", "run", RUN_ID),
    (
        "runs approve",
        "call",
        "哪个调用、哪次询问（approvalId）或哪个智能体（有几个在等待时）",
    ),
    ("runs approve", "deny", "不允许调用"),
    ("runs approve", "reason", "原因；会告诉模型"),
    (
        "runs approve",
        "remember",
        "多久有效：once（这次调用）、run（本次运行）、always（始终）",
    ),
    (
        "runs approve",
        "arguments",
        "改用这些参数调用：JSON、@文件，或 - 从标准输入读取",
    ),
    (
        "runs approve",
        "list",
        "列出等待回答的调用：这次运行的，或所有运行的",
    ),
    ("runs cancel", "run", RUN_ID),
    (
        "runs cancel",
        "task",
        "只取消这一项委派给其他智能体的任务（任务 ID，runs show 会列出）",
    ),
    ("runs export", "run", RUN_ID),
    ("runs export", "output", "要写入的文件，代替标准输出"),
    ("runs delete", "run", RUN_ID),
    ("runs delete", "yes", "不再询问"),
];

pub(super) const COMMANDS: &[(&str, &str, &str)] = &[
    ("run", "让智能体做一件事，并看着它做", RUN),
    ("runs", "查看、继续、取消、导出智能体的运行", EXAMPLES),
    ("runs list", "列出运行，最新的在前", LIST),
    (
        "runs show",
        "显示一次运行：经过、各轮、调用、文件和发布的内容",
        SHOW,
    ),
    ("runs events", "输出一次运行的事件", EVENTS),
    (
        "runs checkpoint",
        "为一次运行创建检查点，不论由谁驱动",
        CHECKPOINT,
    ),
    (
        "runs checkpoints",
        "列出一次运行的检查点，或显示其中一个的文件",
        CHECKPOINTS,
    ),
    (
        "runs diff",
        "显示一次运行改动了什么，可在任意两个检查点之间比较",
        DIFF,
    ),
    (
        "runs rollback",
        "把一次运行的文件和对话退回到某个检查点",
        ROLLBACK,
    ),
    ("runs fork", "从一次运行的检查点分出新的运行", FORK),
    ("runs resume", "继续被中断、暂停、取消或失败的运行", RESUME),
    ("runs guide", "对另一个进程中的运行说一句话", GUIDE),
    (
        "runs approve",
        "回答一次运行：它询问可否调用某个工具",
        APPROVE,
    ),
    ("runs cancel", "取消一次运行，不论由谁驱动", CANCEL),
    (
        "runs export",
        "把一次运行的全部内容写成一个 JSON 文档",
        EXPORT,
    ),
    ("runs delete", "删除一次运行及其事件和文件", DELETE),
];

const RUN: &str = "\
示例：
  innkeeper run \"掷 2d6+3\"                            让客栈的智能体来做
  innkeeper run default-writer \"写写茶\"               由另一个配置来做
  innkeeper run - < task.md                           从标准输入读取消息
  innkeeper run --model local/qwen3 \"有什么新鲜事？\"  这一次换个模型
  innkeeper run --chat evening \"谁来过？\"                在一个记得以前运行的对话里
  innkeeper run --resume last                         继续最近的一次运行
  innkeeper run --json \"掷 2d6\" | jq -r .type         发生的一切，每行一条

模型的话边写边显示，每个调用连同用时和写下的内容也会显示。一切都在显示之前写入磁盘：即使进程被杀死，
innkeeper runs resume 也能从原处继续。规则要求询问时会当场问你；没有终端时运行会等待，可用 innkeeper runs approve 回答。运行期间输入的一行文字，会随下一次请求
转告智能体；在另一个终端或程序中，可用 innkeeper runs guide last \"……\" 做到同样的事。
按一次 Ctrl-C 取消运行，按两次则原样搁置，之后可以继续。

智能体发布的内容和它的回答写到标准输出，其余写到标准错误。使用 --json 时：第一行是运行的标识，
之后每个事件一行，最后一行是总结。

退出码：0 完成，1 失败，2 用法有误，4 发布之后失败，5 被别人取消、已暂停或等待批准，
6 另一个进程正在驱动这里的运行，130 被 Ctrl-C 停止。";

const EXAMPLES: &str = "\
示例：
  innkeeper runs list                                 列出运行，最新的在前
  innkeeper runs show last                            最近一次运行的经过
  innkeeper runs resume --all                         继续所有没有结束的运行
  innkeeper runs events 0197 --follow                 看另一个进程中的运行
  innkeeper runs diff last                            改动了什么，在哪些行
  innkeeper runs rollback last cp_000003              退回到一个检查点
  innkeeper runs fork last cp_000003                  从检查点分出新的运行
  innkeeper runs guide last \"短一点\"                  对另一个进程中的运行说一句话
  innkeeper runs approve last                         回答一次询问可否做某事的运行
  innkeeper runs export last --output run.json        全部写入一个文件

运行可用 ID、足以区分的 ID 开头，或 last 来指定。

退出码：0 完成，1 失败，2 用法有误或没有这次运行；驱动运行时与 innkeeper run 相同。";

const LIST: &str = "\
示例：
  innkeeper runs list
  innkeeper runs list --status unfinished
  innkeeper runs list --status failed --status partial_success --limit 5
  innkeeper runs list --json | jq -r '.[] | [.runId, .status, .title] | @tsv'";

const SHOW: &str = "\
示例：
  innkeeper runs show last
  innkeeper runs show last --turn 2                   第 2 轮发出了什么，得到了什么
  innkeeper runs show last --file output/main.md      工作区中的一个文件
  innkeeper runs show last --json | jq .spent";

const EVENTS: &str = "\
示例：
  innkeeper runs events last
  innkeeper runs events last --after 40 --limit 20
  innkeeper runs events last --follow                 随时显示，直到运行结束
  innkeeper runs events last --json | jq -c 'select(.type == \"tool_call_failed\")'

没有 --after 时显示最后的事件。使用 --json 时每个事件一行，与日志中相同。";

const CHECKPOINTS: &str = "\
示例：
  innkeeper runs checkpoints last
  innkeeper runs checkpoints last cp_000003           其中一个，连同它的全部文件
  innkeeper runs checkpoints last --json | jq -r '.checkpoints[] | [.id, .reason] | @tsv'

每次写入、修补和发布都会留下一个检查点。查看某个文件当时的样子：
innkeeper runs show last --file checkpoints/cp_000003/output/main.md";

const CHECKPOINT: &str = "\
示例：
  innkeeper runs checkpoint last                      把现在的文件留作检查点
  innkeeper runs checkpoint last --note \"暴风雨之前\"

若由另一个进程驱动，由那个进程创建；没有进程驱动时在这里创建，运行保持原样。已结束的运行不再接受检查点：
它的结尾本来就会保留。使用 --json 时给出 id、seq、eventSeq、runId、createdAt、reason、note 和 files。";

const DIFF: &str = "\
示例：
  innkeeper runs diff last                            一次运行的全部改动
  innkeeper runs diff last cp_000003                  从那个检查点以来
  innkeeper runs diff last cp_000003 cp_000007        两个检查点之间
  innkeeper runs diff last --path output --stat       某个文件夹中的哪些文件，各多少行
  innkeeper runs diff last > run.patch                供 patch -p1 和 git apply 使用

FROM 和 TO 是检查点（cp_000003，或 3）、start（运行开始时的内容）或 now（现在）。没有逐行比较的文件
（不是文本、太大、太多）会用一行以 # 开头的文字说明。使用 --json 时给出 runId、fromCheckpointId、
toCheckpointId、files 和 totals。";

const ROLLBACK: &str = "\
示例：
  innkeeper runs rollback last cp_000003              文件和对话都恢复到那时
  innkeeper runs rollback last start --yes            恢复到开始时，不再询问
  innkeeper runs rollback last 3 --scope committed-message
                                                      之后发布的内容也一并收回
  innkeeper runs rollback last --undo                 恢复到上一次退回之前

会先显示将改变什么，再询问你。运行须已结束或暂停；等待你的、被中断的运行会先被取消，正在进行的、显示之后又有进展的则拒绝。
之后可以继续，已完成的运行也可以：模型会被告知撤回了什么，那之后“本次运行”的许可会重新询问。已花费的不会退还，工具在工作区以外做的事也不会撤销。
使用 --json 时给出事件 run_rolled_back 以及 runId、status 和 afterCheckpointId。

退出码：0 完成，1 失败或被拒绝，2 用法有误或没有这次运行，6 另一个进程正在驱动这里的运行。";

const FORK: &str = "\
示例：
  innkeeper runs fork last                            从一次运行现在的样子开始新的运行
  innkeeper runs fork last cp_000003 --tell \"写得悲伤些\"
  innkeeper runs fork last 3 --model local/qwen3      换一个模型
  innkeeper runs fork last start --no-start           只建立；runs resume 才开始

新的运行拥有那一刻的文件和对话，有自己的 ID 和额度；原来的运行不受影响，可以正在进行，也可以删除。
其他智能体当时正在做的任务不会带过来，新的运行会被告知。显示方式、--json 和退出码都与 innkeeper run 相同：
另一个进程正在驱动这里的运行时为 6，只建立（--no-start）时除外。";

const RESUME: &str = "\
示例：
  innkeeper runs resume last                          被中断、暂停、取消或失败的运行
  innkeeper runs resume last --rounds 20              再多给几轮
  innkeeper runs resume --all                         所有没有结束的运行

使用 --all 且有多个运行时，每行以该运行 ID 的结尾开头；使用 --json 时，每个运行都有自己的标识、
事件和总结，以 runId 区分。

退出码：与 innkeeper run 相同；使用 --all 时，只要有一个失败就是 1。";

const GUIDE: &str = "\
示例：
  innkeeper runs guide last \"短一点\"
  innkeeper runs guide 0197aa - < remarks.md          从标准输入读取要说的话

该运行正在另一个进程中进行，这句话会随下一次模型请求转告它。如果它已经结束，或没有进程驱动它，
就不会转告，并会说明可以怎么做。";

const APPROVE: &str = "\
示例：
  innkeeper runs approve --list                       所有等待回答的调用
  innkeeper runs approve last --list                  完整显示一次运行的询问
  innkeeper runs approve last                         允许调用，仅这一次
  innkeeper runs approve last --remember run          这次运行再问同样的事也允许
  innkeeper runs approve last call_2_1 --deny --reason \"不要动那个文件\"
  innkeeper runs approve last --arguments '{\"file_path\": \"notes/old.md\"}'

会显示所回答的内容，看不见的字符写成 \\u200b。如果这次运行有几个调用在等待，请指明一个。驱动它的进程会立即继续；没有进程驱动时，回答会被记下，
innkeeper runs resume 会带着它继续。参数要完整给出；保持显示原样的值（如 [redacted]）不会改变。
规则拒绝的仍然拒绝。";

const CANCEL: &str = "\
示例：
  innkeeper runs cancel last
  innkeeper runs cancel last --task task_0197aa       只取消一项任务，运行的其余部分继续

若由另一个进程驱动，会通知它，并等待运行结束。";

const EXPORT: &str = "\
示例：
  innkeeper runs export last > run.json
  innkeeper runs export last --output run.json

一个 JSON 对象：format、version、record、created（开始时的内容）、spent、failure、commits、events、
turns（每轮请求新增的内容和回复）以及 files（工作区的文件）。同一次运行总是得到相同的字节。
文件要么完整写入，要么保持原样；设备或管道则直接写入。";

const DELETE: &str = "\
示例：
  innkeeper runs delete last
  innkeeper runs delete 0197aa --yes

它的事件和文件会永久消失。没有结束的运行会先被取消。";
