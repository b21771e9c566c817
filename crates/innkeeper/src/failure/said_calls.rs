//! What agents are told of their calls, and people read beside them, in Chinese. Found by its fixed words, as in `said.rs`.

/// The more exact one first. A number says which `{}` stands there.
#[rustfmt::skip]
pub(super) const PHRASES: &[(&str, &str)] = &[
    // Rules and answers.
    ("the rule '{}' forbids it", "规则“{0}”禁止这样做"),
    ("whether the rule '{}' ({}) applies cannot be decided: {}", "无法判断规则“{0}”（{1}）是否适用：{2}"),
    ("the call does not give '{}': give it", "调用没有给出“{0}”：请给出"),
    ("'{}' has more than {} elements", "“{0}”超过 {1} 项"),
    ("'{}' is neither text nor a number nor true or false", "“{0}”不是文本、数字、true 或 false"),
    ("'{}' is too long for a place", "“{0}”太长，不能作为位置"),
    ("'{}' is no web address", "“{0}”不是网址"),
    ("'{}' names no file or folder", "“{0}”没有指明文件或文件夹"),
    ("nobody answered within {} whether {} may be called", "{0} 内没有人回答是否允许调用 {1}"),
    ("nobody answered within {}", "{0} 内没有人回答"),
    ("nobody answered in time", "没有人及时回答"),
    ("a person refused this call", "用户拒绝了这次调用"),
    ("the person said no", "用户没有允许"),
    ("the run was stopped while a person was asked", "询问时运行被停止"),
    // How much may be called.
    ("A reply may make {} calls; make the rest in the next", "一次回复最多 {0} 次调用；其余请在下一次做"),
    ("This run may call tools {} times, and has; publish what there is and finish", "这次运行最多调用工具 {0} 次，已经用完；请发布已有的内容并结束"),
    ("No calls are left for this task; give what you have with task.return", "这项任务已没有可用的调用；请用 task.return 交回已有的内容"),
    ("This run may not call {} any more", "这次运行不能再调用 {0}"),
    ("{} has asked models for all that this run's profile lets it; go on without it", "{0} 询问模型的量已达到配置的上限；请不用它继续"),
    ("The reply was cut off by its length limit in the middle of a call, so the call was not run; write it again, shorter or in parts", "回复在调用中途因长度限制被截断，因此没有执行；请重写得短些或分几次"),
    ("The reply could not be read as a whole, so nothing of it was run", "整个回复无法读懂，因此什么都没有执行"),
    ("Two calls of this reply have the id '{}'; only the first was run", "这次回复有两个调用的 ID 都是“{0}”；只执行了第一个"),
    ("{} was called {} times with the same arguments and nothing new in between, and the answer was always the same; do something else, or the run ends", "{0} 以同样的参数调用了 {1} 次，其间没有新内容，结果也都一样；请换个做法，否则运行会结束"),
    ("This must be the last call of a reply, and other calls stand behind it; call it again when they have ended", "它须是回复的最后一个调用，而后面还有别的调用；请在它们结束后再调用"),
    ("Nothing has been published yet; call workspace.commit, then finish", "还没有发布任何内容；请先调用 workspace.commit 再结束"),
    ("{} while it ran; it may have taken effect", "{0}，当时它正在执行，可能已经生效"),
    // Agents that work for others.
    ("the run '{}' has no task '{}'; `innkeeper runs show {}` lists those it has", "运行“{0}”没有任务“{1}”；`innkeeper runs show {2}` 会列出它的任务"),
    ("The task was cancelled: {}", "任务已取消：{0}"),
    ("a person ended it", "由人终止"),
    ("taken back by a person", "由人撤回"),
    ("the run has failed", "运行失败"),
    ("the run was cancelled", "运行已取消"),
    ("the run has finished", "运行已结束"),
    ("the run was stopped", "运行已停止"),
    ("The run is being stopped", "运行正在停止"),
    ("Nobody has given this agent a task: finish the run with workspace.finish instead", "没有人给这个智能体任务：请改用 workspace.finish 结束运行"),
    ("The result of this task was given already", "这项任务的结果已经交回"),
    ("You work on a task for another agent, and only that agent ends the run: give your result with task.return", "你在为另一个智能体做任务，只有它能结束运行：请用 task.return 交回结果"),
    ("You work on a task for another agent, and only that agent publishes: leave the text in a file and name it in task.return", "你在为另一个智能体做任务，只有它能发布：请把文字留在文件里，并在 task.return 中写明"),
    ("You work on a task for another agent and cannot hand the run over: say in task.return who should go on", "你在为另一个智能体做任务，不能移交运行：请在 task.return 中说明应由谁继续"),
    ("You work on a task for another agent and cannot give tasks to others: do it yourself, or say in task.return what is left", "你在为另一个智能体做任务，不能再委派：请自己做，或在 task.return 中说明还剩什么"),
    ("The profile of this agent does not let it give tasks to others: do it yourself", "这个智能体的配置不允许它委派任务：请自己做"),
    ("The profile of this agent does not let it hand the run over: go on yourself", "这个智能体的配置不允许它移交运行：请自己继续"),
    ("{} agents are at work for you, and no more may be at once: wait for one with agent.await", "已有 {0} 个智能体在为你工作，不能再多：请用 agent.await 等其中一个"),
    ("{} agents are at work for you: wait for them with agent.await, then hand the run over", "有 {0} 个智能体在为你工作：请先用 agent.await 等它们，再移交运行"),
    ("{} tasks were given in this run, and no more may be: do the rest yourself", "这次运行已委派 {0} 项任务，不能再多：其余请自己做"),
    ("Nothing is left of this run that another agent could work with: bring it to its end", "这次运行已没有余量可供另一个智能体使用：请让它结束"),
    ("The run was handed over {} times, and may not be once more: bring it to its end", "运行已移交 {0} 次，不能再移交：请让它结束"),
    ("No task was given in this run, so there is nothing to wait for: give one with agent.delegate", "这次运行没有委派过任务，没有可等的：请用 agent.delegate 委派"),
    ("This run has no task '{}'; it has {}", "这次运行没有任务“{0}”；它有 {1}"),
    ("There is no agent '{}': agent.list names those there are", "没有智能体“{0}”：agent.list 会列出所有智能体"),
    ("This agent cannot be used: {}", "这个智能体无法使用：{0}"),
    ("'{}' has no model yet, so it cannot work: choose another agent", "“{0}”还没有模型，无法工作：请另选智能体"),
    ("'{}' is not there for other agents: agent.list names those that are", "“{0}”不供其他智能体调用：agent.list 会列出可调用的"),
    ("'{}' does not work for '{}': choose another with agent.list", "“{0}”不为“{1}”工作：请用 agent.list 另选"),
    ("'{}' takes no tasks, though a run may be handed to it", "“{0}”不接受任务，但可以接手运行"),
    ("A run cannot be handed to '{}', though it takes tasks: use agent.delegate", "运行不能移交给“{0}”，但它接受任务：请用 agent.delegate"),
    ("agentId is empty: name an agent, agent.list shows which there are", "agentId 是空的：请写明智能体，agent.list 会列出所有智能体"),
    ("budget.{} must be a number from 1 on", "budget.{0} 须是从 1 起的数字"),
    ("pendingTaskPolicy can only be denyIfPending: leave it out", "pendingTaskPolicy 只能是 denyIfPending：请不要写它"),
    ("There is no purpose '{}': use any, delegate or handoff", "没有用途“{0}”：请用 any、delegate 或 handoff"),
    ("There is no mode '{}': use nextCompleted, allCompleted or statusOnly", "没有方式“{0}”：请用 nextCompleted、allCompleted 或 statusOnly"),
    ("timeoutMs must be between 0 and {}", "timeoutMs 须在 0 到 {0} 之间"),
    ("limit must be between 1 and {}", "limit 须在 1 到 {0} 之间"),
    ("status must be completed or failed", "status 须是 completed 或 failed"),
    ("confidence must be low, medium or high", "confidence 须是 low、medium 或 high"),
    ("{}: '{}' is not in a folder that you see", "{0}：“{1}”不在你能看到的文件夹里"),
    ("{}: there is no file '{}': write it first, or leave it out", "{0}：没有文件“{1}”：请先写它，或不要列出"),
    ("{} says nothing: write it in a few words", "{0} 是空的：请用几个词写出"),
    ("{} has {} entries, at most {} are taken: name the most important ones", "{0} 有 {1} 项，最多 {2} 项：请只写最重要的"),
    ("{} is longer than {} characters: say it shorter, or leave the rest in a file and name it", "{0} 超过 {1} 个字符：请写短些，或把其余放进文件并写明"),
    // Files of the workspace.
    ("There is no file '{}': list the files with workspace.list_files", "没有文件“{0}”：请用 workspace.list_files 列出文件"),
    ("There is no folder '{}': list one of {}", "没有文件夹“{0}”：请列出这些之一：{1}"),
    ("There is nothing at '{}': list the files with workspace.list_files", "“{0}”处什么都没有：请用 workspace.list_files 列出文件"),
    ("'{}' is a folder: name a file in it, like {}", "“{0}”是文件夹：请写其中的文件，如 {1}"),
    ("'{}' is a folder: name a file in it", "“{0}”是文件夹：请写其中的文件"),
    ("'{}' is not in a folder that this agent sees: {}", "“{0}”不在这个智能体能看到的文件夹里：{1}"),
    ("'{}' may be read but not written; this agent writes to: {}", "“{0}”只能读，不能写；这个智能体可以写：{1}"),
    ("'{}' is there already and you have not read it: read it with workspace.read_file before you replace it", "“{0}”已经存在，而你没有读过：请先用 workspace.read_file 读取再替换"),
    ("'{}' has changed since you read it: read it again before you replace it", "“{0}”在你读取后已改变：请重新读取再替换"),
    ("'{}' has changed since you read it: read it again before you delete it", "“{0}”在你读取后已改变：请重新读取再删除"),
    ("'{}' has changed since you read it: read it again", "“{0}”在你读取后已改变：请重新读取"),
    ("You have not read '{}': read it with workspace.read_file before you change it", "你没有读过“{0}”：请先用 workspace.read_file 读取再修改"),
    ("You have not read '{}': read it with workspace.read_file before you delete it", "你没有读过“{0}”：请先用 workspace.read_file 读取再删除"),
    ("'{}' would have {} bytes, and a file has at most {}: split it into several files", "“{0}”会有 {1} 字节，一个文件最多 {2} 字节：请分成几个文件"),
    ("old_string is empty: give the text to replace", "old_string 是空的：请给出要替换的文字"),
    ("old_string and new_string are the same: nothing would change", "old_string 与 new_string 相同：不会有任何改变"),
    ("old_string occurs more than once in '{}' ({} times): add text around it until it is unique, or set replace_all", "old_string 在“{0}”中出现不止一次（{1} 次）：请补上前后文字使其唯一，或设置 replace_all"),
    ("old_string does not occur in '{}': {}", "old_string 不在“{0}”中：{1}"),
    ("leave out the line numbers that workspace.read_file shows", "请去掉 workspace.read_file 显示的行号"),
    ("read the file and copy the text exactly", "请读取文件并原样复制文字"),
    ("All of '{}' has to be read first, for {}: read it without a range, or in parts until nothing is left out", "须先读完“{0}”，因为{1}：请不限范围地读取，或分段读到没有遗漏"),
    ("an earlier patch did not fit what you have read of it", "先前的修补与你读到的不符"),
    ("replace_all reaches parts that you have not read", "replace_all 会涉及你没有读过的部分"),
    ("old_string is not in what you have read of it", "old_string 不在你读过的部分中"),
    ("There is no mode '{}': use replace or append", "没有方式“{0}”：请用 replace 或 append"),
    ("'{}' has to be written before it can be published: write it with workspace.write_file", "“{0}”须先写好才能发布：请用 workspace.write_file 写"),
    ("'{}' is empty: write the message before you publish it", "“{0}”是空的：请先写好消息再发布"),
    ("The profile of this agent names no file as the message: name one with path", "这个智能体的配置没有指定作为消息的文件：请用 path 指定"),
    ("The host could not publish '{}': {}", "宿主未能发布“{0}”：{1}"),
    ("The host did not answer within {} ms, so '{}' is not published", "宿主在 {0} 毫秒内没有回答，因此“{1}”没有发布"),
    ("The workspace has {} files already: write to one that is there", "工作区已有 {0} 个文件：请写入已有的文件"),
    ("The files of the workspace would be larger than {} MiB together: make some of them shorter first", "工作区的文件合计会超过 {0} MiB：请先缩短一些"),
    ("'{}' is a file, so nothing can lie in it: choose another path than '{}'", "“{0}”是文件，里面不能再放东西：请换一个路径，不要用“{1}”"),
    ("'{}' has {} lines, so there is no line {}", "“{0}”有 {1} 行，没有第 {2} 行"),
    ("'{}' has {} characters, so none has the number {}", "“{0}”有 {1} 个字符，没有第 {2} 个"),
    ("query is empty: give the words to look for", "query 是空的：请给出要找的词"),
    // People's files.
    ("'{}' is no path: {}; write a path inside the project (reports/x.md) or user://…, shared://…, system://…, fam://<project>/…", "“{0}”不是路径：{1}；请写项目内的路径（reports/x.md），或 user://…、shared://…、system://…、fam://<project>/…"),
    ("it is longer than {} bytes or deeper than {} folders", "它超过 {0} 字节，或深于 {1} 层文件夹"),
    ("it has an empty part between two slashes", "两条斜线之间是空的"),
    ("a name in it is longer than {} bytes", "其中有名字超过 {0} 字节"),
    ("a name in it begins or ends with a blank", "其中有名字以空格开头或结尾"),
    ("it has a backslash, folders are separated by '/'", "其中有反斜线，文件夹以“/”分隔"),
    ("it has a control character", "其中有控制字符"),
    ("after '{}:' two slashes belong", "“{0}:”之后须有两条斜线"),
    ("'{}:' is not among the schemes (for a name with a colon write ./ in front)", "没有“{0}:”这种写法（名字里有冒号时请在前面写 ./）"),
    ("the file system takes no such name", "文件系统不接受这样的名字"),
    ("'{}' leads out of its root: a path may not climb above it with '..'", "“{0}”越出了它的根：路径不能用“..”超出它"),
    ("'{}' is not open to agents: use a path in a project, user:// or shared://", "“{0}”不对智能体开放：请用项目内的路径、user:// 或 shared://"),
    ("'{}' is a folder that must stay: choose something inside it", "“{0}”是必须保留的文件夹：请选其中的内容"),
    ("'{}' does not exist: list its folder to see what does", "“{0}”不存在：请列出它的文件夹"),
    ("'{}' exists already: choose another name, or delete it first", "“{0}”已经存在：请换一个名字，或先删除它"),
    ("'{}' is a folder, not a file", "“{0}”是文件夹，不是文件"),
    ("'{}' is not a folder", "“{0}”不是文件夹"),
    ("'{}' is a symbolic link, and links are not followed: use the path it stands for", "“{0}”是符号链接，不会跟随：请用它所指的路径"),
    ("'{}' has {} bytes, at most {} can be read at once", "“{0}”有 {1} 字节，一次最多读取 {2} 字节"),
    ("'{}' would get {} bytes, at most {} can be written", "“{0}”会有 {1} 字节，最多写入 {2} 字节"),
    ("'{}' cannot go to '{}': that is inside it or the same", "“{0}”不能放到“{1}”：那在它里面，或就是它"),
    ("'{}' may not be touched: the file system refuses it to this program", "不能动“{0}”：文件系统不允许本程序这样做"),
    ("the disk is full: '{}' was not written, what was there before is still there", "磁盘已满：“{0}”没有写入，原有内容仍在"),
];

