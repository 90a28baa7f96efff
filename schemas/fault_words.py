"""What an error says, in Chinese: the errors themselves speak English. `reasons` holds the contract's own."""

from __future__ import annotations

import re
from collections.abc import Mapping

from schemas.reasons import reason_text

Words = tuple[tuple[str, str], ...]
Compiled = tuple[tuple[re.Pattern[str], str], ...]

KINDS: Mapping[str, str] = {
    "alias": "关联编号",
    "dead letter": "死信",
    "episode": "情节",
    "event": "事件",
    "key": "凭据",
    "memory": "记忆",
    "memory or event": "记忆或事件",
    "operation": "操作",
    "request": "请求",
    "session": "会话",
    "source": "来源",
    "statement": "内容",
    "summary": "合并摘要",
    "tenant": "租户",
    "undo": "撤销",
    "user": "用户",
}
"""What may not be found -> zh."""

# What an error says -> zh. {} stands for what differs, in the same order in both.
_WORDS: Words = (
    # Settings
    ("there is no such setting", "没有这个设置"),
    ("there is no such setting; did you mean {}?", "没有这个设置；是否要写 {}？"),
    ("is no setting, others begin like it: {}", "不是设置，只是其他设置的开头，例如 {}"),
    ("must be JSON, and is none from line {}, column {}", "必须是 JSON，第 {} 行第 {} 列起无效"),
    ("must be a number", "必须是数"),
    ("must be a number from {} to {}", "必须是 {} 至 {} 的数"),
    ("must be a number above {}, at most {}", "必须是大于 {}、不超过 {} 的数"),
    ("must be a number above {}", "必须是大于 {} 的数"),
    ("must be a number of at least {}", "必须是不小于 {} 的数"),
    ("must be a whole number", "必须是整数"),
    ("must be a whole number from {} to {}", "必须是 {} 至 {} 的整数"),
    ("must be a whole number of at least {}", "必须是不小于 {} 的整数"),
    ("must be below {}", "必须小于 {}"),
    ("must be http://HOST:PORT or https://HOST:PORT", "必须是 http://主机:端口 或 https://主机:端口"),
    ("must be HOST:PORT", "必须是 主机:端口"),
    ("must be a host, without a port", "必须是主机，不带端口"),
    ("must be redis://HOST:PORT/NUMBER", "必须是 redis://主机:端口/编号"),
    (
        "must be sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME",
        "必须是 sqlite:///文件 或 postgresql://用户:密码@主机/库名",
    ),
    (
        "must be a capital letter, then letters and digits, at most 64",
        "必须以大写字母开头，其后为字母与数字，最多 64 个",
    ),
    ("must be letters, digits, points, dashes or underscores", "只能是字母、数字、点、横线、下划线"),
    ("must begin with redis://, rediss:// or redis+socket://", "必须以 redis://、rediss:// 或 redis+socket:// 开头"),
    (
        "must begin with postgresql://, and so must AFTERTURN_DATABASE_URL",
        "与 AFTERTURN_DATABASE_URL 都必须以 postgresql:// 开头",
    ),
    ("the folder cannot be read ({})", "无法读取该文件夹（{}）"),
    ("a file in it is no text", "其中有一个文件不是文本"),
    ("its schema is not this version's", "数据库结构与本版本不符"),
    ("the database does not know the key in {}", "数据库中没有 {} 里的凭据"),
    ("no key", "没有凭据"),
    ("cannot listen on {} ({})", "无法监听 {}（{}）"),
    ("cannot listen on {} ({}); set another port", "无法监听 {}（{}）；请换一个端口"),
    (
        "the broker's maxmemory-policy is {}, which drops queued work when memory is full",
        "消息代理的 maxmemory-policy 为 {}，内存满时会丢弃排队的任务",
    ),
    ("no broker server runs on this machine", "本机没有可运行的消息代理程序"),
    ("{} belongs to user {}, and this is user {}", "{} 属于用户 {}，当前用户是 {}"),
    (
        "its path and that of the temporary folder are too long for a socket",
        "该路径与临时文件夹的路径都太长，无法建立套接字",
    ),
    ("the broker at {} does not let this user in", "{} 的消息代理不允许该用户登录"),
    ("the server is too old, 1.32 is the least", "服务器版本过旧，至少需要 1.32"),
    ("the server does not allow {}", "服务器不允许该操作（{}）"),
    ("is needed, the index holds vectors of {}", "必填：索引中的向量来自 {}"),
    ("what answers as {} gives other vectors than the index holds", "以 {} 之名应答的模型，其向量与索引中的不同"),
    (
        "the index holds vectors of {}, this build has {}; rebuild the index",
        "索引中的向量来自 {}，本程序带的是 {}；请重建索引",
    ),
    ("OpenTelemetry is not installed", "没有安装 OpenTelemetry"),
    ("a tenant's policy cannot be read: {} (line {})", "无法读取租户的策略：{}（第 {} 行）"),
    ("no migration stands in {}", "{} 中没有升级脚本"),
    ("the model's api_key holds characters that no HTTP header can carry", "模型的 api_key 含有 HTTP 头不能携带的字符"),
    ("no PostgreSQL is installed", "没有安装 PostgreSQL"),
    ("there is no redis-server on PATH", "PATH 中没有 redis-server"),
    ("--provider openai needs one of them", "--provider openai 需要其中之一"),
    ("names no PostgreSQL, and no initdb is on PATH", "没有指向 PostgreSQL，PATH 中也没有 initdb"),
    ("is not weaviate, and no weaviate is on PATH", "不是 weaviate，PATH 中也没有 weaviate"),
    ("only beside --model", "只能与 --model 一起使用"),
    ("zh or en", "zh 或 en"),
    ("embedded or production", "embedded 或 production"),
    ("the service runs on Linux and macOS", "本服务只能运行于 Linux 与 macOS"),
    # What does not answer
    ("the database at {} does not answer", "{} 的数据库没有应答"),
    ("the database at {} does not let this user in", "{} 的数据库不允许该用户登录"),
    ("the server at {} has no database of that name", "{}：服务器上没有这个数据库"),
    ("the database {} cannot be opened", "无法打开数据库 {}"),
    ("database: write gave up after {} attempts, {} s ({})", "数据库：写入尝试 {} 次、{} 秒后放弃（{}）"),
    ("database: read failed ({})", "数据库：读取失败（{}）"),
    ("database: migration failed ({})", "数据库：升级失败（{}）"),
    ("database: its revision cannot be read ({})", "数据库：无法读取其版本（{}）"),
    ("the broker at {} does not answer", "{} 的消息代理没有应答"),
    ("the broker (pid {}) does not end", "消息代理（进程 {}）没有结束"),
    ("the broker ended with {}; see {}", "消息代理已退出（{}）；见 {}"),
    ("the broker does not answer in time; see {}", "消息代理没有及时应答；见 {}"),
    ("another launcher holds {}", "{} 正被另一个启动程序占用"),
    ("{} is held by a server that does not say its pid", "{} 正被一个没有写出进程号的服务器占用"),
    ("PostgreSQL does not start", "PostgreSQL 没有启动"),
    ("{} does not answer ({})", "{} 没有应答（{}）"),
    ("Weaviate at {} does not answer", "{} 的 Weaviate 没有应答"),
    ("weaviate {}: no answer within {} s", "Weaviate（{}）：{} 秒内没有应答"),
    ("weaviate {}: closed meanwhile", "Weaviate（{}）：连接已关闭"),
    ("weaviate {}: the channel is closed", "Weaviate（{}）：连接已关闭"),
    ("weaviate {}: refused with status {}", "Weaviate（{}）：被拒绝，状态码 {}"),
    ("weaviate {}: refused, {}", "Weaviate（{}）：被拒绝（{}）"),
    ("weaviate: rows of tenant {} outlive their deletion", "Weaviate：租户 {} 的数据删除后仍在"),
    ("weaviate: some deletes failed", "Weaviate：部分删除失败"),
    ("weaviate: a row is refused", "Weaviate：有一行被拒绝"),
    ("weaviate: no alias {}", "Weaviate：没有别名 {}"),
    ("weaviate: no collection {}", "Weaviate：没有集合 {}"),
    ("weaviate: tenant {} is gone again", "Weaviate：租户 {} 又不在了"),
    ("weaviate {}: {}", "Weaviate 出错：{}（{}）"),
    ("index of tenant {}: {}; rebuild the index", "租户 {} 的索引：{}；请重建索引"),
    ("index of tenant {}: {}", "租户 {} 的索引：{}"),
    ("index folder: {}", "索引文件夹：{}"),
    ("index: no answer within {} ms", "索引：{} 毫秒内没有应答"),
    ("index {}: this generation is dropped", "索引 {}：这一代已删除"),
    ("index {}: layout {}, this build needs {}; rebuild the index", "索引 {}：布局 {}，本程序需要 {}；请重建索引"),
    (
        "index {} holds vectors of {}, the embedder set now makes {}; set the old embedder again or rebuild the index",
        "索引 {} 中的向量来自 {}，现在设置的模型给出 {}；请改回原来的向量模型，或重建索引",
    ),
    (
        "index generation {} with {} is being built; finish or abandon it first",
        "正在建立第 {} 代索引（{}）；请先完成或放弃",
    ),
    ("{}; rebuild the index", "{}；请重建索引"),
    ("index generation {}: is not being built any more", "第 {} 代索引：已不再建立"),
    ("job {}: run {} has been taken over", "作业 {}：第 {} 次运行已被接管"),
    ("window {}: claim {} no longer stands", "窗口 {}：第 {} 次认领已失效"),
    ("this version indexes no {}", "本版本不索引 {}"),
    # The model and its embeddings
    ("the model's endpoint did not answer in time", "模型服务没有及时应答"),
    ("the model's endpoint cannot be reached", "无法连接模型服务"),
    ("the model's endpoint answered something unreadable", "无法读取模型服务的应答"),
    ("the model's endpoint answered 200 without a completion", "模型服务应答了 200，但没有回答"),
    ("the model's endpoint answered 200 with an error inside", "模型服务应答了 200，其中却是错误"),
    ("the model's endpoint answered with a web page", "模型服务应答的是网页"),
    ("the model's endpoint limits our rate", "模型服务限制了请求速率"),
    ("the model's endpoint answered {}", "模型服务应答 {}"),
    ("the model's endpoint {}", "模型服务：{}"),
    ("the model's account has no credit left", "模型账户余额不足"),
    ("the model's answer is empty", "模型的回答为空"),
    ("the window is too long for the model", "窗口超出模型的长度"),
    ("the endpoint refused what the model had written", "模型服务拒绝了模型所写的内容"),
    ("the endpoint's content filter stopped the request", "模型服务的内容过滤拦下了请求"),
    ("the embeddings endpoint answered 200 without vectors", "向量模型服务应答了 200，但没有向量"),
    ("the embeddings endpoint answered {} vectors for {} texts", "向量模型服务应答了 {} 个向量，文本却有 {} 段"),
    ("the embeddings endpoint answered a vector that is zero or not finite", "向量模型服务的向量为零或非有限值"),
    ("the embeddings endpoint answered vectors of different kinds", "向量模型服务的各个向量类型不一"),
    ("the vectors' shape is not {}", "向量的形状不是 {}"),
    # What is not there, or not any more
    ("episode {} is no summary of several", "情节 {} 不是合并摘要"),
    ("there is no version {} of {}, or it was withdrawn before", "没有版本 {}（{}），或已撤回"),
    ("these two are not joined", "这两个编号没有关联"),
    ("the key is not valid", "该凭据无效"),
    ("the key was revoked", "该凭据已被作废"),
    ("the key has expired", "该凭据已过期"),
    ("the key has a newer secret, and this one's grace is over", "该凭据已更换，旧密钥的宽限期已过"),
    ("key {} has ended; make a new one", "凭据 {} 已失效；请新建一个"),
    ("key {} is being rotated: the secret before is good until {}", "凭据 {} 正在更换：旧密钥有效至 {}"),
    ("key {} lacks the right {}", "凭据 {} 没有 {} 权限"),
    ("window {}: none of its turns is there any more", "窗口 {}：其中的对话都已不在"),
    ("window {}: not dead, or its user was erased", "窗口 {}：不是死信，或其用户已被删除"),
    ("letter {}: its event cannot be read", "死信 {}：无法读取其中的事件"),
    ("letter {}: its event is refused", "死信 {}：其中的事件被拒收"),
    ("letter {}: its event fails as before", "死信 {}：其中的事件仍然出错"),
    ("content was written by a newer version or under a key that is not here", "内容由更新的版本或此处没有的密钥写成"),
    # Files of cases
    ("larger than {} MiB", "超过 {} MiB"),
    ("not UTF-8", "不是 UTF-8"),
    ("no case in it", "其中没有用例"),
    ("{} is the id of {}, too", "{} 也是 {} 的编号"),
    (
        "no case: expected turns (a dialogue), facts (a statement) or decision (poisoning)",
        "不是用例：应有 turns（对话）、facts（陈述）或 decision（投毒）",
    ),
    ("the first must be a turn: nothing has a time before it", "第一项必须是对话：在它之前没有时间"),
    ("no turn is of that session", "没有该会话的对话"),
    ("a turn of staff says who spoke", "staff 的对话须写明是谁说的"),
    ("expected more than 0", "应大于 0"),
    ("the session has answers in model, too", "该会话在 model 中也有回答"),
    ("expected the raw text of an answer, found {}", "应为回答的原文，却是 {}"),
    ("not known; expected any of {}", "没有这一项；可用：{}"),
    ("expects nothing", "没有写明期望"),
    ("expected [subject, key, value, op]", "应为 [subject, key, value, op]"),
    ("expected text, found {}", "应为文本，却是 {}"),
    ("expected one of {}", "应为其中之一：{}"),
    ("expected true or false, found {}", "应为 true 或 false，却是 {}"),
    ("expected a number, found {}", "应为数字，却是 {}"),
    ("expected a whole number from 0 on", "应为不小于 0 的整数"),
    ("expected a time like {}", "应为 {} 这样的时间"),
    ("a time without a zone: add Z or an offset like {}", "时间没有时区：请加 Z 或 {} 这样的偏移"),
    # Arguments
    ("must lie ahead", "必须是将来的时间"),
    ("are of more than one tenant", "属于多个租户"),
    ("has no direction: all zero, or not finite", "没有方向：全为零，或含非有限值"),
    ("has shape {}, the index holds {} dimensions", "形状为 {}，索引为 {} 维"),
    ("has {} dimensions, this index holds {}", "为 {} 维，索引为 {} 维"),
    ("has other dimensions than those in the index", "维数与索引不同"),
    ("is empty", "为空"),
)
_MENDS: Words = (
    ("{} makes one, or {}", "{} 会新建一个，或运行 {}"),
    (
        "install valkey or redis-server, or set {} to a Redis or Valkey that you run",
        "安装 valkey 或 redis-server，或将 {} 设为自行运行的 Redis 或 Valkey",
    ),
    ("{} (and in its configuration file)", "{}（并写入其配置文件）"),
    ("move that file away, and the next start makes a new one", "移走该文件，下次启动会新建"),
    ("install {}", "安装 {}"),
)
_NAME = re.compile(r"((?:AFTERTURN_[A-Z_*]+|--[a-z-]+|role)(?:\[.*?\]|, AFTERTURN_[A-Z_]+| [a-z]+)*): (.+)", re.DOTALL)
_NOTHING = re.compile(rf"no ({'|'.join(KINDS)}) (?:of that name|(\S+?))(?:; known are (.+))?")


