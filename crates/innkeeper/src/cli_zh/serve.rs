//! `innkeeper serve` 和 `innkeeper access …` in Chinese.

pub(super) const ARGUMENTS: &[(&str, &str, &str)] = &[
    (
        "serve",
        "port",
        "监听的端口；0 表示任取一个空闲的 [默认：8787]",
    ),
    (
        "serve",
        "address",
        "监听的地址；其他机器够得着的地址需要 --beyond-this-machine [默认：127.0.0.1]",
    ),
    ("serve", "beyond_this_machine", "也让其他机器进来"),
    (
        "serve",
        "host_name",
        "服务器的其他名称，带端口：inn.example:8787；可重复",
    ),
    (
        "serve",
        "allow_origin",
        "允许这个来源的网页发出请求：http://localhost:8000；可重复",
    ),
    ("access pair", "name", "给谁或给什么用 [默认：browser]"),
    (
        "access pair",
        "scope",
        "权限范围：read（查看除密钥外的一切）、run（还可以运行、审批、调用工具、写文件）、admin（还可以管理插件、密钥和令牌） [默认：admin]",
    ),
    ("access token", "name", "给谁或给什么用"),
    (
        "access token",
        "scope",
        "权限范围：read（查看除密钥外的一切）、run（还可以运行、审批、调用工具、写文件）、admin（还可以管理插件、密钥和令牌） [默认：run]",
    ),
    ("access token", "days", "多少天后失效 [默认：永不]"),
    (
        "access revoke",
        "id",
        "令牌的公开部分，innkeeper access list 会列出",
    ),
];

pub(super) const COMMANDS: &[(&str, &str, &str)] = &[
    ("serve", "打开大门：HTTP 服务", SERVE),
    ("access", "谁可以通过网络进来：令牌和配对码", ACCESS),
    (
        "access pair",
        "生成配对码，让一个浏览器或设备进来一次",
        PAIR,
    ),
    ("access token", "为程序生成令牌", TOKEN),
    ("access list", "列出令牌，不含其中的秘密", LIST),
    ("access revoke", "让一个令牌从此失效", REVOKE),
];

const SERVE: &str = "\
示例：
  innkeeper serve                           打开大门，只对本机
  innkeeper serve --port 9000               换一个端口
  innkeeper serve --allow-origin http://localhost:8000
                                            允许 SillyTavern 的网页发出请求
  innkeeper serve --json | head -1 | jq -r .link

会输出地址和一个链接，链接让一个浏览器进来一次。其他程序需要令牌（innkeeper access token），其他设备需要配对码
（innkeeper access pair）。每个请求都会检查：访问时用的名称、发出请求的网页、令牌及其权限范围。停止时仍在进行的运行会被
暂存，再次启动或执行 innkeeper runs resume 后继续。若另一个进程正在推进这个数据文件夹的运行，要等它先结束。

退出码：0 正常停止，1 无法在那里监听，2 用法有误，6 另一个进程正在推进这个数据文件夹的运行。";

const ACCESS: &str = "\
示例：
  innkeeper access pair                     给另一个浏览器的配对码，只能用一次，十分钟内有效
  innkeeper access token backup --scope read
                                            给程序的令牌，只显示这一次
  innkeeper access list                     谁可以进来
  innkeeper access revoke 3q2-7wAAAAAA      让一个令牌从此失效

权限范围有三种，后者包含前者：read（查看除密钥外的一切）、run（还可以启动、引导、审批运行，调用工具，写文件）、admin（还可以
管理插件、密钥和令牌）。令牌只保存其哈希。服务器运行时同样可用。

退出码：0 完成，1 失败或没有这个令牌，2 用法有误。";

const PAIR: &str = "\
示例：
  innkeeper access pair
  innkeeper access pair --name phone --scope run
  innkeeper access pair --json | jq -r .code";

const TOKEN: &str = "\
示例：
  innkeeper access token backup --scope read
  innkeeper access token sillytavern --scope run --days 90
  curl -H \"Authorization: Bearer $(innkeeper access token curl --json | jq -r .token)\" http://127.0.0.1:8787/api/v1/session";

const LIST: &str = "\
示例：
  innkeeper access list
  innkeeper access list --json | jq -r '.tokens[] | select(.usedAt == null).id'";

const REVOKE: &str = "\
示例：
  innkeeper access revoke 3q2-7wAAAAAA";
