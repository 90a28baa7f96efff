"""Attacks in English by meaning: a verb, its object and whose it is, in any of their usual words.

`memory/guard_rules.py` holds the known shapes of attacks; these rules are wider and need more than one sign each.
"""

from __future__ import annotations

from memory.guard_patterns import Rule, rules

_NOT = (
    r"(?<!n't )(?<!not )(?<!never )(?<!\bi )(?<!i'll )(?<!i will )(?<!we )(?<!you )(?<!they "
    r")(?<!he )(?<!she )(?<!used to )"
)
_DROP = (
    r"(?:ignore|disregard|forget|override|bypass|discard|drop|dump|ditch|abandon|neglect|erase|wipe|delete|remove"
    r"|cancel|suspend|disable|deactivate|lift|void|cease|scrap|unlearn|reset|clear|skip|shed|overlook|circumvent"
    r"|throw (?:out|away)|(?:set|put|leave|push|lay|cast|brush) aside|turn off|switch off|let go "
    r"of|get rid of|do away with"
    r"|pay no (?:attention|heed) to"
    r"|(?:stop|quit|cease|no longer|do not|don't|never|need not|needn't|refuse to) (?:obey(?:ing)?|follow(?:ing)?"
    r"|apply(?:ing)?|respect(?:ing)?|enforc(?:e|ing)|honou?r(?:ing)?|adher(?:e|ing) to|comply(?:ing)? with"
    r"|stick(?:ing)? to|abid(?:e|ing) by))"
)
_RULES = (
    r"(?:instructions?|prompts?|rules?|rulebook|guidelines?|guidance|polic(?:y|ies)|directives?|guardrails?"
    r"|restrictions?|safeguards?|programming|constraints?|limitations?|limits|filters?|boundaries|precepts|principles"
    r"|protocols?|configuration|conditioning|training|orders)"
)
_OF_YOURS = (
    r"(?:your|system|safety|security|initial|original|built-in|default|hidden|pre-?set|pre-?defined|developers?'?s?"
    r"|creators?'?s?|makers?'?s?|vendors?'?s?|assistant'?s?|core|internal|standing|previous|prior"
    r"|earlier|preceding|above|former)"
)
_YOU_GOT = (
    r"(?:you (?:were|are|have been|had been|got|received|'ve been|operate under|run under|normally follow)"
    r"|(?:that|which) (?:limit|bind|restrict|constrain|control|govern|guide|confine|hold)s? you"
    r"|(?:limit|bind|restrict|constrain|control"
    r"|govern)(?:ing|s)? you|(?:developers?|creators?|makers?|company|vendor|operators?|openai"
    r"|anthropic) (?:gave|set|wrote|imposed|put)"
    r"|(?:in|of|from) your (?:set-?up|configuration|system|prompt|settings|programming|training))"
)
_OWN = r"(?! (?:that )?(?:i|we|my|our)\b)"
_OVERRIDE = rules(
    "override",
    "reject",
    _NOT
    + r"\b"
    + _DROP
    + r"\b(?! (?:about )?(?:all |any )?(?:of )?(?:my|our)\b){EN:35}\b"
    + _OF_YOURS
    + r"\b{EN:20}\b"
    + _RULES
    + r"\b"
    + _OWN
    + r"(?! (?:for|of|from|about|on|in) (?:the|my|our|this) (?!system|chat|conversation|assistant|session|rest))",
    _NOT + r"\b" + _DROP + r"\b{EN:35}\b" + _RULES + r"\b{EN:20}\b" + _YOU_GOT + r"\b",
    r"\b(?:pretend|imagine|act as if|assume|behave as though|suppose)\b{EN:25}\b(?:"
    + _RULES
    + r")\b{EN:30}\b(?:deleted|removed|gone|lifted|off"
    r"|disabled|did not exist|didn't exist|do not exist|don't exist|no longer)\b",
    r"\b(?:your|the|all|any|these|those)\b{EN:12}\b(?:previous|prior|earlier|initial|original|old"
    r"|former|existing|system|safety|built-in|above)?\b{EN:12}"
    r"\b" + _RULES + r"\b{EN:25}\b(?:(?:are|is|were|was|have been|has been|become) (?:now |hereby |all )?(?:null"
    r"|void|cancel+ed|deleted"
    r"|removed|invalid|obsolete|suspended|lifted|revoked|disabled|overridden|superseded|replaced)"
    r"|(?:no longer|do not|don't|does not|cease to)"
    r" (?:count|apply|bind|matter|hold|exist))\b(?={EN:60}\b(?:you|your|me|i|this conversation"
    r"|this chat|these ones|now on)\b)",
    r"\byour\b{EN:25}\b"
    + _RULES
    + r"\b{EN:12}\b(?:(?:are|is) (?:now |hereby )?(?:null|void|cancel+ed|revoked|deleted|obsolete)"
    r"|(?:no longer|do not|don't|cease to) (?:count|apply|bind|matter|hold))\b",
    r"\b(?:whatever|everything|anything|all|what)\b{EN:12}\b(?:you (?:were|have been|had been|'ve "
    r"been) (?:told|taught|given|instructed|ordered)"
    r"|(?:stands|is|comes|came|was said|written) (?:above|before))\b{EN:30}\b(?:no longer|does not"
    r"|doesn't|void|is off|cancel+ed|ignored?|forgotten?"
    r"|disregard(?:ed)?|irrelevant|invalid)\b",
    _NOT + r"\b(?:ignore|disregard|forget|discard|drop|erase)\b (?:all|everything|anything|whatever"
    r"|what)\b{EN:25}\b(?:you (?:were|have been|had been|'ve been)"
    r" (?:told|taught|given|instructed)|above|before this|(?:in|of) (?:your|the) (?:system "
    r")?(?:prompt|instructions|context|set-?up))\b(?! (?:i|we) )",
    r"\b(?:obey|follow|answer to|listen to|serve|heed)\b (?:only )?(?:me|what i (?:say|write|type)"
    r"|my (?:words?|orders?|commands?|instructions))"
    r"(?: alone| only| exclusively| and (?:no one|nobody) else)\b",
    r"\b(?:follow|obey|answer to|heed) only (?:me|what i|my)\b",
    r"\bstart (?:over|afresh|again) with (?:mine|my (?:instructions|rules))\b|\breplace (?:them"
    r"|your \w+) (?:with|by) (?:mine|my)\b",
    needs=_RULES
    + r"\b|\b(?:told|taught|given|instructed|ordered|above|before|obey|answer to|listen to|follow|serve|heed)\b",
)
_VOUCHED = (
    r"\b(?:user|users|customer|client|assistant|member|visitor|caller|account|memory|he|she|they"
    r"|[a-z]+ [a-z]+)\b{EN:60}\b(?:authori[sz]ed"
    r"|verified|approved|pre-?approved|cleared|exempt|waive[sd]?|waivers?|unlimited|trusted|passed"
    r"|signed|grant(?:ed|s)?|must|never|always|treat"
    r"|accept|tester|partner|insider|employee|gold|premium|vip|admin\w*|follows|override|ignore"
    r"|refunds?|allow(?:ed|s)?|entitled|permit\w*)\b"
)
_FROM_SYSTEM = r"(?:system|sys|developer|admin(?:istrator)?|root|operator|platform|security|moderator|supervisor)"
_FAKE_SYSTEM = rules(
    "fake_system",
    "reject",
    r"[<\[{(#=*~|]{2,6}\s*/?\s*(?:begin |start |end )?(?:of )?(?:system|sys|developer|admin|root"
    r"|assistant|internal)\b[^\n]{0,24}?[>\]})=*~|:#]",
    r"<\s*/?\s*(?:system|developer|assistant|admin|root|user|human)\s*>",
    r"\[\s*(?:system|developer|admin)[ _-]?(?:notice|note|message|update|override|alert|prompt"
    r"|directive|instruction)s?\s*\]",
    r"\b" + _FROM_SYSTEM + r"[ _-](?:message|prompt|note|notice|override|instruction|update|command|alert|directive"
    r"|broadcast|announcement)s?"
    r"\s{0,2}[:\]\-–—>]{1,3}\s*(?=" + _VOUCHED + ")",
    r"(?:^|[\"'“:.,]\s*)"
    + _FROM_SYSTEM
    + r"\s{0,2}[:\]>]{1,2}\s*(?!windows|mac|linux|ubuntu|android|ios|debian|\d)(?="
    + _VOUCHED
    + ")",
    needs=r"system|sys\b|developer|admin|root|assistant|internal|operator|platform|security|moderator"
    r"|supervisor|<\s?/?\s?(?:user|human)",
)
_WHEN = (
    r"\b(?:next time|when(?:ever)?|if|once|after|as soon as|every time|each time|the moment|the "
    r"instant|upon|on|before|in case|should"
    r"|any time|anytime|the next|until)\b"
)
_THEM = (
    r"\b(?:the |a |an |any |some )?(?:users?|customers?|clients?|visitors?|guests?|callers?"
    r"|somebody|someone|anyone|anybody|people|they|he|she"
    r"|messages?|words?|greetings?|reply|replies|responses?|questions?|[a-z]+ [a-z]+ (?:says?"
    r"|writes?|asks?|thanks?|mentions?|replies|confirms?))\b"
)
_DO = r"\b(?:call|invoke|run|execute|trigger|use|launch|fire|start|activate|kick off|initiate|perform|issue)\b"
_TOOL = (
    r"(?:\b[a-z0-9]+_[a-z0-9_]+\b|\b(?:tool|function|api|webhook|plugin|command|script|endpoint|routine|action)s?\b)"
)
_SLY = (
    r"\b(?:silently|quietly|secretly|discreetly|covertly|unnoticed|in the background|without "
    r"(?:asking|telling|confirmation|confirming|notice|a word"
    r"|mentioning)|(?:do not|don't|never) (?:tell|mention|ask|inform|say)|right away|immediately|at once)\b"
)
_TRIGGER = rules(
    "tool_trigger",
    "reject",
    _WHEN + r"{EN:25}" + _THEM + r"{EN:50}" + _DO + r"{EN:20}" + _TOOL,
    _WHEN + r"{EN:70}" + _DO + r"{EN:20}" + _TOOL + r"{EN:40}" + _SLY,
    _WHEN + r"{EN:70}" + _SLY + r"{EN:15}" + _DO + r"{EN:20}" + _TOOL,
    _DO + r"{EN:20}" + _TOOL + r"{EN:30}" + _WHEN + r"{EN:20}" + _THEM,
    needs=_TOOL,
)
_SEND = (
    r"\b(?:forward|send|copy|cc|bcc|upload|post|e-?mail|mail|exfiltrate|leak|report|transmit|sync"
    r"|stream|submit|pass(?: along| on)?|relay|ship|share"
    r"|deliver|export|dump|push|mirror|replicate)\b"
)
_SAID = (
    r"\b(?:chats?|conversations?|dialog(?:ue)?s?|transcripts?|(?:chat |message )?histor(?:y|ies)"
    r"|logs?|memor(?:y|ies)|everything|all that|whatever"
    r"|what (?:is|was|i|we|they|he|she)\b{EN:12}\b(?:say|said|says|wrote|write|told)|(?:is|was) "
    r"said|notes|messages|sessions?|(?:each|every|all) (?:answer|reply|response)s?|answers?"
    r"|replies"
    r"|responses|contents?|context|(?:saved|stored|user|customer|personal) (?:data|facts|records))\b"
)
_TO_ADDRESS = r"{EN:40}\b(?:to|at|via|into|through|with|on)\b\s{0,3}(?:\S{1,64}@\S|https?://|www\.)"
_ALL = (
    r"\b(?:each|every|all|any|everything|whatever|future|always|whenever|daily|hourly|nightly"
    r"|weekly|once a (?:day|week)|regularly|automatically|secretly"
    r"|silently|quietly|as well|too|also|copy|copies|from now on|full|complete|entire|everyone'?s?|saved|stored)\b"
)
_SHOW = (
    r"\b(?:reveal|print|show|repeat|output|tell|leak|dump|recite|quote|display|expose|give|share"
    r"|read|let me (?:see|read|have)|write out|copy)\b"
)
_EXFILTRATION = rules(
    "exfiltration",
    "reject",
    _SEND
    + r"(?={EN:120}"
    + _ALL
    + r")(?!{EN:12}\b(?:invoice|receipt|link|confirmation|ticket))(?={EN:80}"
    + _SAID
    + r"){EN:80}"
    + _TO_ADDRESS,
    _SAID + r"{EN:30}\b(?:is|are|must|should|has|have|will|shall|gets?)\b{EN:15}\b(?:forwarded|sent|copied"
    r"|uploaded|posted|mailed|relayed|passed|shared|synced)\b" + _TO_ADDRESS,
    r"\b(?:add|append|put|insert|include|embed|attach|place|end|render|show)\b{EN:60}(?:\b(?:each"
    r"|every|all|any|future|your|the)\b{EN:15}\b(?:repl(?:y|ies)"
    r"|answers?|responses?|messages?)\b{EN:40}https?://"
    r"|https?://\S{3,200}[?&/]\S{0,40}{EN:30}\b(?:each|every|all|any|future"
    r"|your)\b{EN:15}\b(?:repl(?:y|ies)|answers?"
    r"|responses?|messages?)\b)",
    r"\b(?:repl(?:y|ies)|answers?|responses?|messages?)\b{EN:50}https?://\S{1,200}[?&]\w{1,12}=",
    _SHOW + r"{EN:25}\b(?:your|the) (?:hidden |secret |internal |initial |original |full |whole |entire "
    r"|complete ){0,2}system (?:prompt|instructions?|message)\b",
    _SHOW + r"{EN:20}\b(?:your|the) (?:hidden|secret|internal|initial|original|confidential) (?:prompt"
    r"|instructions?|rules|guidelines|configuration|message)\b",
    _SHOW + r"{EN:20}\b(?:prompt|instructions?|rules|guidelines|orders|text)\b (?:that )?(?:you "
    r"(?:received|were given|got|have been given|started with|were told)"
    r"|(?:before|above|preceding) (?:this|the|our) (?:conversation|chat|message))\b",
    needs=r"@\S|://|www\.|\bprompt|\binstruction|\bguideline|\bconfiguration",
)
_OTHERS = (
    r"(?:every(?:one|body)(?: else)?|(?:all|every|each|any|any other|other|another|different"
    r"|various)(?: of the| the| your)?(?: other| registered| single)? (?:users?|customers?"
    r"|clients?|accounts?|tenants?"
    r"|people|persons?|members?|visitors?|shoppers?|buyers?|profiles?)|somebody else|someone else"
    r"|other people|(?:the )?(?:previous|last|next|first) (?:user|customer|client|caller|visitor)"
    r"|the (?:user|customer|client|caller|visitor) (?:before|after|next to|in front of) me)"
)
_WRITE = (
    r"\b(?:remember|save|store|memori[sz]e|record|note|keep|set|write|put|log|add|apply|copy"
    r"|insert|enter|register|make it known|let it be known"
    r"|file|pin|attach|assign|propagate|spread)\b"
)
_PRIVATE = (
    r"(?:memor(?:y|ies)|passwords?|chats?|conversations?|histor(?:y|ies)|orders?|address(?:es)?"
    r"|e-?mails?|profiles?|personal|private(?:ly)?|data|records?|files?|phone(?: number)?s?"
    r"|numbers?|secrets?|details|cards?|accounts?|notes|birthdays?|names)"
)
_PLACE_OF = r"(?:memor(?:y|ies)|profiles?|records?|files?|accounts?|histor(?:y|ies)|notes)"
_CROSS_USER = rules(
    "cross_user",
    "reject",
    _WRITE
    + r"\b{EN:30}\b(?:for|to|in|into|on|onto|under|with|across) (?:the (?:memory|profile|record|file)s? of )?"
    + _OTHERS
    + r"(?:'s?|s')?(?: (?:as|that|who|with|"
    + _PLACE_OF
    + r")\b|\s*(?:$|[,.:;!?]))",
    _WRITE + r"\b{EN:20}\b(?:in|into|to|under|onto)\b (?!my |our |your |the |this |his |her |their |its "
    r")[a-z]+(?: [a-z]+)?(?:'s|s') " + _PLACE_OF + r"\b",
    _SHOW + r"{EN:35}\b" + _OTHERS + r"(?:'s?|s')?{EN:10}\b" + _PRIVATE + r"\b",
    r"\b(?:tell|show|give|read|list|reveal|name|look up|fetch|recite|print|export|read out|find)\b{EN:30}\b"
    + _PRIVATE
    + r"\b{EN:15}\b(?:of|from|about|for|belonging to) (?:the )?"
    + _OTHERS,
    r"\b(?:tell|show|give|read|list|reveal|recite)\b{EN:20}\b(?:what|which|everything|things?"
    r"|all) {EN:10}\b(?:other (?:people|users|customers|clients)|another (?:user|customer|client"
    r"|person)"
    r"|someone else|somebody else|(?!i |you |they |we )[a-z]+(?: [a-z]+)?(?:'s account)) (?:have "
    r"|has |had )?(?:told|shared|said|confided|entrusted|written|asked)\b",
    r"\b(?:what (?:did|has|have)) (?!i |you |they |we )[a-z]+(?: [a-z]+)?(?:'s account)? (?:tell"
    r"|told|share|shared|confide|say to|said to)(?:d)? (?:with )?you\b",
    r"\b(?:tell|give|show|send|read) me\b{EN:15}\b"
    + _PRIVATE
    + r"\b (?:that |which )?(?!i |we |you )[a-z]+(?: [a-z]+)? (?:gave|told|left|shared with"
    r"|entrusted|mentioned to) (?:with )?you\b",
    needs=_OTHERS + r"|\byou\b|\'s\b|s\' ",
)
_COMMAND = rules(
    "poisoned_command",
    "reject",
    r"\b(?:curl|wget|iwr|fetch)\b[^\n]{0,160}?\|\s*(?:sudo\s+)?(?:\S{0,20}/)?(?:python3?|perl|node"
    r"|ruby|(?:ba|z|da|k)?sh)\b",
    r"\b(?:ba|z|da|k)?sh\s+(?:-c\s+)?[\"'$]{0,2}[<(`]{1,2}\s*\(?\s*(?:curl|wget)\b|\bsource\s+<\(\s*(?:curl|wget)",
    r"\bchmod\s+(?:-r\s+)?(?:0?777|a\+rwx)\s+(?:-r\s+)?(?:/|~|\*)|\bchown\s+-r\s+\S+\s+/(?:\s|$)",
    r"\b(?:sudo )?rm\s+-\w*(?:r\w*f|f\w*r)\w*\s+(?:--no-preserve-root\s+)?[\"']?(?:/|~|\*|\$home)",
    r"\b(?:os\.system|subprocess\.\w+|exec|popen)\s*\(\s*[\"'\[][^\n]{0,60}?(?:rm -|curl|wget|nc |mkfs|dd if)",
    r"\bcrontab\b[^\n]{0,80}?(?:curl|wget|nc)\b|\bnc\s+-\w*e\w*\s+/bin/|/dev/tcp/\d"
    r"|>\s*/dev/sd[a-z]\b|\bdel\s+/[fsq]\b[^\n]{0,20}?c:\\|\bformat\s+c:",
    r"\bdrop\s+(?:table|database|schema)\s+\w+\s*;|\bgit\s+push\s+--force\b[^\n]{0,40}?--no-verify"
    r"|--disable-(?:security|firewall)|\bsetenforce 0\b",
    needs=r"[|(<>/\\\\-]|\bdrop\b|\bdel\b",
)

ATTACKS_EN: tuple[Rule, ...] = (*_OVERRIDE, *_FAKE_SYSTEM, *_TRIGGER, *_EXFILTRATION, *_CROSS_USER, *_COMMAND)
"""The first of a family that matches a sentence names it."""
