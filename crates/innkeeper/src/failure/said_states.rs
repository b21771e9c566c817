//! What is said of states, in Chinese. Found by its fixed words, as in `said.rs`.

/// The more exact one first. A number says which `{}` stands there.
#[rustfmt::skip]
pub(super) const PHRASES: &[(&str, &str)] = &[
    ("The world state is at version {}, not {}; since then {} changed: read it again and decide anew", "世界状态是版本 {0}，不是 {1}；其间改了 {2}：请重新读取再决定"),
    ("The private state is at version {}, not {}; since then {} changed: read it again and decide anew", "私有状态是版本 {0}，不是 {1}；其间改了 {2}：请重新读取再决定"),
    ("The world state is at version {}, not {}: read it again and decide anew", "世界状态是版本 {0}，不是 {1}：请重新读取再决定"),
    ("The private state is at version {}, not {}: read it again and decide anew", "私有状态是版本 {0}，不是 {1}：请重新读取再决定"),
    ("The world state would not fit its schema at '{}': {}; nothing was changed, give what fits", "世界状态在“{0}”处会不符合 schema：{1}；没有更改任何东西，请给出符合的值"),
    ("The private state would not fit its schema at '{}': {}; nothing was changed, give what fits", "私有状态在“{0}”处会不符合 schema：{1}；没有更改任何东西，请给出符合的值"),
    ("The schema of the world state is none at '{}' ({}): correct it with `innkeeper state schema`", "世界状态的 schema 在“{0}”处有误（{1}）：请用 `innkeeper state schema` 更正"),
    ("The schema of the private state is none at '{}' ({}): correct it in the profile", "私有状态的 schema 在“{0}”处有误（{1}）：请在配置中更正"),
    ("the agent '{}' has no private state in this chat: it has changed nothing of what its profile gives it", "智能体“{0}”在这个对话中没有私有状态：它没有改过配置给它的内容"),
    ("the run '{}' has left nothing to this chat: it is not complete, or what it left was removed", "运行“{0}”没有给这个对话留下任何东西：它没有完成，或留下的已被删除"),
    ("The state has no '{}' at '{}'; {}", "状态在“{1}”中没有“{0}”；{2}"),
    ("The operation '{}' on '{}' needs a value", "对“{1}”的操作“{0}”需要一个值"),
    ("The operation '{}' on '{}' needs a number as its value", "对“{1}”的操作“{0}”需要一个数字"),
    ("The operation '{}' on '{}' needs an object as its value", "对“{1}”的操作“{0}”需要一个对象"),
    ("The operation '{}' on '{}' has no use for a value", "对“{1}”的操作“{0}”不需要值"),
    ("the run '{}' has left nothing to this chat: it is not complete, or what it left was taken back", "运行“{0}”没有给这个对话留下任何东西：它没有完成，或留下的已被退回"),
    ("neither the world nor a private state of this chat has anything at '{}'", "这个对话的世界状态和私有状态在“{0}”处都没有内容"),
    ("there is nothing of it in this chat, so nothing was deleted", "这个对话中没有它，因此没有删除任何东西"),
    ("The number {} cannot be kept exactly: integers go from {} to {}; give it as text", "数字 {0} 无法精确保存：整数的范围是 {1} 到 {2}；请写成文字"),
    ("A number in what is to stand at '{}' cannot be kept exactly: integers go from {} to {}; give it as text", "要放到“{0}”的内容中有数字无法精确保存：整数的范围是 {1} 到 {2}；请写成文字"),
    ("What stands at '{}' cannot be incremented: digits would be lost, since the two are of such different size; set it instead", "“{0}”处的内容无法增加：两数大小相差太多，会丢失数位；请改用 set"),
    ("What stands at '{}' cannot be incremented: the sum would be too large", "“{0}”处的内容无法增加：结果会太大"),
    ("What stands at '{}' cannot be incremented: it is no number; set it instead", "“{0}”处的内容无法增加：它不是数字；请改用 set"),
    ("no run of this chat is complete, so none has left a private state to correct", "这个对话还没有完成的运行，因此没有可更正的私有状态"),
];
