//! `innkeeper workflow …` in Chinese.

pub(super) const ARGUMENTS: &[(&str, &str, &str)] = &[
    (
        "workflow run",
        "workflow",
        "工作流的文件，或其 ID 或名称；- 从标准输入读取",
    ),
    (
        "workflow run",
        "input",
        "一个输入；名称=@文件 取文件的文本，名称:=JSON 取 JSON；可重复",
    ),
    (
        "workflow run",
        "inputs",
        "存有全部输入（JSON 对象）的文件；- 从标准输入读取；--input 优先",
    ),
    ("workflow run", "watch", "在标准错误上显示各节点的运行情况"),
    (
        "workflow run",
        "events",
        "在结果之前把每个事件输出为一行 JSON",
    ),
    (
        "workflow run",
        "fresh",
        "从头运行所有节点，不取用已保留的结果",
    ),
    (
        "workflow run",
        "timeout",
        "最长运行时间，例如 500ms、30s、5m、1h",
    ),
    (
        "workflow run",
        "yes",
        "凡规则要求就其工具询问的，一律回答“是”",
    ),
    (
        "workflow run",
        "project",
        "所指的项目，决定工作流和文件的位置 [默认：default]",
    ),
    (
        "workflow check",
        "workflows",
        "文件，或工作流的 ID 或名称；- 从标准输入读取",
    ),
    (
        "workflow check",
        "project",
        "所指的项目，决定工作流和文件的位置 [默认：default]",
    ),
    (
        "workflow list",
        "project",
        "所指的项目，决定工作流和文件的位置 [默认：default]",
    ),
    (
        "workflow graph",
        "workflow",
        "工作流的文件，或其 ID 或名称；- 从标准输入读取",
    ),
    (
        "workflow graph",
        "format",
        "画法：mermaid（Markdown 可显示的文本）或 svg（按画布排布的图）[默认：mermaid]",
    ),
    (
        "workflow graph",
        "output",
        "写入的文件，不写则输出到标准输出",
    ),
    ("workflow graph", "groups", "同时画出节点组的内部"),
    (
        "workflow graph",
        "project",
        "所指的项目，决定工作流和文件的位置 [默认：default]",
    ),
    ("workflow nodes", "kind", "显示此类型：它的插槽、设置和模式"),
    ("workflow nodes", "category", "只列出此类别的类型"),
    (
        "workflow nodes",
        "search",
        "只列出名称、标题或说明中含有此文字的类型",
    ),
    (
        "workflow run",
        "fresh",
        "重新执行全部，不使用以前保留的结果",
    ),
];

pub(super) const COMMANDS: &[(&str, &str, &str)] = &[
    ("workflow", "运行、检查、列出和绘制工作流", EXAMPLES),
    ("workflow run", "运行一个工作流，输出它的结果", RUN),
    ("workflow check", "指出工作流中的所有问题", CHECK),
    ("workflow list", "列出可按名称找到的工作流", LIST),
    ("workflow graph", "把工作流画成 Mermaid 或 SVG", GRAPH),
    ("workflow nodes", "列出节点类型，或显示其中一个", NODES),
];

const EXAMPLES: &str = "\
示例：
  innkeeper workflow list                            现有的工作流
  innkeeper workflow run greet.json --input name=Ann 运行一个文件
  innkeeper workflow run greet --watch               按名称运行，并观看过程
  innkeeper workflow check greet.json                其中的所有问题
  innkeeper workflow graph greet.json > greet.mmd    画出来
  innkeeper workflow nodes --search text             可用的节点类型

退出码：0 完成，1 运行失败或工作流有错误，2 用法或输入有误，130 被 Ctrl-C 停止。";

const RUN: &str = "\
示例：
  innkeeper workflow run greet.json --input name=Ann
  innkeeper workflow run report --input topic=@topic.md --input sections:='[\"why\", \"how\"]'
  innkeeper workflow run report --inputs inputs.json --watch
  innkeeper workflow run greet.json --json | jq .outputs
  innkeeper workflow run greet.json --events | jq -c 'select(.type == \"NODE_ERROR\")'

工作流由其文件指定；若在列表中，也可用 ID、文件名或名称。值按接口声明的类型读取：文本原样，
数字，true 或 false，对象和列表用 JSON。名称=@文件 取文件的文本（@@ 表示以 @ 开头的文本），
名称:=JSON 不论类型都取 JSON。

只有一个输出时单独输出，多个输出时带上名称。在终端里或使用 --watch 时，流式输出边产生边显示。
使用 --json 时输出一个对象：status、outputs、error、failures、promptId、durationMs。
Ctrl-C 停止运行，已产生的内容会输出。

退出码：0 完成，1 失败，2 用法或输入有误，130 被 Ctrl-C 停止。";

const CHECK: &str = "\
示例：
  innkeeper workflow check greet.json
  innkeeper workflow check workflows/*.json --quiet
  innkeeper workflow check greet --json | jq '.[].problems[] | [.node, .slot, .message]'

读取文件，跟随其中的节点组，像运行那样制定计划，但不运行任何东西。错误使工作流无法运行，
警告则不会。使用 --quiet 时只报告有错误的工作流。

退出码：0 没有错误，1 有错误，2 用法有误或文件无法读取。";

const LIST: &str = "\
示例：
  innkeeper workflow list
  innkeeper workflow list --project tavern
  innkeeper workflow list --json | jq -r '.[] | select(.errors > 0) | .path'";

const GRAPH: &str = "\
示例：
  innkeeper workflow graph greet.json                       Mermaid，用于 Markdown 页面
  innkeeper workflow graph greet.json --format svg --output greet.svg
  innkeeper workflow graph report --groups                  连同节点组的内部

有错误的工作流，能读懂多少就画多少。";

const NODES: &str = "\
示例：
  innkeeper workflow nodes                                  所有节点类型
  innkeeper workflow nodes --category Flow
  innkeeper workflow nodes --search json
  innkeeper workflow nodes core:LoopZone                    它的插槽、设置和模式";
