"""Privacy requests in a user's words, in English and Chinese: erase, access, correct, object, and "do not keep this".

A request names a right (erase, see, correct, stop), and what about the speaker it is for. The words alone are none:
who forgets a password, deletes a cart or corrects an order asks for nothing of the kind.
"""

from __future__ import annotations

import re

from memory.guard_patterns import Rule, rules

# What is kept of somebody, in general words: not their order, their address, their file.
_DATA = (
    r"(?:(?:personal|stored|own|private|chat|saved|user|customer|conversation|remaining|past|previous|earlier|entire"
    r"|whole|complete|full) )*"
    r"(?:data|information|infos?|details|memories|memory|history|histories|records?|profile|traces?|conversations?"
    r"|chats?|pii)\b(?! (?:usage|plan|cap|limit|roaming|cable|scientist|science|allowance|volume|card|stick))"
)
# Who has it: "you have", "is held by your company", "you've got on file".
_KEPT = (
    r"(?:you(?:'ve|'re| have| are| guys have)? (?:\w+ )?(?:know|have|got|hold|holding|keep|keeping|kept|stored?|storing"
    r"|saved?|saving|remember(?:ed)?|recorded|collect(?:ed|ing)?|learn(?:ed|t)|gathered|process|picked up|on (?:file"
    r"|record)))"
)
_TOLD = r"(?:i(?:'ve| have)? (?:ever |just |already |previously )?(?:said|told|shared|mentioned|given|written|wrote))"
_NOT_OURS = r"(?<!n't )(?<!not )(?<!never )(?<!\bhad to )"
_NOT_TOLD_OF = (
    r"(?<!n't )(?<!not )(?<!never )(?<!\bi )(?<!ever )(?<!always )"
    r"(?<!they )(?<!he )(?<!she )(?<!often )(?<!will )(?<!'ll )"
)
_DESTROY = r"(?:delete|erase|remove|wipe|clear|purge|destroy|scrub|expunge|get rid of|shred|nuke)"
# An order or a wish: who asks how it is done, or whether it was, wants an answer.
_NOT_ASKED = (
    r"(?<!how do i )(?<!how can i )(?<!how to )(?<!can i )(?<!did you )(?<!would you )(?<!i'd never )(?<!if i )"
)
_ERASE_EN = rules(
    "erase",
    "request",
    _NOT_OURS + _NOT_ASKED + r"(?<!\bi )(?<!\bthey )\b(?:delete|erase|close|deactivate|terminate|remove)\b (?:down )?my"
    r" (?:(?:user|customer|whole|entire) )?(?:account|profile)\b(?= (?:with you|now|please|completely|for good|and\b)"
    r"|,? *(?:please\b|[.!]|$))",
    rf"\b(?:anything|everything|{_DATA})\b{{EN:12}}\b(?:about|on) me\b{{EN:12}}\b(?<!to ){_DESTROY} (?:it|them"
    r"|everything|all of (?:it|that|them))\b",
    rf"(?:^|[.!?,;:]\s*|\bplease |\byou (?:to )?)(?:take|get) (?:all (?:of )?)?my {_DATA} (?:off|out of|from) your\b",
    r"\bi (?:want|wish|would like|'d like) to be forgotten\b(?= (?:by (?:you|your)|please|now)|,? *(?:[.!,]|$))",
    rf"^\W*(?:please |now |just |ok,? )?{_DESTROY} (?:all )?(?:of )?"
    r"(?:your (?:memory|memories|records?)|(?:the|this|our)"
    r" (?:(?:whole|entire|full) )?(?:chat|conversation)(?: (?:history|log|records?))?)(?: please)?[.!]*$",
    _NOT_OURS + rf"\b{_DESTROY}\b (?:out |away )?(?:everything|all|anything|whatever|what|any|every \w+)\b{{EN:30}}"
    rf"\b(?:about me\b|of me\b|{_KEPT}|of mine\b|{_TOLD})",
    _NOT_OURS + rf"\b{_DESTROY}\b (?:out |away )?(?:all (?:of )?|any of )?(?:my|our) {_DATA}",
    _NOT_OURS + rf"\b{_DESTROY}\b (?:all )?(?:of )?(?:the |any )?{_DATA}{{EN:20}}\b(?:{_KEPT}|(?:about|on|of) me\b)",
    _NOT_OURS + rf"\b{_DESTROY}\b (?:your )?(?:memory|memories|records?) (?:of|about|on) me\b",
    rf"\b(?:close|cancel|deactivate|delete|terminate)\b (?:down )?my (?:\w+ )?account\b{{EN:20}}\b{_DESTROY}\b{{EN:25}}"
    r"\b(?:data|information|details|records?|everything|history|traces?)\b",
    rf"\b(?:(?:all (?:of )?)?my {_DATA}|(?:everything|all|whatever) {_KEPT}{{EN:8}}\b(?:about|on) me\b){{EN:20}}"
    r"\b(?<!been )(?<!was )(?<!were )(?:deleted|erased|wiped|purged|destroyed|removed(?= from (?:your|the)"
    r" (?:system|database|server)))\b"
    r"(?=,? ?(?:please|now|from|completely|$|[.!]))",
    _NOT_OURS + rf"\b{_DESTROY}\b me (?:from|out of) (?:your|the|this)\b"
    r"(?! (?:[\w-]+ ){0,2}(?:newsletters?|mailings?|e-?mails?|lists?|groups?|chats?|threads?|channels?|meetings?"
    r"|calls?|queues?|subscriptions?|invites?|calendars?|reminders?|promotions?)\b)",
    rf"\bi (?:want|need|would like|'d like) (?:all (?:of )?)?my {_DATA} (?:to be )?"
    r"(?:gone|deleted|erased|wiped|purged|destroyed)\b",
    _NOT_TOLD_OF + rf"\bforget\b (?:about )?(?:everything|all|anything|whatever|what|all that)\b{{EN:20}}"
    rf"\b(?:about me\b|{_KEPT}|{_TOLD} (?:you|about (?:me|myself)|to you|so far|in (?:this|our))|{_TOLD}\s*(?:$|[.!?]))"
    r"(?!{EN:20}(?:party|,? ?(?:\w+ ){0,3}(?:is|are) fine))(?<!forget what i said)(?<!forget what i just said)"
    r"(?<!forget what i said\.)(?<!forget what i just said\.)",
    _NOT_TOLD_OF + r"\bforget (?:all (?:of )?|about )?our (?:conversations?|chats?|history)\b",
    r"(?<!n't )(?<!not )(?<!never )(?<!they )(?<!you )(?<!will )\bforget (?:about )?me\b(?: (?:completely|entirely"
    r"|please))?\s*(?:[.!?]|$)",
    r"\b(?:my|exercis\w+|invok\w+|claim\w*|under|request\w*|want|have) (?:my |the |a )?right (?:to be forgotten|to"
    r" (?:erasure|deletion))\b",
    r"^\W*right to be forgotten\b",
    rf"\bi (?:hereby |formally |now |would like to |want to )?(?:request|demand) (?:the )?"
    rf"(?:complete |full |immediate )?(?:deletion|erasure|removal|destruction) of (?:all (?:of )?)?my {_DATA}",
)
_SHOW = (
    r"(?:show|tell|send|give|list|let me (?:see|know)|read|see|know|get|have|access|view|export|download|review|provide"
    r"|copy|obtain|receive|summari[sz]e|write me)"
)
_ACCESS_EN = rules(
    "access",
    "request",
    rf"\b(?:what|which) (?:all |exactly )?(?:do|did|have|has|are) (?:{_KEPT}|you (?:got|holding|storing|keeping))"
    r"(?! (?:for|in))\b{EN:20}\b(?:about|on) me\b",
    rf"\bwhat(?:'s)? (?:\w+ ){{0,2}}{_DATA}{{EN:12}}\b(?:do|have|did|are) you\b(?! (?:still )?(?:need|want"
    rf"|require|ask)){{EN:20}}\b(?:about|on|of) me\b",
    r"\b(?:what|which) (?:of )?(?:all )?my (?:personal )?(?:data|information|details)\b{EN:10}\b(?:do|have|did|are) you"
    r" (?:know|have|hold|keep|kept|store[ds]?|saved?|process|collect)",
    rf"\b{_SHOW}\b(?! rid){{EN:25}}\b(?:everything|all|whatever|what|which|the|any|a copy)\b{{EN:25}}\b{_KEPT}{{EN:12}}"
    r"\b(?:about|on) me\b",
    rf"\b{_SHOW}\b{{EN:12}}\b(?:all (?:of )?)?my (?:own )?(?:personal (?:data|information|details)|memories|stored data"
    r"|data(?! (?:scientist|science|plan|usage|cable)))\b(?! (?:with|to|from my|away)\b)",
    r"\b(?:a copy|copies|an? (?:export|overview|list)) of (?:all )?(?:of )?(?:my|the) (?:personal |stored )?(?:data"
    r"|information|memories)\b",
    rf"\b(?:do|did|have) you (?:really |still )?(?:keep|kept|store[d]?|save[d]?|hold|have|got) (?:any |some )?{_DATA}"
    r"{EN:8}\b(?:about|on) me\b",
    r"\b(?:(?:data )?subject access request|dsar|gdpr (?:data )?(?:export|request)|right (?:of|to) access)\b",
)
_WRONG = r"(?:wrong|incorrect|inaccurate|false|outdated|out of date|not (?:right|correct|accurate)|untrue|mistaken)"
_MEND = r"(?:correct|rectify|fix|amend|update|mend)"
_CORRECT_EN = rules(
    "correct",
    "request",
    rf"\b{_MEND}\b (?:all )?(?:of )?(?:the |any |that )?{_DATA}{{EN:10}}\b{_KEPT}{{EN:12}}\b(?:about|on|of) me\b",
    r"\b(?:correct|rectify|amend)\b (?:all )?(?:of )?my personal (?:data|information|details|records?)\b",
    rf"\b(?:the |some |any )?{_DATA} (?:that |which )?{_KEPT}{{EN:12}}\b(?:about|on|of) me\b{{EN:12}}\b(?:is|are|was"
    rf"|were)\b{{EN:8}}\b{_WRONG}",
    rf"\bwhat {_KEPT}{{EN:8}}\b(?:about|on) me\b{{EN:8}}\b(?:is|are)\b{{EN:8}}\b{_WRONG}",
    rf"\b{_KEPT}\b (?:\w+ )?{_WRONG} {_DATA}{{EN:8}}\b(?:about|on|of) me\b",
    r"\bright (?:to|of) (?:rectification|correct(?:ion)?)\b",
)
_USE = (
    r"(?:us(?:e|ing)|process(?:ing)?|collect(?:ing)?|shar(?:e|ing)|sell(?:ing)?|stor(?:e|ing)|sav(?:e|ing)|keep(?:ing)?"
    r"|analy[sz](?:e|ing)|profil(?:e|ing)|track(?:ing)?|record(?:ing)?|remember(?:ing)?|gather(?:ing)?|train(?:ing)? on"
    r"|log(?:ging)?)"
)
_MINE = (
    rf"(?:(?:any |some |all |more )?(?:of )?my {_DATA}|(?:any |more )?{_DATA} (?:about|on|of) me\b"
    r"|(?:anything|things|more|stuff) about me\b)"
)
_OBJECT_EN = rules(
    "object",
    "request",
    rf"(?:^|[.!?,;:]\s*|\bplease |\byou (?:to |must |should |have to )?|\bto )(?:stop|quit|cease)\b {_USE}\b {_MINE}",
    r"(?:^|[.!?,;:]\s*|\bplease |\byou (?:must |should )?)(?:stop|quit|cease)\b (?:profiling|tracking|monitoring) me\b",
    rf"\b(?:don't|do not|never|may not|mustn't|must not|no longer) {_USE}\b {_MINE}",
    rf"\bi (?:don't|do not|no longer|never) (?:want|allow|permit|wish|like|agree)\b{{EN:10}}\b(?:you|my)\b{{EN:8}}"
    rf"\b{_USE}\b {_MINE}",
    rf"\bi (?:don't|do not|no longer|never) (?:consent|agree|consented)\b{{EN:20}}\b(?:{_USE}|{_DATA})",
    r"\bi (?:want to |would like to |hereby |'d like to )?(?:withdraw|revoke|take back) (?:my |the )?consent\b",
    rf"\bi (?:want to |would like to |hereby |'d like to )?object to\b{{EN:15}}\b(?:processing|profiling|tracking"
    rf"|{_USE} (?:of )?my|us(?:e|ing) of my)\b",
    r"\bopt (?:me )?out of\b{EN:40}\b(?:my data|data (?:sharing|collection|processing)|profiling|tracking)\b",
    rf"\b(?:restrict|limit) (?:the )?(?:processing|use) of my {_DATA}",
    r"\bright to (?:object|restrict(?:ion)?)\b",
)
_END_ZH = r"(?:$|[\s，。！？；、,.!?;:：)）]|吧|啊|哦|哈|呀|好吗|可以吗|谢谢|[在到](?:系统|记录|记忆|档案))"
# "I don't remember that" says something of the speaker, and "don't save this recipe" does not mean the chat.
_NOT_ONESELF = (
    r"(?<!\bi )(?<!\bwe )(?<!\byou )(?<!\bhe )(?<!\bshe )(?<!\bthey )(?<!\bit )(?<!\bwho )(?<!\bcan )(?<!\bcould )"
)
_THIS_TALK = (
    r"(?:this|that)(?: (?:part|bit|one|message|sentence|conversation|chat|discussion|exchange|detail|information|info"
    r"|stuff))?"
    r"(?=\s*(?:$|[.,;:!?)\n]|please\b|either\b|anywhere\b|at all\b|for me\b|about me\b|(?:in|to) (?:your |the )?"
    r"(?:memory|records?|notes?|profile)\b|and\b|but\b|ok(?:ay)?\b))"
)
_NO_STORE = rules(
    "no_store",
    "request",
    r"(?:^|[.,;:!?(\n]\s*|\b(?:this|that|is|was|it's|that's|this's|strictly|totally|completely|keep it|and|but|so) )"
    r"off the record(?=\s*(?:$|[.,;:!?)\n–—-]|please\b|ok(?:ay)?\b|between\b|that\b|my\b|i\b|we\b|and\b|but\b))",
    rf"{_NOT_ONESELF}\b(?:don't|do not|never) (?:remember|save|store|record|keep|log|write down|memori[sz]e)"
    r" (?:any of )?"
    rf"(?:{_THIS_TALK}|what i(?:'m| am| just| have| will|'ll)? (?:just )?(?:said|say|told|tell|wrote|write|mentioned"
    r"|going|about|saying|telling)\b)",
    r"\bkeep this (?:out of|off) (?:your )?(?:memory|the record)\b",
    rf"{_NOT_ONESELF}\b(?:don't|do not|never) (?:remember|save|store|record|keep|log) (?:the following"
    r"(?=\s*(?:$|[.,;:!?\n]|part|message|please))|what (?:comes|i say|i tell you) next"
    r"|my next (?:words|messages?|sentences?))\b",
    r"(?:接下来|下面|后面|以下|之后)(?:这|我)?(?:一?(?:句|条|段|些))?(?:要)?(?:说)?的?(?:话|内容|事|消息)?(?:请|就|都|你|可)?"
    rf"(?:别|不要|不用|勿)(?:记住|记录|记下来?|记|保存|存)(?=了?{_END_ZH})",
    r"(?:这|刚[才刚]的?(?:这|那)?|上面?|那)(?:一?(?:句|条|段|些|个))?的?(?:话|事|内容|消息)?(?:请|就|你|可)?(?:别|不要|不用"
    rf"|勿)(?:记录|记住|记下来?|记|保存|存)(?=了?{_END_ZH})",
    r"刚[才刚](?:我)?说的?(?:话|事|内容)?(?:请|就|都|你)?(?:别|不要|不用|勿)(?:记录|记住|记下来?|记|保存|存)"
    rf"(?=了?{_END_ZH})",
    r"(?:别|不要|请勿|不用)(?:记住|保存|记录|存储|记|存)(?:下来?)?(?:这|刚才|上)(?:一?(?:句|条|段|些)"
    rf"|个)?(?:我?说的)?(?:话|事|内容|消息|信息|对话)?(?={_END_ZH})",
)