#[cfg(test)]
mod tests {
    use super::super::said::Said;
    use super::PHRASES;
    use crate::lang::Lang;

    const SOURCES: [&str; 37] = [
        include_str!("../../../agent/src/delegation/arguments.rs"),
        include_str!("../../../agent/src/delegation/delegate.rs"),
        include_str!("../../../agent/src/delegation/handoff.rs"),
        include_str!("../../../agent/src/delegation/list.rs"),
        include_str!("../../../agent/src/delegation/rules.rs"),
        include_str!("../../../agent/src/delegation/task_return.rs"),
        include_str!("../../../agent/src/delegation/wait.rs"),
        include_str!("../../../agent/src/instance/agents.rs"),
        include_str!("../../../agent/src/instance/invocations.rs"),
        include_str!("../../../agent/src/instance/questions.rs"),
        include_str!("../../../agent/src/run/child.rs"),
        include_str!("../../../agent/src/run/delegate.rs"),
        include_str!("../../../agent/src/run/end.rs"),
        include_str!("../../../agent/src/run/finish.rs"),
        include_str!("../../../agent/src/run/fit.rs"),
        include_str!("../../../agent/src/run/guard.rs"),
        include_str!("../../../agent/src/run/handoff.rs"),
        include_str!("../../../agent/src/run/plan.rs"),
        include_str!("../../../agent/src/run/rollback.rs"),
        include_str!("../../../agent/src/run/waiting.rs"),
        include_str!("../../../agent/src/workspace/door.rs"),
        include_str!("../../../agent/src/workspace/fault.rs"),
        include_str!("../../../agent/src/workspace/session.rs"),
        include_str!("../../../agent/src/workspace/tools/apply_patch.rs"),
        include_str!("../../../agent/src/workspace/tools/commit.rs"),
        include_str!("../../../agent/src/workspace/tools/delete_file.rs"),
        include_str!("../../../agent/src/workspace/tools/list_files.rs"),
        include_str!("../../../agent/src/workspace/tools/mod.rs"),
        include_str!("../../../agent/src/workspace/tools/read_file.rs"),
        include_str!("../../../agent/src/workspace/tools/search_files.rs"),
        include_str!("../../../agent/src/workspace/tools/write_file.rs"),
        include_str!("../../../tools/src/file/error.rs"),
        include_str!("../../../tools/src/file/uri.rs"),
        include_str!("../../../tools/src/policy/approvals.rs"),
        include_str!("../../../tools/src/policy/decide.rs"),
        include_str!("../../../tools/src/policy/fit.rs"),
        include_str!("../approve.rs"),
    ];

