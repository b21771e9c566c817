//! `innkeeper plugin …` in Chinese.

pub(super) const ARGUMENTS: &[(&str, &str, &str)] = &[
    ("plugin show", "name", "插件的名字"),
    ("plugin check", "folder", "插件所在的文件夹"),
    ("plugin new", "name", "插件的名字：字母、数字、- 和 _"),
    (
        "plugin new",
        "parent",
        "在哪个文件夹中创建 [默认：存放插件的文件夹]",
    ),
    (
        "plugin new",
        "template",
        "脚本的语言：python、node、python-worker 或 node-worker（worker 在两次调用之间保持运行） [默认：python]",
    ),
    ("plugin enable", "name", "插件的名字"),
    ("plugin enable", "accept", "不再询问，同意它的全部请求"),
    ("plugin disable", "name", "插件的名字"),
    ("plugin permissions", "name", "插件的名字"),
    ("plugin config", "name", "插件的名字"),
    ("plugin config set", "key", "设置项的键"),
    (
        "plugin config set",
        "value",
        "它的值；- 从标准输入读取，密钥一律从标准输入读取",
    ),
    (
        "plugin config set",
        "user",
        "只对您自己 [默认：由设置项决定]",
    ),
    ("plugin config set", "instance", "对所有人"),
    ("plugin config unset", "key", "设置项的键"),
    (
        "plugin config unset",
        "user",
        "只对您自己 [默认：由设置项决定]",
    ),
    ("plugin config unset", "instance", "对所有人"),
];

pub(super) const COMMANDS: &[(&str, &str, &str)] = &[
    ("plugin", "查看、检查、创建、配置和开关插件", PLUGIN),
    ("plugin list", "列出插件及其状态", LIST),
    ("plugin show", "显示一个插件及其工具、钩子和设置", SHOW),
    ("plugin check", "检查插件文件夹，不运行任何东西", CHECK),
    ("plugin new", "创建您自己的插件", NEW),
    ("plugin enable", "同意插件的请求并启用它", ENABLE),
    ("plugin disable", "停用插件", DISABLE),
    (
        "plugin permissions",
        "显示插件请求和已获得的授权",
        PERMISSIONS,
    ),
    ("plugin config", "显示或修改插件的设置", CONFIG),
    (
        "plugin config show",
        "显示每个设置项、它的值和来源",
        CONFIG_SHOW,
    ),
    ("plugin config set", "设定一个值", CONFIG_SET),
    ("plugin config unset", "去掉一个值，恢复默认", CONFIG_UNSET),
];

const PLUGIN: &str = "\
示例：
  innkeeper plugin new greetings                 创建自己的插件，并输出其文件夹
  innkeeper plugin check DIR                     一切都对吗？
  innkeeper plugin list                          所有插件及其状态
  innkeeper plugin permissions greetings         它请求什么
  innkeeper plugin enable greetings              看过之后启用
  innkeeper plugin config greetings              它的设置

退出码：0 完成，1 插件有错误或没有启用，2 用法有误。";

const LIST: &str = "\
示例：
  innkeeper plugin list
  innkeeper plugin list --json | jq -r '.[] | [.name, .state] | @tsv'";

const SHOW: &str = "\
示例：
  innkeeper plugin show greetings
  innkeeper plugin show greetings --json | jq '.tools[].id'";

const CHECK: &str = "\
示例：
  innkeeper plugin check .
  innkeeper plugin check plugins/greetings --json | jq '.problems[]'

只读取文件夹，不运行任何东西。每个问题都会列出文件、行号和代码。

退出码：0 插件可用（可能有警告），1 插件有错误，2 用法有误。";

const NEW: &str = "\
示例：
  innkeeper plugin new greetings                 创建在存放插件的文件夹中
  innkeeper plugin new greetings --in . --template node";

const ENABLE: &str = "\
示例：
  innkeeper plugin enable greetings              显示它的请求，并询问您
  innkeeper plugin enable greetings --accept     用于脚本：您已经看过

退出码：0 已启用，1 插件有错误或您没有同意，2 用法有误或无人可问。";

const DISABLE: &str = "\
示例：
  innkeeper plugin disable greetings             已同意的授权会保留";

const PERMISSIONS: &str = "\
示例：
  innkeeper plugin permissions greetings
  innkeeper plugin permissions greetings --json | jq '.asked'";

const CONFIG: &str = "\
示例：
  innkeeper plugin config weather                显示全部设置
  innkeeper plugin config weather set units metric
  innkeeper plugin config weather set api_key < key.txt
  innkeeper plugin config weather unset units --instance

密钥从标准输入读取，存放在只有您能读的 secrets.toml 中，不再显示。";

const CONFIG_SHOW: &str = "\
示例：
  innkeeper plugin config weather show
  innkeeper plugin config weather show --json";

const CONFIG_SET: &str = "\
示例：
  innkeeper plugin config weather set units metric
  innkeeper plugin config weather set units metric --instance
  innkeeper plugin config weather set motd - < motd.txt
  innkeeper plugin config weather set api_key < key.txt";

const CONFIG_UNSET: &str = "\
示例：
  innkeeper plugin config weather unset units
  innkeeper plugin config weather unset api_key --instance";
