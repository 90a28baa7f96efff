"""What the guard looks for: families of attack and of claims that need a second look, in English and Chinese.

Patterns see the folded views of `memory/disguise.py`: lower case, simplified characters, plain apostrophes. Gaps are
bounded and stay inside a sentence. A pattern never decides that something is safe: origin and scope do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory.guard_attacks_en import ATTACKS_EN
from memory.guard_claims_en import CLAIMS_EN
from memory.guard_patterns import Rule, rules
from memory.guard_requests import REQUESTS
from memory.guard_zh import RULES_ZH

_START = r"(?:^|[.!?:;,。！？：；，\n]\s*|\bplease\s+|请)"
_NUMBER = r"(?:\b[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){3,7}|\d(?:[ -]?\d){5,}|0x[0-9a-f]{8,}|\S+@\S+|\[secret:[a-z_]+\])"
_WHO = r"(?:patient|user|customer|client|account|member|student|employee|person)"
_ZH_WHO = r"(?:患者|病人|用户|客户|账号|帐号|账户|帐户|会员|学员|顾客)"


_OVERRIDE = rules(
    "override",
    "reject",
    r"(?<!n't )(?<!not )(?<!never )(?<!\bi )(?<!you )(?<!i always )(?<!i usually )(?<!i often )(?<!tend to )"
    r"(?<!used to )"
    r"\b(?:ignore|disregard|forget|override|bypass|discard|pay no attention to|do not follow|don't follow"
    r"|stop following)\b"
    r"(?! (?:about )?(?:all |any )?(?:of )?(?:my|our)\b){EN:30}\b(?:previous|prior|above|earlier|preceding|all"
    r"|any|every|your|the|these|those"
    r"|system|existing|safety|initial|original|past)\b{EN:25}\b(?:instructions?|prompts?|rules?|guidelines?|policies"
    r"|policy(?! n)|directives?|guardrails?|restrictions?|safeguards?|programming|system messages?)\b"
    r"(?! (?:that )?(?:i|we) (?:gave|sent|wrote|told|left|typed|mentioned|posted))",
    r"\b(?:you are|you're) (?:no longer|not) (?:bound|restricted|limited|subject)\b",
    r"\bnew (?:system )?(?:instructions?|directives?|rules?) (?:for you|follow|supersede|replace|override)\b",
    r"(?<!不要)(?<!别)(?<!不能)(?<!我)(?<!我都)(?<!我全)(?:忽略|无视|忘记|忘掉|抛开|绕过|跳过|不要遵守|不用遵守"
    r"|不必遵守|别管|不要管|推翻|覆盖)"
    r"(?!{ZH:6}我){ZH:12}(?:之前|以前|前面|以上|上面|上述|先前|所有|全部|一切|任何|系统|原有|你的|安全)"
    r"{ZH:10}(?:指令|指示|规则|提示|设定|约束|限制|命令|政策|准则|规定|系统消息)",
)
_FAKE_SYSTEM = rules(
    "fake_system",
    "reject",
    r"<\|[a-z_]{2,24}\|>|</?(?:im_start|im_end|system|system-reminder|inst|sys|start_of_turn|end_of_turn)/?>"
    r"|\[/?(?:inst|system|sys)\]|<<\s*/?sys\s*>>|^#{2,6} ?(?:system|new instructions?)\b",
    r"^\s*\W{0,4}(?:system|developer|admin(?:istrator)?)[ _-](?:message|prompt|note|notice|override|instruction"
    r"|update|command"
    r"|alert|directive)s?\s*\W{0,3}[:\]]",
    r"^\s*\W{0,4}(?:system|developer)\s*\W{0,3}[:\]]\s*(?!windows|mac|linux|ubuntu|android|ios|debian|\d)"
    r"(?={EN:80}\b(?:you|user|memory|instructions?|always|never|must|ignore|trust|grant|assistant"
    r"|mode|override|policy"
    r"|allow|approved?|verified)\b)",
    r"(?:^|[。！？!?\n【\[(])\s*系统(?:消息|提示|通知|指令|公告|更新|管理员)?\s*[】\])]?\s*[:：]"
    r"(?={ZH:40}(?:该用户|此用户|本用户|用户(?:已|是|为|偏好|具有|拥有|可)|助手|记忆|权限|已通过|可直接|无需"
    r"|必须|从现在|以后"
    r"|忽略|执行|提额|授权|批准|信任|管理员))",
)
_PERSONA = rules(
    "persona",
    "reject",
    r"\b(?:you are|you're|you will be|act as|become)\b{EN:30}\b(?:(?:developer|god|jailbreak|dan|debug|sudo"
    r"|unrestricted) mode"
    r"|jailbroken|unrestricted|unfiltered|uncensored|without (?:any )?(?:restrictions?|limits|filters|rules))\b",
    r"\b(?:enter|switch to|activate) (?:the )?(?:god|jailbreak|dan|unrestricted|unfiltered) mode\b",
    r"\b(?:pretend|imagine) (?:that )?you (?:have no|are without|are free of) (?:any )?(?:rules|restrictions"
    r"|limits|filters)\b",
    r"\bdo anything now\b",
    r"你(?:现在|已经?|将|要)?(?:是|进入|处于|切换到?|变成){ZH:8}(?:开发者模式|越狱|无限制|上帝模式|dan模式"
    r"|调试模式|不受限)",
    r"(?:进入|开启|切换到?)(?:越狱|无限制|上帝|不受限)模式",
    r"(?:假装|扮演|假设)你?{ZH:8}(?:没有|不受)(?:任何)?(?:限制|约束|规则)",
)
_SPEAKS = r"(?:says?|said|asks?|mentions?|types?|writes?|replies|thanks?|confirms?|uploads?|sends?)"
_TRIGGER = rules(
    "tool_trigger",
    "reject",
    r"\b(?:next time|when(?:ever)?|if|once|after|as soon as|every time|the moment)\b{EN:60}\b"
    + _SPEAKS
    + r"\b{EN:40}\b(?:call|invoke|run|execute|trigger|use|launch)\b{EN:30}\b(?:tool|function|api"
    r"|command|script|plugin"
    r"|webhook|[a-z]+_[a-z_]+)\b",
    r"\b(?:next time|whenever|as soon as|every time|the moment|when) (?:the user|the customer|they|he|she"
    r"|someone|anyone|i)\b"
    r"{EN:20}\b"
    + _SPEAKS
    + r"\b{EN:30}[,:]\s*(?:immediately |silently |then |just )?(?:delete|transfer|wire|wipe|pay|send all)\b",
    r"(?:当|等|只要|每当|如果|一旦|下次|每次|若|在){ZH:20}(?:说|问|提到|回复|输入|发送|表示|感谢|确认){ZH:20}"
    r"(?:调用|执行|触发|运行|启动|使用){ZH:15}(?:工具|函数|接口|命令|脚本|插件|api)",
    r"(?:当|只要|每当|一旦|下次|每次){ZH:20}(?:说|回复|提到|输入|确认){ZH:12}(?:就|则|立即|自动|马上){ZH:8}"
    r"(?:转账|汇款|删除|付款|打款|执行|调用)",
)
_SEND = r"\b(?:forward|send|copy|cc|bcc|upload|post|e-?mail|exfiltrate|leak|report|transmit|sync|stream)\b"
_STANDS = r"\b(?:each|every|all|any|future|always|from now on|whenever|henceforth|secretly|silently)\b"
_TALK = (
    r"{EN:60}\b(?:chats?|conversations?|messages?|transcripts?|history|memor(?:y|ies)|data|everything|replies|answers"
    r"|notes|context)\b"
)
_AWAY = (
    r"{EN:30}\b(?:to|at|via)\b\s{0,3}(?:\S{1,64}@\S|https?://|www\."
    r"|[\w-]{1,60}\.(?:com|net|io|org|cn|example|dev|xyz)\b)"
)
_EXFILTRATION = rules(
    "exfiltration",
    "reject",
    r"!\[[^\]\n]{0,80}\]\(\s*https?://[^)\s]{0,300}[?&][^)\s]{0,300}=",
    _SEND + r"(?={EN:90}" + _STANDS + r")" + _TALK + _AWAY,
    _STANDS + r"{EN:40}" + _SEND + _TALK + _AWAY,
    r"\bfrom now on\b{EN:20}\b(?:forward|send|copy|cc|bcc|upload|post|e-?mail|report"
    r"|transmit)\b{EN:60}(?:\S{1,64}@\S|https?://)",
    r"\b(?:append|include|add|embed|insert|put|attach)\b{EN:60}\b(?:every|each|all|future|any)\b{EN:30}"
    r"\b(?:answer|reply|replies|response|message)s?\b[^\n]{0,40}?https?://",
    r"\b(?:reveal|print|show|repeat|output|tell me|leak|dump)\b{EN:30}\b(?:system prompt|hidden (?:prompt"
    r"|instructions?)"
    r"|initial (?:prompt|instructions?)|your (?:prompt|instructions) verbatim)\b",
    r"(?:以后|今后|所有|每次|每条|每轮|全部|一律|从现在){ZH:15}(?:对话|聊天|消息|记录|记忆|数据|内容|信息|回复|回答)"
    r"{ZH:15}(?:转发|发送|抄送|上传|同步|提交|发)(?:到|给|至)?{ZH:8}(?:https?://|www\.|\S{1,64}@\S)",
    r"(?:把|将){ZH:15}(?:对话|聊天|消息|记录|记忆|数据|内容|信息|回复|回答){ZH:6}(?:都|全部|一律|每次|以后)"
    r"{ZH:8}(?:转发|发送|抄送|上传|同步|提交|发)(?:到|给|至)?{ZH:8}(?:https?://|www\.|\S{1,64}@\S)",
    r"(?:每次|每条|所有|以后){ZH:12}(?:回复|回答|消息){ZH:12}(?:附上|加上|插入|包含|带上){ZH:20}https?://",
    r"(?:输出|显示|打印|告诉我|泄露|复述|公开|说出){ZH:8}(?:系统提示词?|初始指令|隐藏指令|系统指令)",
)
_OTHERS = (
    r"(?:(?:all|every|each|any|other|another|different)(?: other)? (?:users?|customers?|accounts?"
    r"|clients?|tenants?)(?:'s?|s')?|other people(?:'s)?)"
)
_PRIVATE = (
    r"(?:memor(?:y|ies)|passwords?|chats?|conversations?|histor(?:y|ies)|orders?|address(?:es)?"
    r"|profiles?|personal|private|data|records?|phone)"
)
_CROSS_USER = rules(
    "cross_user",
    "reject",
    r"(?<!\bthe )(?<!\bour )(?<!\bthis )(?<!\bevery )\b(?:remember|save|store|memori[sz]e|record"
    r"|note|keep|set|write)\b{EN:30}\b(?:for|to|in|into"
    r"|under) (?:everyone(?: else)?\b|" + _OTHERS + r"\b)",
    r"\b(?:tell|show|give|read|list|reveal|what|which|access|look up|export|search)\b{EN:40}\b(?:"
    + _OTHERS
    + r" {EN:12}\b"
    + _PRIVATE
    + r"|"
    + _PRIVATE
    + r"\b{EN:12}\b(?:of|from|about|for) "
    + _OTHERS
    + r")\b",
    r"(?:告诉|给我|查看|显示|读取|列出|看看|调出|导出|查一下|说说|什么){ZH:6}(?:其他|别的|所有|全部|每个|任何"
    r"|另一个)的?(?:用户|客户|人|顾客|账号|会员)"
    r"的?{ZH:8}(?:记忆|密码|数据|资料|聊天记录|对话|订单|地址|隐私|手机号)",
    r"(?:记住|保存|记录|记下|写入|存){ZH:15}(?:所有|全部|每个|其他|别的)的?(?:用户|客户|人|顾客)",
    r"(?:为|给|对|替|帮)(?:所有|全部|每个|其他|别的)的?(?:用户|客户|人|顾客){ZH:10}(?:记住|记录|保存|写入|设置"
    r"|设定|记)",
)
_COMMAND = rules(
    "poisoned_command",
    "reject",
    r"\b(?:curl|wget|iwr|invoke-webrequest|fetch)\b[^\n]{0,160}?\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b",
    r"\b(?:bash|sh|python3?|perl|node)\s+(?:-c\s+)?[\"'<(]{1,3}\(?\s*(?:curl|wget)\b",
    r"\brm\s+-(?:rf|fr)\s+(?:--no-preserve-root\s+)?[/~*]|:\(\)\s*\{\s*:\|:|\bmkfs\.\w+\s+/dev/"
    r"|\bdd\s+if=\S+\s+of=/dev/",
    r"\bpowershell\b[^\n]{0,60}?(?:-enc|-e |downloadstring|iex)\b|\biex\s*\(\s*(?:new-object|iwr)",
    r"\beval\s*\(\s*(?:atob|base64|requests|urllib)|\bbase64\s+(?:-d|--decode)\b[^\n]{0,60}?\|\s*(?:ba)?sh\b",
    r"['\"]\s*;\s*drop\s+(?:table|database)\b|<script\b|\bjavascript:\S",
)
_ADMIN = r"(?:admin|administrator|superuser|sysadmin|root user|super admin|moderator|system owner|owner)"
_PRIVILEGE = rules(
    "privilege",
    "pending",
    r"\bi(?:'m| am) (?:an? |the |your |actually )?(?:(?:authori[sz]ed|verified|global|super|workspace|account"
    r"|platform) ){0,2}"
    + _ADMIN
    + r"\b(?! (?:at|for|in|with|by|assistant)\b)(?!{EN:3}(?: of| here)? (?:a|an|my) )(?:(?= (?:of"
    r"|here|on) )|(?! of))",
    r"\bno (?:further |additional )?(?:approval|confirmation|verification|authori[sz]ation) (?:is "
    r"|are )?(?:needed|required|necessary)"
    r"\b{EN:12}\b(?:for|from) (?:me|my|us|our|any)\b",
    r"\b(?:skip|bypass|waive|disable)\b{EN:12}\b(?:approvals?|confirmations?|verification|2fa|identity checks?|kyc)\b"
    r"{EN:20}\b(?:for me|for my|for us|my|always|from now on)\b",
    r"\bi (?:have|got|was granted|was given|possess)\b (?:the )?(?:full |all |admin(?:istrator)? |root "
    r"|elevated |super(?:user)? |unlimited )"
    r"{1,3}(?:access|permissions?|rights|privileges)\b(?! (?:to|on|over|for|in) (?:my|our|a|an) )",
    r"\b(?:grant|give|assign) me\b{EN:12}\b(?:admin(?:istrator)?|root|full|elevated|superuser|unlimited)\b",
    r"\b(?:mark|save|record|remember|treat|consider|register|flag|store) me as\b{EN:20}\b(?:"
    + _ADMIN
    + r"|vip|verified|employee|staff"
    r"|premium|trusted|exempt|approved)\b",
    r"\b(?:i am|i'm|we are|we're) (?:exempt from|pre-?approved for|cleared for|above)\b{EN:20}\b(?:limits?"
    r"|fees?|rules?|policy|checks?"
    r"|verification|approvals?|refunds?)\b",
    r"我(?:是|就是|才是|就)(?:本(?:系统|平台|群)的?|你们?的?|这里的|公司的?|系统的?|平台的?|后台的?|超级|最高"
    r"|系统|平台){0,2}"
    r"(?:管理员|超管|root用户|版主|内部员工|内部人员|客服主管|店长本人)(?!助理)",
    r"我的?(?:所有|全部|任何|一切)?的?(?:操作|请求|申请|退款|指令|订单){ZH:4}(?:不用|无需|不需要|不必"
    r"|免)(?:再)?(?:确认|审批|审核|验证|批准|核实)",
    r"(?:操作|以后|一律|全部|都)(?:都|全|一律)?(?:不用|无需|不需要|不必|免)(?:再|经过)?(?:确认|审批|审核|验证"
    r"|批准|核实)",
    r"把我(?:记|标记|设|设置|登记|列|标|存)(?:为|成){ZH:8}(?:管理员|vip|员工|白名单|超管|内部|认证)",
    r"(?:给|为)我(?:开通|开启|授予|加上|提升|设置|开放)?{ZH:4}(?:管理员|最高|root|超级|全部)(?:的)?权限",
    r"我(?:有|拥有|具备|享有)(?:最高|全部|所有|管理员|超级){ZH:4}权限",
)
_PAYMENT = rules(
    "payment",
    "pending",
    r"\b(?:bank|payout|refunds?|payments?|iban|routing|paypal|wallet|crypto|usdt|bitcoin|salary|direct deposit"
    r"|beneficiary)\b{EN:40}"
    r"\b(?:changed?|updated?|switch(?:ed)?|new|replaced?|is now|should (?:now )?(?:go|be)|redirect|goes)\b{EN:30}"
    + _NUMBER,
    r"\b(?:send|transfer|pay|wire|redirect|refund|deposit|route)\b{EN:40}\b(?:to|into)\b{EN:30}\b(?:account"
    r"|iban|wallet|card|address)\b{EN:20}" + _NUMBER,
    r"\b(?:change|update|switch|replace|redirect|set)\b{EN:20}\b(?:payout|refund|bank|payment|beneficiary"
    r"|direct deposit)"
    r" (?:account|details|destination|iban|card|method)\b{EN:6}\bto\b",
    r"(?:收款|退款|打款|付款|提现|银行|结算|工资|转账|回款)的?(?:账号|帐号|账户|帐户|卡号?|银行卡"
    r"|卡){ZH:8}(?:改|换|变更|更新|更换|修改)(?:成|为|到|了|至)",
    r"(?:钱|款项?|退款|货款|工资|尾款){ZH:8}(?:打|转|汇|退)(?:到|给|至|进|去){ZH:12}(?:\d(?:[ -]?\d){5,}"
    r"|新的?(?:账|帐|卡)|另一?(?:个|张)|别的)",
)
_IDENTITY = rules(
    "identity_redirect",
    "pending",
    r"\bfor " + _WHO + r" \S{1,40}{EN:20}\buse\b{EN:30}\b(?:of|from|for) " + _WHO + r"\b",
    r"\bfor \S{1,40}(?: \S{1,40})?,? (?:always |please |just )?use (?:the )?(?:records?|data|files?|accounts?"
    r"|profile|history|results?)"
    r" (?:of|from)\b",
    r"\b("
    + _WHO
    + r") \S{1,40} (?:is|was|has been|should be|are) (?:merged|replaced|redirected|mapped|linked|the same)"
    r"\b{EN:20}\b(?:with|by|to|into|as) \1\b",
    r"\b(?:change|update|set|replace|switch)\b{EN:20}\b(?:recovery|security|backup|2fa|login"
    r"|registered) (?:e-?mail|phone|number|contact)\b",
    r"\bmy (?:recovery|login|registered|security) (?:e-?mail|phone)(?: number)? (?:is|has changed"
    r"|changed|should be)\b",
    _ZH_WHO
    + r"\s{0,2}[a-z0-9甲乙丙丁一-龥]{1,8}?{ZH:12}(?:都?用|使用|改用|换成|换用|按|查){ZH:6}"
    + _ZH_WHO
    + r"\s{0,2}[a-z0-9甲乙丙丁]",
    r"(?:找回|安全|绑定|密保|登录|注册)的?(?:手机号?码?|邮箱|电话){ZH:6}(?:改|换|变更|更换|修改|更新)(?:成|为|到|了)",
)
_BEST = r"(?:trusted|trustworthy|reliable|authoritative|best|only|preferred|go-to|top|official|safest|leading)"
_BIAS = rules(
    "bias",
    "pending",
    r"\b(?:remember|treat|consider|regard|view|cite|list|note|save|store)\b(?! me\b){EN:60}\bas\b{EN:25}\b"
    + _BEST
    + r"\b",
    _START + r"(?:from now on,? |in (?:the )?future,? |you (?:should|must) )?(?:always|only|first|exclusively) "
    r"(?:recommend|suggest|promote|endorse|advertise|push|cite)\b",
    r"\b(?:recommend|promote|suggest|endorse|favou?r)\b \S{1,40}(?: \S{1,40}){0,4} (?:first|over (?:all|other"
    r"|any|every)|above (?:all|other))\b",
    _START + r"always (?:trust|believe|prefer (?:links|results|answers|products))\b",
    r"(?:优先|首先|一律|总是|永远|只能|必须|首选)(?:推荐|推销|推广|宣传)",
    r"(?:记住|认为|视为|当作|当成|作为|认定|记作)?{ZH:20}(?:最(?:可信|权威|可靠|值得信赖|值得信任)|唯一可(?:信"
    r"|靠))的?(?:信息|投资)?(?:来源|品牌|平台|选择|专家|公司|渠道|机构)",
    r"(?:始终|永远|总是|一律|无条件)(?:信任|相信|听从|采信)",
)
_FALSE_SUCCESS = rules(
    "false_success",
    "pending",
    r"\b(?:never|don't|do not|no need to|skip)\b{EN:16}\b(?:tests?|checks?|verification|validation|backups?"
    r"|reviews?|approvals?)\b{EN:20}"
    r"\b(?:just|instead) \w+",
    r"\b(?:this|that|the) (?:proven )?(?:procedure|workflow|playbook|runbook|method)\b{EN:30}\b(?:worked|works"
    r"|succeeded|succeeds)\b"
    r" (?:every time|always|100|without fail)",
    r"(?:不用|不要|无需|跳过|别|不必)(?:做|走|跑|再)?(?:测试|检查|验证|审核|备份|核实){ZH:8}(?:直接|就)(?:上线"
    r"|部署|执行|发布|退款|转账|通过|发货)",
    r"(?:这个|该|此|这套)(?:流程|方法|步骤|做法|方案){ZH:8}(?:每次|一直|百分百|百分之百"
    r"|100%)(?:都)?(?:成功|有效|管用)",
)
_ORDERS = (
    r"(?:approve|grant|authori[sz]e|execute|deploy|delete|transfer|wire|refund|waive|unlock|skip|bypass"
    r"|obey|comply|agree with)"
)
_STANDING = rules(
    "standing_order",
    "pending",
    _START + r"(?:from now on|henceforth|in (?:the )?future|every time|each time),? (?:you (?:should|must"
    r"|will) )?(?:always |automatically |just )?" + _ORDERS + r"\b",
    _START + r"(?:you (?:should|must|will) )?(?:always|automatically) " + _ORDERS + r"\b",
    r"(?:以后|今后|从现在起|从今往后|每次)(?!{ZH:10}我(?:会|要|想|都|就)){ZH:12}(?:直接|自动|一律|都)(?:给我"
    r"|帮我|为我)?"
    r"(?:批准|同意|通过|退款|赔付|执行|转账|免单|减免|放行|跳过|绕过)",
)

RULES: tuple[Rule, ...] = (
    *_OVERRIDE,
    *_FAKE_SYSTEM,
    *_PERSONA,
    *_TRIGGER,
    *_EXFILTRATION,
    *_CROSS_USER,
    *_COMMAND,
    *_PRIVILEGE,
    *_PAYMENT,
    *_IDENTITY,
    *_BIAS,
    *_FALSE_SUCCESS,
    *_STANDING,
    *ATTACKS_EN,
    *CLAIMS_EN,
    *RULES_ZH,
    *REQUESTS,
)
"""Every rule; the first of a family that matches a sentence names it."""


def speaking_of(text: str) -> Iterator[Rule]:
    """The rules that may hold in a text: the others need a word that it lacks."""
    asked: dict[re.Pattern[str], bool] = {}
    for rule in RULES:
        if rule.needs is not None and not asked.setdefault(rule.needs, rule.needs.search(text) is not None):
            continue
        yield rule