    /// A name for each place that is filled in, as the sources fill it.
    fn filled(pattern: &str) -> String {
        pattern.replace("{}", "7")
    }

    fn is_of_words(c: char) -> bool {
        c.is_ascii_alphabetic() || c == ' '
    }

    #[test]
    fn each_is_said_by_somebody_and_stands_in_chinese_as_a_whole() {
        for (english, _) in PHRASES {
            let words = english.split("{}").map(str::trim);
            for word in words.filter(|word| word.chars().count() > 3) {
                let is_said = SOURCES.iter().any(|source| source.contains(word));
                assert!(is_said, "nobody says {word:?} of {english:?}");
            }
            let sentence = filled(english);
            let said = Said::of(&sentence);
            let chinese = said.pick(Lang::Zh);
            assert_ne!(chinese, sentence, "another phrase takes it");
            // Commands, names of tools and values are as they are; three words in a row would be English.
            let told = chinese.split('`').step_by(2);
            let mut plain = told.flat_map(|told| told.split(|c: char| !is_of_words(c)));
            let is_english = plain.any(|part| part.split_whitespace().count() > 2);
            assert!(!is_english, "{chinese}");
        }
    }

    #[test]
    fn what_stands_in_a_sentence_is_said_in_chinese_too() {
        for (english, expected) in [
            (
                "The task was cancelled: a person ended it",
                "任务已取消：由人终止",
            ),
            (
                "old_string does not occur in 'a.md': read the file and copy the text exactly",
                "old_string 不在“a.md”中：请读取文件并原样复制文字",
            ),
        ] {
            assert_eq!(Said::of(english).pick(Lang::Zh), expected);
        }
    }
}