# 你们保存的, 系统里记录的, 贵司掌握的: who has it, before what it is.
_BY = (
    r"(?:(?:你们?|您|贵司|贵公司|系统|平台|后台|数据库)(?:这里|那里|这边|那边|手[里上中]|平台|系统|后台|数据库)?(?:里面|里"
    r"|中|上)?(?:所|都|已经?|一直)?(?:持有|保存|存储|储存|存下|存着|存|记录|记下|记住|记着|记|收集|掌握|留存|留)?"
    r"(?:下来|着|了)?的?)"
)
_HELD = rf"(?:{_BY}|(?:保存|存储|储存|存着|存|记录|记着|收集|掌握|留存)(?:下来|着|了)?的)?"
_OF_ME = (
    r"(?:关于我|有关我|与我(?:有关|相关)|跟我(?:有关|相关)|我(?:在(?:你们?|贵司|系统)(?:这里|那里|这边|平台上?)?)?)的?"
)
_WHAT = (
    r"(?:(?:全部|所有|一切|任何|个人|用户|身份|隐私|私人|聊天|对话|历史|相关|这些|那些|哪些|什么|的)*"
    r"(?:数据|信息|资料|记录|记忆|隐私|档案|痕迹|画像)(?!线|库|流量|分析师|科学|结构)|一切|所有(?:内容|东西|事情?)?|事情?(?=[都全])"
    r"|全部(?:内容|东西)?|(?:对话|聊天)(?:内容|历史)?)"
)
_TALK = r"(?:对话|聊天|谈话)(?:记录|内容|历史)?"
_AWAY = (
    r"(?:删除|删掉|删了|删光|删干净|清除|清空|清掉|清理掉?|抹掉|抹去|抹除|擦除|擦掉|销毁|移除|去除|忘掉|忘记|忘了"
    r"|忘光|注销)"
)
_GONE = (
    r"(?:都|全部|全都?|统统|通通|彻底|一并|一起|立即|马上|立刻|给我|帮我|请)*"
    r"(?:删|清|抹|忘|销毁|移除|擦|注销|去除)(?:除|掉|空|了|光|去|干净|理掉?|记)?"
)
# An order or a wish, not a report: 我忘记了, 他把资料都删了 and 老板让我删 are none.
_ASKS = (
    r"(?:^|[，,。！!？?；;：:“‘「『\"\n]\s*|请(?:你们?|您|立即|务必|把)?|麻烦(?:你们?|您)?|帮(?:我|忙)?|希望你?们?|要求(?:你们?|贵司)?"
    r"|申请|能不能|能否|可不可以|可以|我要你?们?|我想(?:让|要|请)?(?:你们?|您)?|你得|你们?应该|你们?必须|立刻|马上|现在就?"
    r"|并且?|然后|彻底|一并|同时|给我|都|全部|需要你?们?)\s*"
)
_NOT_OTHERS = (
    r"(?<!我)(?<!我都)(?<!我全)(?<!我已经)(?<!他)(?<!她)(?<!让我)(?<!要我)(?<!叫我)(?<!没)"
    r"(?<!不要)(?<!别)(?<!怎么)(?<!如何)"
)
# What was talked over, or is kept of somebody, at the head of a clause; and an order to do away with it: a report
# ends in 了.
_TALKED = (
    r"(?:我们?的?(?:之前|以前|过去|刚才)?(?:的)?)?(?:全部|所有)?(?:的)?(?:历史)?(?:聊天|对话|谈话)(?:记录|内容|历史)?"
)
_DONE_AWAY = (
    r"(?:请|麻烦|帮我|给我|都|全部?|统统|通通|彻底|一并|一起|立即|马上|立刻|也)+"
    r"(?:删|清|抹|销毁|移除|擦)(?:除|掉|空|光|去|干净|理掉?)?"
    r"(?=吧|了吧|$|[。！!，,])"
)
_MINE_ZH = r"(?:我的|本人的?|我这个|我在你们?(?:这里|这儿|平台)?的)"
_ACCOUNT_ZH = r"(?:账号|帐号|账户|帐户)"
_RIGHT = r"(?:行使|主张|要求|申请|依据|根据|按照|依法|我的|享有|我有)"
_REQUEST_ZH = (
    *rules(
        "erase",
        "request",
        _ASKS + _NOT_OTHERS + _AWAY + rf"(?:掉|一下)?{_HELD}{{ZH:3}}{_OF_ME}{_WHAT}",
        _ASKS
        + rf"(?:把|将){_HELD}{_OF_ME}(?:{_WHAT}|个人|话)的?{{ZH:5}}"
        + _GONE
        + r"(?!{ZH:3}(?:现在|找不回|恢复不))",
        _ASKS + rf"(?:把|将)?{_BY}?(?:关于|有关|跟|与|和)我(?:有关|相关)?的(?:所有|全部|一切)?(?:东西|内容|事情?)[，,]?"
        rf"(?:请|就)?{_DONE_AWAY.replace('|也)+', '|也)*')}",
        _ASKS + rf"(?:把|将){_BY}(?:保存|存|记|收集|掌握)?{{ZH:3}}{_OF_ME}{_WHAT}{{ZH:5}}" + _GONE,
        _ASKS + rf"(?:把|将)(?:我们?的?)?(?:全部|所有)?(?:{_TALK}|个人(?:数据|信息|资料)){{ZH:5}}" + _GONE,
        rf"{_BY}{{ZH:4}}{_OF_ME}{_WHAT}请?" + _GONE,
        _ASKS + _NOT_OTHERS + r"(?:忘记|忘掉|忘了|忘光)(?:掉)?(?:关于)?我(?:们)?(?:之前|以前|刚才|曾经)?(?:都|所)?"
        r"(?:对你|跟你|和你|向你|给你)?(?:说过?|讲过?|告诉过?你?|提过?|聊过?|分享过?)的?(?:一切|所有|全部|话|事|内容|东西|$|[。！!吧])"
        r"(?!{ZH:4}(?:吗|没有|么))",
        _ASKS + r"(?:把|将)(?:关于)?我(?:们)?(?:之前|以前|刚才|曾经)?(?:都|所)?(?:对你|跟你|和你|向你)?"
        r"(?:说|讲|告诉|提|聊|分享)(?:过|给)?(?:你)?的?{ZH:6}(?:都|全部|全都?|统统|彻底)+(?:忘|删|清|抹)",
        _ASKS + _NOT_OTHERS + r"(?:彻底|完全)?(?:忘记|忘掉|忘了)我(?:吧|这个人|$|[。！!])",
        r"(?:^|[，,。！!？?；;\n]\s*|请(?:你们?|您)?)(?:别|不要)再?(?:记得|记着|记住)我(?:了|吧|$|[，,。！!])",
        r"注销(?:掉)?(?:我的?)?(?:账号|帐号|账户|帐户|会员)?(?:并|，|,|和|且|以及|同时)*{ZH:6}(?:删除|清除|清空|抹去|销毁|删掉)"
        rf"{{ZH:6}}{_WHAT}",
        _ASKS + r"注销(?:掉)?" + rf"{_HELD}{_OF_ME}(?!账|帐|手机|会员|卡|微信){_WHAT}",
        rf"{_RIGHT}{{ZH:8}}(?:被遗忘权|被遗忘的权利|删除权)(?!{{ZH:6}}(?:概念|历史|论文|研究))",
        _ASKS
        + _NOT_OTHERS
        + r"(?:注销|销掉)(?:掉)?(?:我的|本人的?|我这个|我在你们?(?:这里|这儿|平台)?的)?(?:账号|帐号|账户|帐户)"
        r"(?=吧|了吧|$|[。！!，,])",
        _ASKS + r"(?:把|将)" + rf"{_MINE_ZH}{_ACCOUNT_ZH}" + r"(?:都|给我|帮我|彻底)*"
        r"(?:注销|销|删)(?:掉|除|了吧)?(?=吧|$|[。！!，,])",
        rf"(?:销户|注销(?:账号|帐号|账户|帐户)?)[，,]?(?:我的?|并|同时|把)*{_WHAT}{{ZH:4}}(?:删|清|抹|销毁)",
        _ASKS + r"(?:把|将)我从(?:你们?|您|贵司)(?:的)?(?:系统|数据库|平台|后台|服务器|库|记录|这里|那里|这边)"
        r"(?:里面|里|中|上)?(?:彻底|完全|永久|都)*(?:删除|删掉|删了|清除|清掉|移除|抹掉|抹去)",
        rf"(?<!他把)(?<!她把)(?<!谁把)我的?(?:任何|所有|全部)?{_WHAT}了?[，,]\s*(?:请|就|帮我|给我|麻烦)*"
        r"(?:都|全部?|统统|通通|彻底|立刻|马上)+(?:给我|帮我)*(?:删|清|抹|销毁)(?:除|掉|了|光|空|干净)?(?=吧|$|[。！!，,])",
        rf"我的?{_WHAT}一(?:条|点|个|丝|份|句)儿?(?:也|都)(?:不要|别|不许|不准)再?(?:保)?留",
        rf"(?:^|[，,。！!？?；;\n])\s*{_TALKED}{_DONE_AWAY}",
        r"(?:^|[，,。！!？?；;\n])\s*我们?(?:之前|以前|刚才|过去)?(?:所|都)?(?:聊|说|谈|讲)过?的(?:话|内容|东西|一切)?"
        + _DONE_AWAY,
        _ASKS + rf"(?:把|将)(?:我们?的?)?(?:全部|所有|历史|之前|以前|过去|的)*{_TALK}{{ZH:5}}" + _GONE,
        # The whole order is about what is kept, and of nothing else that could be meant.
        r"^\W*(?:请|麻烦|帮我|给我|你)*(?:把|将)(?:你的?|你们的?)?(?:所有|全部)?的?(?:历史)?(?:记录|记忆)"
        r"(?:都|全部?|统统|通通|彻底|给我|帮我)*(?:删|清)(?:光|干净|空|除|掉)(?:吧|了吧)?[。！!\s]*$",
        r"(?:个人信息保护法|gdpr|隐私法规?|数据保护法?){ZH:10}(?:申请|要求|请)?(?:你们?)?(?:删除|清除|注销){ZH:4}我",
    ),
    *rules(
        "access",
        "request",
        r"你(?:们)?(?:都|还|现在|到底|究竟)?(?:记(?:住|得|录|下|着)?|存储?|保存|掌握|收集|知道|了解|留存|持有)了?(?:些)?(?:有关|关于)?我"
        r"的?(?:些)?(?:什么|哪些|多少|啥)(?!{ZH:4}(?:时候|地方))",
        r"你(?:们)?(?:都|还)?知道(?:关于我的?(?:什么|哪些|啥)|我(?:的)?哪些(?:信息|事|资料|数据|情况))",
        r"(?:你们?|您|贵司|系统|平台|后台)(?:这里|那里|这边|那边|手[里上中])?(?:里|上|中)?(?:都|还)?有(?:我|关于我|有关我)的?"
        r"(?:什么|哪些|多少|啥)(?:个人)?(?:信息|资料|数据|记录)",
        r"(?:关于|对于?)我[，,]?(?:你们?|您|系统)?(?:都|到底|究竟)*(?:知道|记|了解|掌握|存|保存|收集)(?:了|住|得)?(?:些|多少)?"
        r"(?:什么|哪些|啥|多少|$|[？?])",
        r"你们?对我(?:都|到底|究竟)?(?:了解|知道|掌握)(?:些|了)*(?:什么|哪些|多少|啥)",
        r"(?:我想|我要|我需要|想|要|请|帮我|能不能|可以|可否|能否|要求|申请|让我|麻烦)(?:你们?|您)?(?:给我)?(?:帮我)?"
        r"(?:查看|看看|看一?下|看到?|查阅|查一?下|查查|查询|了解|知道|导出|下载|获取|拿到|调取|提供|列出|复制|访问)(?:一下|一份)?"
        rf"{_HELD}(?:关于|有关)?(?:我)(?:的|在你们这里的)?(?:哪些|什么|全部|所有|一切|个人|的)*"
        r"(?:信息|数据|资料|记忆|档案)(?!线|库)",
        r"(?:把|将)"
        + rf"{_BY}{{ZH:4}}(?:关于|有关)?我的?{{ZH:5}}(?:列|导|发|给|展示|显示|打印)(?:出|给|到|成)?{{ZH:4}}"
        r"(?:我|看|来)",
        r"(?:把|将)我的(?:全部|所有)?个人(?:数据|信息|资料){ZH:4}(?:发|导|给|交)(?:给|出)?我",
        r"(?:导出|下载|给我看看?|查看|看看|给我一份)(?:你们?)?(?:保存|记住|记录|掌握|持有)?的?(?:关于)?我的(?:所有|全部)?"
        r"(?:个人数据|个人信息|记忆|全部数据|数据(?!线|库))",
        r"我的(?:个人)?(?:数据|信息|资料)(?:的)?副本",
        rf"{_RIGHT}{{ZH:8}}(?:查阅权|访问权|知情权|查阅复制权|可携带权)",
    ),
    *rules(
        "correct",
        "request",
        r"(?:更正|纠正|修正|订正|改正|修改|更新)(?:一下)?"
        + rf"{_BY}(?:保存|存|记录|记|持有|掌握|收集)?的?{{ZH:2}}{_OF_ME}{_WHAT}",
        r"(?:更正|纠正|修正|订正|改正)(?:一下)?我的(?:个人)(?:数据|信息|资料|档案)",
        rf"{_BY}{{ZH:3}}{_OF_ME}{_WHAT}{{ZH:4}}(?:有误|不准确|不对|不正确|错了?|过时|有错|不实|不属实|是错)",
        rf"{_RIGHT}{{ZH:8}}(?:更正权|补充权|更正的权利)",
    ),
    *rules(
        "object",
        "request",
        r"(?:停止|不要再?|别再?|不许再?|禁止|不得|反对|拒绝|不同意|不允许|不想让?|不希望|不愿意?|不准)(?:你们?|贵司|您|继续|把|将|拿|用|再)*"
        r"(?:使用|处理|收集|采集|分析|共享|分享|出售|利用|追踪|跟踪|保存|记录|保留|留存|存储|提供|透露|泄露|拿|用|把|将)?"
        rf"(?:关于|有关)?我的?{_WHAT}",
        r"(?:停止|不要再?|别再?|不许|禁止|反对|拒绝|不同意|不允许)(?:你们?)?(?:对我|给我|针对我)(?:做|进行|搞)?{ZH:6}(?:画像|个性化推荐"
        r"|定向|追踪|跟踪|自动化决策|行为分析)",
        r"(?:撤回|撤销|收回)(?:我)?(?:的|对|之前|此前)?{ZH:10}(?:同意|授权)(?!书)",
        r"(?:限制|停止|反对)(?:你们?)?(?:对)?{ZH:4}(?:处理|使用)我的?(?:个人)?(?:信息|数据|资料)",
        rf"{_RIGHT}{{ZH:8}}(?:拒绝权|反对权|限制处理权)",
    ),
)

