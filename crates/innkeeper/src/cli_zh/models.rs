//! `innkeeper models …` in Chinese.

pub(super) const ARGUMENTS: &[(&str, &str, &str)] = &[
    ("models list", "channel", "只看这个渠道"),
    ("models list", "remote", "向各服务器询问它们有哪些模型"),
    (
        "models add",
        "provider",
        "服务商：openai、anthropic、gemini、openrouter、ollama、custom 等",
    ),
    ("models add", "name", "渠道的名字 [默认：服务商的名字]"),
    (
        "models add",
        "base_url",
        "带版本号的地址，例如 https://api.example.com/v1 [默认：服务商的地址]",
    ),
    ("models add", "key_env", "存有密钥的环境变量"),
    ("models add", "key_stdin", "从标准输入读取密钥"),
    ("models add", "replace_key", "覆盖以此渠道名保存的密钥"),
    (
        "models add",
        "use_kept_key",
        "把以此渠道名保存的密钥也用于这台服务器",
    ),
    (
        "models add",
        "models",
        "它提供的模型，* 代表任意文字；可重复 [默认：全部]",
    ),
    ("models add", "default", "没有指明模型时由谁答复"),
    ("models add", "list_providers", "只列出全部服务商"),
    ("models remove", "name", "渠道的名字"),
    ("models remove", "yes", "不再询问"),
    ("models remove", "keep_key", "保留 secrets.toml 中的密钥"),
    ("models test", "model", "模型 [默认：默认模型]"),
    ("models test", "prompt", "问它什么"),
    ("models discover", "add", "为每个尚无渠道的服务器建立渠道"),
    (
        "models discover",
        "ports",
        "查看这个端口；可重复 [默认：常用端口]",
    ),
    ("models score", "model", "模型 [默认：默认模型]"),
    (
        "models score",
        "dialect",
        "教它的调用写法：tam、action、native（服务商自己的）或 all（依次全部） [默认：tam]",
    ),
    ("models score", "grammar", "用语法约束回复（服务器支持时）"),
    ("models score", "repeats", "每题问几遍，最多 20 [默认：1]"),
];

pub(super) const COMMANDS: &[(&str, &str, &str)] = &[
    ("models", "接入、列出、测试和考核语言模型", MODELS),
    ("models list", "列出渠道、模型、价格以及各自缺什么", LIST),
    ("models add", "接入一个服务商或服务器", ADD),
    ("models remove", "断开一个渠道", REMOVE),
    ("models test", "问模型一句话，并测量答复", TEST),
    ("models discover", "寻找本机上的模型服务器", DISCOVER),
    ("models score", "让模型参加一场工具调用考试", SCORE),
];

const MODELS: &str = "\
示例：
  innkeeper models discover --add                接入本机的 Ollama、LM Studio 等
  innkeeper models add openrouter                接入服务商；会询问密钥
  innkeeper models list                          已接入什么，各自缺什么
  innkeeper models test                          一次真实的答复及其速度
  innkeeper models score --dialect all           用哪种写法调用工具最好？

退出码：0 完成，1 模型没有答复或您没有同意，2 用法有误，130 被 Ctrl-C 中止。";

const LIST: &str = "\
示例：
  innkeeper models list
  innkeeper models list --remote                 询问各服务器有哪些模型
  innkeeper models list --channel openai --remote
  innkeeper models list --json | jq -r '.channels[] | [.name, .state] | @tsv'

某个服务器在 10 秒内没有答复 --remote 时会注明，不影响显示其他渠道。";

const ADD: &str = "\
示例：
  innkeeper models add ollama                    本机的服务器：不需要密钥
  innkeeper models add openrouter                询问密钥，输入时不显示
  innkeeper models add openai --key-env OPENAI_API_KEY --model gpt-5 --default gpt-5
  innkeeper models add anthropic --name work --key-stdin < key.txt
  innkeeper models add openai --replace-key      换掉已保存的密钥
  innkeeper models add custom --name lab --base-url http://192.168.1.5:8080/v1 --model qwen3
  innkeeper models add --list-providers

密钥绝不作为参数给出，否则会留在命令历史里并被本机其他用户看到。
它保存在只有您能读的 secrets.toml 中；innkeeper.toml 只写它的名字。
已保存的密钥会用于同名的服务商；用于其他服务器须加 --use-kept-key，没有 --replace-key 绝不覆盖。";

const REMOVE: &str = "\
示例：
  innkeeper models remove openrouter             先询问；密钥也一并移除
  innkeeper models remove openrouter --yes --keep-key

退出码：0 已移除，1 您没有同意或仍被使用，2 用法有误或无人可问。";

const TEST: &str = "\
示例：
  innkeeper models test                          默认模型
  innkeeper models test ollama/qwen3 --prompt '说出三条河流。'
  innkeeper models test --json | jq .tokensPerSecond

答复边生成边写到标准输出；随后说明是谁答复、首个词元用时、每秒词元数（服务器不计数时为估计）
以及已知的费用。使用 --json 时，中断的答复会连同已收到的文字和 error 一起给出。

退出码：0 有答复，1 没有答复，2 用法有误，130 被 Ctrl-C 中止。";

const DISCOVER: &str = "\
示例：
  innkeeper models discover
  innkeeper models discover --add                为找到的每个服务器建立渠道
  innkeeper models discover --port 9000 --port 9001

只查看本机上 Ollama、LM Studio、llama.cpp 和 vLLM 的常用端口。";

const SCORE: &str = "\
示例：
  innkeeper models score                         默认模型，使用 TAM
  innkeeper models score --model ollama/qwen3 --dialect all --repeats 3
  innkeeper models score --grammar               用语法约束（服务器支持时）
  innkeeper models score --json | jq '.[].score'

一场小小的工具调用考试：有多少回复可以读懂（parsed）、符合工具（bound）、符合完整的 schema（valid）、
选对了工具、参数正确。不会执行任何东西。使用 --grammar 时，必须调用工具的题目只能写出对该题工具的调用。

退出码：0 考试已完成，1 无法向模型提问，2 用法有误，130 被 Ctrl-C 中止。";
