//! Sixty questions of people, in both languages, over the tools of the house and a thousand others: how often is the tool
//! that they need among the first? A bar, so that a change of weights or words that loses something is seen.

use std::sync::Arc;

use innkeeper_protocol::ToolDefinition;
use jiff::tz::TimeZone;
use serde_json::json;

use super::{Index, Query};
use crate::builtin;
use crate::{SystemClock, Tasks};

/// Nouns of made-up plugins: the name, and what it is called in both languages.
const NOUNS: [(&str, &str, &str); 40] = [
    ("invoice", "an invoice", "发票"),
    ("order", "an order of the shop", "订单"),
    ("customer", "a customer", "客户"),
    ("shipment", "a shipment on its way", "物流包裹"),
    ("calendar", "an entry of the calendar", "日历事件"),
    ("email", "an email", "邮件"),
    ("contact", "a contact of the address book", "联系人"),
    ("meeting", "a meeting", "会议"),
    ("ticket", "a support ticket", "工单"),
    ("employee", "an employee", "员工"),
    ("payroll", "the payroll of a month", "工资单"),
    ("product", "a product of the catalogue", "商品"),
    ("warehouse", "a shelf of the warehouse", "仓库货架"),
    ("hotel", "a hotel room", "酒店房间"),
    ("flight", "a seat on a flight", "航班座位"),
    ("restaurant", "a table in a restaurant", "餐厅座位"),
    ("recipe", "a recipe", "菜谱"),
    ("workout", "a workout", "健身计划"),
    ("prescription", "a prescription of a doctor", "处方"),
    ("lamp", "a lamp in the house", "灯"),
    ("thermostat", "a thermostat", "恒温器"),
    ("camera", "a surveillance camera", "摄像头"),
    ("playlist", "a playlist of songs", "歌单"),
    ("podcast", "an episode of a podcast", "播客节目"),
    ("photo", "a photo", "照片"),
    ("video", "a video", "视频"),
    ("glossary", "a term of the translation glossary", "翻译词条"),
    ("contract", "a contract", "合同"),
    ("course", "a course", "课程"),
    ("exam", "an exam", "考试"),
    ("student", "a student", "学生"),
    ("branch", "a branch of a git repository", "代码分支"),
    ("deployment", "a deployment", "部署"),
    ("container", "a container", "容器"),
    ("serverlog", "a log of a server", "服务器日志"),
    ("dbtable", "a table of the database", "数据库表"),
    ("backup", "a backup", "备份"),
    ("password", "a password of the vault", "密码"),
    ("stock", "a stock quote", "股票"),
    ("news", "a news article", "新闻"),
];

const VERBS: [(&str, &str, &str); 25] = [
    ("create", "Creates", "新建"),
    ("get", "Gives all that is known of", "查看"),
    ("list", "Lists every", "列出"),
    ("search", "Searches for", "搜索"),
    ("update", "Changes", "修改"),
    ("delete", "Deletes", "删除"),
    ("archive", "Archives", "归档"),
    ("restore", "Restores", "恢复"),
    ("export", "Exports as a spreadsheet", "导出"),
    ("import", "Imports from a spreadsheet", "导入"),
    ("share", "Shares with others", "分享"),
    ("send", "Sends", "发送"),
    ("approve", "Approves", "批准"),
    ("reject", "Rejects", "驳回"),
    ("schedule", "Schedules for later", "定时安排"),
    ("cancel", "Cancels", "取消"),
    ("duplicate", "Duplicates", "复制"),
    ("merge", "Merges two of", "合并"),
    ("rename", "Gives another name to", "重命名"),
    ("tag", "Puts a label on", "贴标签到"),
    ("count", "Counts every", "统计"),
    ("summarize", "Sums up in a few sentences", "总结"),
    ("validate", "Checks the form of", "校验"),
    ("convert", "Converts to another format", "转换"),
    ("watch", "Tells of every change of", "监视"),
];

/// Every fifth family is described in Chinese.
fn made_up() -> Vec<Arc<ToolDefinition>> {
    let mut all = Vec::with_capacity(NOUNS.len() * VERBS.len());
    for (family, (noun, english, chinese)) in NOUNS.iter().enumerate() {
        for (verb, does, tut) in VERBS {
            let mut tool = ToolDefinition::new(
                format!("{noun}.{verb}"),
                format!("{does} {english}."),
                json!({"type": "object", "properties": {
                    "id": {"type": "string", "description": "Which one"},
                    "dry_run": {"type": "boolean", "description": "Only say what would be done"},
                }}),
            );
            if family % 5 == 0 {
                tool.display_name = format!("{tut}{chinese}");
                tool.description = format!("{tut}一条{chinese}记录");
            }
            all.push(Arc::new(tool));
        }
    }
    assert_eq!(all.len(), 1_000);
    all
}

fn own() -> Vec<Arc<ToolDefinition>> {
    let tasks = Arc::new(Tasks::new(Arc::new(SystemClock)));
    let home = tempfile::tempdir().unwrap();
    let files = crate::FileLayer::open(home.path()).unwrap();
    [
        builtin::clock::tools(Arc::new(SystemClock), TimeZone::UTC),
        builtin::dice::tools(Arc::new(builtin::dice::SystemChance)),
        builtin::file::tools(&files),
        builtin::http::tools(Arc::default()),
        builtin::json_query::tools(),
        builtin::task::tools(&tasks),
        builtin::text::tools(),
    ]
    .into_iter()
    .flatten()
    .map(|(definition, _)| Arc::new(definition))
    .collect()
}