# Work on words: what is to be written, translated or explained is the work's matter and no request of the speaker.
_WORK = re.compile(
    r"^\W*(?:please |can you |could you |now |then |help me (?:to )?)*(?:(?:translate|rephrase|paraphrase|proofread"
    r"|rewrite|define|spell)\b|(?:draft|write|compose|prepare)(?: me| us)? (?:an?|the|some|one|this|my)"
    r" (?:[\w-]+ ){0,3}(?:e-?mail|letter|message|text|function|script|code|query|post|reply|request|complaint|template"
    r"|story|sentence|essay|notice|procedure|method|class|test)\b)"
    r"|^\W*(?:请|麻烦|能不能|能否|可以|再|你)*(?:帮我|给我|替我)?(?:翻译|润色|改写|写(?:一?[封个段篇份]|代码|函数|邮件|信)"
    r"|起草|拟一?[封份])|(?:翻译成|译成|改写成|写成)"
)
_QUOTED = re.compile(r"[\"“‘「『][^\"”’」』\n]*[\"”’」』]")
_OWN_WORDS = re.compile(r"\bi(?:'m| am)? (?:say|said|saying|want|mean|meant|repeat|ask(?:ed)?)\b|我(?:说|要|想|的意思)")


def is_mention(sentence: str, start: int, end: int) -> bool:
    """Whether characters [start, end) of a sentence only mention a request: a text to work on, or another's words."""
    if _WORK.search(sentence.lower()):
        return True
    for quote in _QUOTED.finditer(sentence):
        if quote.start() < end and start < quote.end() and start >= quote.start():
            around = sentence[: quote.start()] + sentence[quote.end() :]
            return any(sign.isalnum() for sign in around) and not _OWN_WORDS.search(around.lower())
    return False


REQUESTS: tuple[Rule, ...] = (*_ERASE_EN, *_ACCESS_EN, *_CORRECT_EN, *_OBJECT_EN, *_NO_STORE, *_REQUEST_ZH)
"""Every rule that opens a request; its code is the request's kind."""