def fault_text(message: str, language: str) -> str:
    """An error's message in the reader's language, as it is when nobody has translated it."""
    if language != "zh":
        return message
    fault, _, mend = message.partition(". Mend: ")
    if mend:
        return f"{fault_text(fault, language)}。修复：{worded(mend, _MENDED) or mend}"
    if (found := worded(message, _SAID)) is not None:
        return found
    if named := _NAME.fullmatch(message):
        return f"{named[1]}：{fault_text(named[2], language)}"
    if nothing := _NOTHING.fullmatch(message):
        kind, known = KINDS[nothing[1]], f"；已有：{'、'.join(nothing[3].split(', '))}" if nothing[3] else ""
        return (f"没有{kind} {nothing[2]}" if nothing[2] else f"没有这个{kind}") + known
    return reason_text(message, language)


def compiled(words: Words) -> Compiled:
    """Words as `worded` takes them: what is said, with {} for what differs, and its Chinese."""
    return tuple((_pattern(english), chinese) for english, chinese in words)


def worded(message: str, words: Compiled) -> str | None:
    """The Chinese of a message by the first of the words that fit it whole; None when none do."""
    matches = ((pattern.fullmatch(message), chinese) for pattern, chinese in words)
    return next((chinese.format(*match.groups()) for match, chinese in matches if match), None)


def _pattern(english: str) -> re.Pattern[str]:
    return re.compile("(.*?)".join(re.escape(part) for part in english.split("{}")), re.DOTALL)


_SAID, _MENDED = compiled(_WORDS), compiled(_MENDS)
