//! What is said of answers, rollbacks and checkpoints, in Chinese. Found by its fixed words, as in `said.rs`.

/// The more exact one first. A number says which `{}` stands there.
#[rustfmt::skip]
pub(super) const PHRASES: &[(&str, &str)] = &[
    // Answers.
    ("A call that is denied is not made, so its arguments need no change", "被拒绝的调用不会执行，因此无需修改参数"),
    ("the arguments have {} bytes, and at most {} are taken", "参数有 {0} 字节，最多 {1} 字节"),
    ("the arguments are nested more than {} deep", "参数嵌套超过 {0} 层"),
    ("the tool '{}' is not there any more", "工具“{0}”已不存在"),
    ("the tool does not take them", "工具不接受这些参数"),
    ("the rule '{}' forbids these arguments: {}", "规则“{0}”禁止这些参数：{1}"),
    ("the rule '{}' forbids these arguments", "规则“{0}”禁止这些参数"),
    ("'{}' says where a value came from and cannot be changed; change the value itself", "“{0}”只说明值从哪里来，不能修改；请修改值本身"),
    ("'{}' has a mark in it that stands for something you were not shown; leave the value as it was shown, or write it whole", "“{0}”中有代表未显示内容的标记；请保持显示的原样，或写出完整的值"),
    ("Unknown parameter {}, did you mean {}?; {}", "未知参数 {0}，是否想用 {1}？{2}"),
    ("Unknown parameter {}, did you mean {}?", "未知参数 {0}，是否想用 {1}？"),
    ("Unknown parameter {}, none are declared", "未知参数 {0}，工具没有参数"),
    ("Unknown parameter {}, declared are {}; {}", "未知参数 {0}，可用的有 {1}；{2}"),
    ("Unknown parameter {}, declared are {}", "未知参数 {0}，可用的有 {1}"),
    ("Missing required parameter {}; {}", "缺少必需的参数 {0}；{1}"),
    ("Missing required parameter {}", "缺少必需的参数 {0}"),
    ("Parameter {} must be {}, received {}; {}", "参数 {0} 应为 {1}，实际是 {2}；{3}"),
    ("Parameter {} must be {}, received {}", "参数 {0} 应为 {1}，实际是 {2}"),
    ("a string", "字符串"),
    ("an integer", "整数"),
    ("a number", "数字"),
    ("a boolean", "布尔值"),
    ("an object", "对象"),
    ("an array", "数组"),
    ("an empty text", "空文本"),
    ("This question has been answered in the same way", "此前已给出同样的回答"),
    ("deleting files is asked for unless a rule allows it", "除非有规则允许，删除文件前都会询问"),
    ("tools of MCP servers are asked for unless a rule allows them", "除非有规则允许，调用 MCP 服务器的工具前都会询问"),
    // Rollbacks.
    ("the run '{}' has gone on since you looked at it, from event {} to {}; nothing was taken back: look at what would be now, then roll it back", "运行“{0}”在你查看之后又有进展（从事件 {1} 到 {2}）；没有撤回任何东西：请看现在会改变什么，再退回"),
    ("The run has only begun, so there is nothing to take back", "运行刚刚开始，没有可撤回的"),
    ("The run was handed to another agent since then; a fork goes on from there with the one who had it", "运行在那之后已交给另一个智能体；可从那里分出新的运行，由原来的智能体继续"),
    ("The run has gone on meanwhile; look at it, then roll it back", "运行在此期间又有进展；请查看后再退回"),
    ("The run is being ended; roll it back when it is over", "运行正在结束；请等它结束后再退回"),
    ("The run is at work; cancel it, roll it back, then resume it", "运行正在进行；请先取消，退回后再继续"),
    ("the reason of the rollback has more than {} characters; say it shorter", "退回的原因超过 {0} 个字符；请写短一些"),
    ("what the run '{}' was then has {} bytes, and at most {} can be brought back; choose a checkpoint that is nearer to how it is now", "运行“{0}”当时的内容有 {1} 字节，最多能恢复 {2} 字节；请选择离现在更近的检查点"),
    // Checkpoints.
    ("the reason of the checkpoint has more than {} characters; say it shorter", "检查点的原因超过 {0} 个字符；请写短一些"),
    ("The run is over, so its files do not change and need no checkpoint; 'start' and 'now' name them", "运行已经结束，文件不再改变，无需检查点；可用 start 和 now 指代"),
    ("The run is being ended, so its files do not change and need no checkpoint; 'start' and 'now' name them", "运行正在结束，文件不再改变，无需检查点；可用 start 和 now 指代"),
    ("The run has only begun, so its files do not change and need no checkpoint; 'start' and 'now' name them", "运行刚刚开始，还没有文件，无需检查点；可用 start 和 now 指代"),
];