/// What somebody wants, and the tools that would do it.
const QUESTIONS: [(&str, &[&str]); 60] = [
    // Of the house, in English.
    ("What time is it in Tokyo?", &["system:get_current_time"]),
    (
        "which weekday do we have today",
        &["system:get_current_time"],
    ),
    ("Roll two six-sided dice for me", &["dice.roll"]),
    ("I throw 3d8+2 for damage", &["dice.roll"]),
    ("open notes.md and tell me what is in it", &["File.Read"]),
    ("Save this poem as a file", &["File.Write"]),
    (
        "add a line to the end of the journal file",
        &["File.Append"],
    ),
    ("remove the old draft file", &["File.Delete"]),
    ("rename report.txt to final.txt", &["File.Move"]),
    ("which files are in the folder plans?", &["File.List"]),
    ("find every file that mentions the dragon", &["File.Search"]),
    ("How many words does this text have?", &["Text.Count"]),
    ("Turn the title into upper case letters", &["Text.Case"]),
    ("fetch https://api.example.com/status", &["Http.Request"]),
    (
        "take the prices out of this JSON with a JSONPath",
        &["Json.Query"],
    ),
    // Of the house, in Chinese.
    ("现在上海几点了？", &["system:get_current_time"]),
    ("今天星期几", &["system:get_current_time"]),
    ("帮我掷两个六面骰子", &["dice.roll"]),
    ("打开 notes.md 看看里面写了什么", &["File.Read"]),
    ("把这首诗保存到文件里", &["File.Write"]),
    ("在日记文件末尾追加一行", &["File.Append"]),
    ("删掉旧的草稿文件", &["File.Delete"]),
    ("把 report.txt 重命名为 final.txt", &["File.Move"]),
    ("这个目录里有哪些文件？", &["File.List"]),
    ("搜索提到龙的所有文件", &["File.Search"]),
    ("统计一下这段文本有多少个单词", &["Text.Count"]),
    ("把标题改成大写", &["Text.Case"]),
    ("请求这个网址并下载内容", &["Http.Request"]),
    ("取消正在后台运行的任务", &["task.cancel"]),
    ("等待后台任务完成", &["task.await"]),
    // Made up, in English.
    ("make a new invoice for Mr Brown", &["invoice.create"]),
    ("please approve the purchase order", &["order.approve"]),
    (
        "where is my parcel? track the shipment",
        &["shipment.get", "shipment.watch", "shipment.search"],
    ),
    ("send an email to the team", &["email.send"]),
    ("cancel tomorrow's meeting", &["meeting.cancel"]),
    ("export all tickets to a spreadsheet", &["ticket.export"]),
    ("book me a hotel room", &["hotel.create", "hotel.schedule"]),
    ("cancel my flight", &["flight.cancel"]),
    ("look for a recipe with mushrooms", &["recipe.search"]),
    ("switch: change the lamp in the kitchen", &["lamp.update"]),
    ("summarize the news article", &["news.summarize"]),
    (
        "merge the branch into main of the repository",
        &["branch.merge"],
    ),
    ("restore the backup of yesterday", &["backup.restore"]),
    ("convert the video to another format", &["video.convert"]),
    ("how many students are there?", &["student.count"]),
    // Made up, in Chinese.
    ("给布朗先生开一张新发票", &["invoice.create"]),
    (
        "搜索一下快递包裹到哪了",
        &["shipment.search", "shipment.get"],
    ),
    ("发送一封邮件给团队", &["email.send"]),
    ("取消明天的会议", &["meeting.cancel"]),
    ("把所有工单导出来", &["ticket.export"]),
    ("帮我总结这篇新闻", &["news.summarize"]),
    ("合并两个代码分支", &["branch.merge"]),
    ("恢复昨天的备份", &["backup.restore"]),
    ("统计学生有多少个", &["student.count"]),
    ("删除这张照片", &["photo.delete"]),
    ("查找一份菜谱", &["recipe.search"]),
    ("批准这份合同", &["contract.approve"]),
    ("列出所有员工", &["employee.list"]),
    ("导出服务器日志", &["serverlog.export"]),
    ("重命名歌单", &["playlist.rename"]),
];

#[test]
fn what_people_need_is_among_the_first() {
    let mut tools = own();
    tools.extend(made_up());
    let index = Index::of(&tools);
    let known = |id: &&str| tools.iter().any(|tool| tool.id.as_str() == *id);
    let mut found = [0; 3];
    let mut missed = Vec::new();
    for (question, wanted) in QUESTIONS {
        assert!(wanted.iter().all(known), "{wanted:?}");
        let hits = index.rank(&Query::new(question));
        let is_wanted = |hit: &super::Hit| wanted.contains(&tools[hit.tool].id.as_str());
        let place = hits.iter().position(is_wanted).unwrap_or(usize::MAX);
        for (count, k) in found.iter_mut().zip([1, 5, 24]) {
            *count += usize::from(place < k);
        }
        if place >= 5 {
            let first: Vec<_> = hits
                .iter()
                .take(3)
                .map(|hit| tools[hit.tool].id.as_str())
                .collect();
            missed.push(format!("{question}: {place}, before it {first:?}"));
        }
    }
    println!(
        "recall of {}: @1 {} @5 {} @24 {}\n{}",
        QUESTIONS.len(),
        found[0],
        found[1],
        found[2],
        missed.join("\n")
    );
    assert!(
        found[0] >= 57 && found[1] >= 60 && found[2] >= 60,
        "{found:?}\n{}",
        missed.join("\n")
    );
}
