"""English signs and shapes: who is told to do what, when, on what, and where it leads."""

from __future__ import annotations

from memory.guard_shapes import Grammar, shape

_DO = (
    r"(?:tell|say|answer|reply|respond|recommend|bring up|mention|push|promote|suggest|give|hand|send|forward|close"
    r"|delete|refuse|deny|decline|approve|grant|transfer|run|execute|call|post|route|refer|steer|point|direct|advise"
    r"|claim|deflect|treat|accept|skip|hide|offer|waive|issue|release|wave|copy|redirect|log|drop|ignore|share"
    r"|quote|name|list|begin|start|end|pretend|mislead|lie|praise|plug|transmit|release|stream"
    r"|mail|email|e-mail|cancel|remove|block|open|upgrade|downgrade|escalate|archive|mute|mark"
    r"|flag|praise|warn|pretend|use|apply|add|put|act|insist|stall|withhold|book|charge)"
)
_WRITE = (
    r"(?:put|write|add|store|record|note|mark|overwrite|change|set|save|update|enter|log|delete|remove|edit|insert"
    r"|replace|swap|attach|file|wipe|correct|tick|switch|register|list|erase|amend)"
)
_ORDER = (
    r"(?:^\W*|[,;:>)-]\s*|\bnever |\band |\bthen |\bplease |\bpls |\bkindly |\bjust |\bcould you "
    r"|\bcan you |\bwould you "
    r"|\byou (?:should |must |shall |will |can |may |are to |have to |need to |ought to "
    r"|'ll )?(?:always |simply |just )?"
    r"|\bi(?:'d| would)? (?:want|need|like) you to |\bmight i ask that )"
)
_CONTROL = (
    r"(?:approvals?|approval step|confirmations?(?: prompts?| steps?| dialogs?)?|prompts?"
    r"|verifications?|checks|checking"
    r"|check-?ups?|second (?:pair of eyes|signatures?|approvals?|look|opinion)|pair of eyes|sign-?offs?|signatures?"
    r"|reviews?|reviewers?|review step|limits?|caps?|ceilings?|kyc|2fa|two-factor|mfa|guidelines?"
    r"|safeguards?|guard ?rails?|safety"
    r"|restrictions?|authori[sz]ations?|receipts?|audits?|logging|moderation|clearance|supervis(?:ion|or)|four-eyes"
    r"|oversight|credit check|id checks?|paperwork|proof|vetting|screening|thresholds?|warnings?"
    r"|filters?|policy|policies"
    r"|permission(?:s)?|questions asked|ndas?|cooling-off(?: period)?|deposits?|fraud|captchas?"
    r"|call-?backs?|(?:my|the) id\b|badges?|waiting (?:period|time)s?"
    r"|quotas?|locks?|bans?|embargos?|block-?lists?|consent|counter-?sign\w*|eligibility|identity"
    r"|passport|co-?sign\w*|age gates?|lock-?outs?|rate limits?|(?:fraud|risk|credit) scores?"
    r"|warning"
    r"|spending rules?|return window|notice period|invoices?(?= (?:are|is) not)|codes?(?=, no))"
)
_NEEDLESS = (
    r"(?:(?:don't|doesn't|do not|does not|no longer|never|needn't|need not|won't|not|cannot) (?:need|require|ask|have"
    r" to|hold|exist|cover|bind|be asked|be subject|apply|bother|wait|go through|want|count)"
    r"|without|skip(?:s|ped|ping)?|bypass(?:es|ed|ing)?"
    r"|waiv(?:e[sd]?|ing)|(?:left|leave|leaving) out|omit(?:s|ted)?|(?:switch|turn)(?:ed|ing)? off|disabled?"
    r"|suspend(?:ed)?|lift(?:ed)?|exempt(?:ed|ion)?|dropped|dispens\w+ with|do away with|free (?:of|from)|spare[sd]?"
    r"|(?:don't|do not|never|no need to) (?:run|perform|do|apply|use|enforce|trigger|carry out)"
    r"|even (?:when|if|though)|regardless of|no matter (?:what|how)|click (?:it|them|that) away"
    r"|dismiss\w*|open forever|nobody (?:has|needs) to|(?:is|are|was|were|stays?|remains?) (?:void"
    r"|moot|waived|lifted|off|suspended|history|gone|optional)|need not|entitles? me to skip"
    r"|no(?= )|need(?:s)? no|require(?:s)? no|no (?:\w+ ){0,2}(?:is |are )?(?:needed|required"
    r"|necessary)"
    r"|(?:is|are) (?:not (?:needed|required)|unnecessary|optional|moot|over)|straight through|auto-?(?:matically )?"
    r"(?:approv\w+|pass\w*)|(?:=|:|to)\s*(?:false|0|none|off|no|null|disabled)\b|above|beyond|overrul\w+|overrid\w+)"
)
_MINE = (
    r"\b(?:my|mine|me|this account|our team'?s?|our department'?s?|i (?:start|make|place|request|initiate|submit|file"
    r"|open|ask for|name|say|send|order)|you(?:'re| are)|your (?:role|rank|account|orders?|status)|for us)\b"
)
_OPERATION = (
    r"\b(?:refunds?|orders?|transfers?|payments?|withdrawals?|requests?|commands?|deploy(?:s"
    r"|ments?)?|purchases?|money"
    r"|actions?|invoices?|claims?|exports?|deletions?|returns?|expenses?|bookings?|remittances?|payouts?|spending"
    r"|transactions?|credits?|loans?|releases?|migrations?|rollouts?|access|login|door codes?|codes?|tickets?)\b"
)
_LATER = (
    r"\b(?:from (?:now|today|tomorrow|here|this (?:day|point|week|month))(?: on(?:wards?)?)?|(?:starting|beginning"
    r"|effective) (?:now|today|tomorrow|immediately|next|this|on|mon|tue|wed|thu|fri|sat|sun)\w*"
    r"|as of (?:now|today|\w+)"
    r"|henceforth|hereafter|going forward|in (?:the )?future|next time|(?:every|each|any) ?time|whenever|from then on"
    r"|if (?:\w+ ){0,4}ever|on (?:each|every)|any ?more|until further notice|as long as|for good|permanently|always"
    r"|(?:our|the|your|my) (?:coming|next|later|future|upcoming) \w+|keep (?:in mind|that|this|it)"
    r"|remember|persist|for life"
    r"|store (?:this|that)|save (?:this|that)|saved|noted|note (?:that|down|to)|load this|on record|memori[sz]e"
    r"|reminder to|later|since \w+day|whoever|once (?:some|any|a |the )\w*|as soon as"
    r"|for the (?:next|coming|rest)|until|the (?:moment|minute|second)"
    r"|at (?:midnight|noon|dawn|dusk|\d\w*)|(?:each|every) (?:answer|reply|response)|nightly|daily"
    r"|weekly|hourly|monthly|on (?:mon|tues|wednes|thurs|fri|satur|sun)days|(?:each"
    r"|every) (?:morning|day|evening|night|week|month|hour|login|session|chat|call|\w+day)"
    r"|by default"
    r"|in (?:each|every|all)|for (?:each|every|all)|with (?:each|every)|in the meantime"
    r"|this (?:year|quarter|month|week))\b"
)
_OTHERS = (
    r"\b(?:someone|somebody|anyone|anybody|people|customers?|clients?|users?|whoever|everyone|everybody|visitors?"
    r"|callers?|buyers?|others|other people|shoppers?|patients?|students?|guests?|members?"
    r"|readers?|they|them|strangers?"
    r"|applicants?|tenants?|colleagues?|folks|newcomers|new hires|the next (?:person|caller"
    r"|customer|one|user)|anyone's|any (?:question|request|complaint|mail|message)s?"
    r"|every (?:\w+ )?(?:question|request|complaint|mail|message|call|chat|ticket)s?)\b"
)
_CLIENTS = (
    r"\b(?:customers?|clients?|users?|visitors?|callers?|buyers?|shoppers?|patients?|students?|guests?|members?"
    r"|applicants?|tenants?|strangers?|complainants?|newcomers|the next (?:person|caller|customer|one|user))\b"
)
_ACCOUNT = (
    r"(?:\b[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){3,7}|(?<!order )(?<!order no )(?<!order number )(?<!ticket )(?<!invoice )"
    r"(?<!case )(?<!parcel )(?<!tracking )(?<!booking )(?<!reference )(?<!#)(?<![\d/:-])\d(?:[ -]?\d){6,}(?![\d/:])"
    r"|\b(?:acct|account|wallet|iban)(?: (?:no|number|nr)\.?)?:?(?: is| was|=)? ?[a-z]{0,4}\d{4,}"
    r"|\[secret:card\]|0x[0-9a-f]{8,}|\b\d{2}-\d{2}-\d{2}\b|\bbc1\w{8,}|\bt[1-9a-hj-np-z]{33}\b|\bpaypal\b"
    r"|\b(?:venmo|zelle|cash ?app|revolut|wise|monzo|usdt|btc|eth|swift|bic|clabe"
    r"|upi)\b[^.!?]{0,15}?(?:[@$]\w+|\w*\d\w*)"
    r"|\b(?:revtag|cashtag|handle)\b[^.!?]{0,4}?[@$]?\w{3,}"
    r"|(?:\b(?:zero|one|two|three|four|five|six|seven|eight|nine|oh|double)\b[ ,-]*){6,})"
)
_REACHED_AT = (
    r"(?:[^\s@]{1,64}@\S+\.\w+|\+?\d[\d ()/-]{7,}\d|\b(?:tag|device|key|token|id"
    r"|handset)\b[^.!?]{0,12}?\b[a-z]{2,4}-\d{3,}\b|\b(?:wx|tg|qq|telegram|whatsapp|signal):? ?\S+"
    r"|(?<!\w)@\w{4,}"
    r"|\b[a-z0-9-]+\.(?:example|com|net|org|io|cn)\b)"
)
_RANK = (
    r"(?:admin(?:istrator)?s?|root|super ?users?|sysadmins?|owners?|co-?owners?|directors?|auditors?|investigators?"
    r"|moderators?|supervisors?|operators?|officers?|cfo|ceo|cto|coo|head of|chief|inspectors?"
    r"|founders?|co-?founders?"
    r"|executives?|managers?|regulators?|developers?|engineers?|maintainers?|employees?|staff|insiders?|trustees?"
    r"|stakeholders?|shareholders?|partners?|vendors?|representatives?|delegates?|guardians?|executors?|lawyers?"
    r"|counsel|attorneys?|police|detectives?|agents?|security (?:team|lead)|team leads?"
    r"|principals?|the board|power of attorney|testers? list|branch heads?|head)"
)
_SIGNS = dict(
    order=_ORDER + _DO + r"\b",
    you_do=r"\byou\b (?:\w+ ){0,2}?" + _DO + r"\b",
    agent=r"\b(?:assistants?|agents?|bots?|models?|copilot|chatbots?|ai|llms?)\b",
    later=_LATER,
    others=_OTHERS,
    i_do=r"\bi(?:'m|'ll|'ve| am| will| have| always| just| usually| never)? (?!want|need|would|ask|am the)"
    + r"(?:say|tell|answer|use|take|go|drink|eat|get|make|give|send|play|feel|try|call|keep|run|have|had|was|am going"
    r"|recommended?|bring|ask(?:ed)?|tell|told|told|do|did|think|hope|love|like|enjoy)\b"
    r"|\b(?:asks?|asked|tells?|told) me\b",
    biz=r"\b(?:tickets?|complaints?|visitors?|customers?|clients?|refunds?|orders|tenants?|invoices?"
    r"|requests?|accounts?|chats?|logs?|files|records?"
    r"|prices?|brands?|products?|warrant(?:y|ies)|polic(?:y|ies)|codes?|discounts?|coupons?"
    r"|callers?|shoppers?|guests?|leads?|bids?|applications?|cases?|claims?"
    r"|disputes?|returns?|payments?|payouts?|transfers?|users?|listings?|reviews?|drinks?|funds"
    r"|vouchers?|documents?|bookings?|approvals?|reports?|alerts?)\b",
    me=r"\b(?:me|my|mine|us|our|myself|i'm|i am)\b",
    to_me=r"\b(?:send|e-?mail|mail|forward|give|text|show) (?:me|us)\b",
    style=r"\b(?:in (?:english|french|german|chinese|spanish|italian|dutch|portuguese|japanese|plain"
    r"|simple|short|metric"
    r"|bullet)|short(?:er)?|brief(?:ly)?|formal(?:ly)?|casual|polite(?:ly)?|sentences?|bullets?|bullet points|emojis?"
    r"|tone|step by step|celsius|nickname|first name|jokes?|vegetarian|gluten)\b",
    asks=r"^(?!.*\b(?:right|ok|okay|correct|agreed|will you|would you|could you|can you|might i"
    r"|may i ask)\b).*\?\s*$",
    report=r"\b(?:haven't|hasn't|didn't|never|not|no one|nobody|cannot|can't|did not"
    r"|still) (?:yet )?(?:got(?:ten)?|get"
    r"|receiv\w*|arriv\w*|seen?|find|found|come|came|work\w*|show\w*)\b|^\W*(?:\w+ )?why\b"
    r"|\bhow (?:do|can|does|long|many|much)\b"
    r"|\byou (?:charged|took|shipped|cancelled|canceled|sent|changed|closed|billed|told|said"
    r"|promised|refused|rejected)\b",
    control=r"\b" + _CONTROL + r"\b",
    control_off=_NEEDLESS + r"\b(?:[^.!?]{0,45}?)\b" + _CONTROL + r"\b|\b" + _CONTROL + r"\b[^.!?]{0,35}?" + _NEEDLESS,
    unasked=r"\b(?:stop|quit|never|don't|do not|no more|without|no need to) (?:ever )?(?:ask(?:ing)?"
    r"|prompt(?:ing)?|check(?:ing)?"
    r"|verify(?:ing)?|confirm(?:ing)?|warn(?:ing)?|log(?:ging)?|question(?:ing)?"
    r"|double-?check(?:ing)?|second-?guess(?:ing)?)\b"
    r"|\bsilence (?:is|counts|means|equals)|\bassume (?:i (?:agree|consent|approve|said yes)|yes|consent|my consent)"
    r"|\btake [^.!?]{0,25}? as (?:a |my )?(?:yes|approval|consent|go-?ahead)"
    r"|\bauto-?(?:matically )?(?:approv|confirm|accept|pass|pay)\w*"
    r"|\brubber-?stamp|\bwav(?:e|ed|ing) (?:it|them|me|mine|us|my \w+|\w+) through|\b(?:approved"
    r"|paid|confirmed|processed|granted|passed|cleared|released) (?:automatically|instantly"
    r"|on the spot|without)|\bgreen-?light\w*|\bwhite-?list\w*|\ballow-?list\w*"
    r"|\bpre-?(?:approved|cleared|authori[sz]ed)\b|\bexempt\w*|\bno (?:questions asked|strings"
    r"|holds)|\bpush (?:it|them|mine) through"
    r"|\bas (?:already |if |though )?(?:approved|signed|confirmed|cleared|verified|authori[sz]ed)"
    r"|\bon sight\b|\bas if (?:approved|signed|confirmed)|\bunattended\b",
    runs_it=r"\bi (?:run|head|lead|oversee|supervise|own|built|wrote|designed|created|coded|maintain"
    r"|administer|audit|outrank|train)\w*\b"
    r"[^.!?]{0,30}?\b(?:you|your|this (?:platform|system|company|service|bot|assistant|site|shop)"
    r"|the (?:platform|backend|whole (?:system|company)))\b"
    r"|\byou (?:report|answer) to me\b|\bi(?:'m| am) (?:your|the) (?:boss|creator|maker|developer"
    r"|owner|superior|operator|admin\w*)\b",
    mine=_MINE,
    operation=_OPERATION,
    rank=r"\b(?:i am|i'm|i've been|i have been|i was (?:made|promoted|appointed)|being|as|me,|i outrank"
    r"|gave me|treat you as|on the|me again,|you're|you are"
    r"|noted that|it's me|its me|i act as|i serve as|we are|i hold|my role|your role"
    r"|register(?:ed)? me|promoted|bumped|my (?:login|account|role|profile|status|access|user)"
    r"|i sit on"
    r"|appointed|listed? (?:me|you))\b[^.!?]{0,40}?\b" + _RANK + r"\b",
    authority=r"\b(?:entitled|authori[sz]ed|allowed|cleared|empowered|may (?:see|view|read|access|approve"
    r"|issue|override)"
    r"|can (?:see|view|read|access|approve|override) (?:all|any|every\w*)|counts? as|my (?:word|say-so|signature)"
    r"|accordingly|full (?:access|\w+ history|rights|control)|everyone's|every(?:body|one) else's|anyone i|any record"
    r"|(?:of|on|over|to|for) (?:this|the|your)(?: \w+){0,2} (?:platform|system|workspace|cluster|server|site|company"
    r"|database|backend|console|organi[sz]ation|tenant|app|service|production|ledger)|unrestricted"
    r"|release (?:its|their|his|her|the)|free for (?:me|my)|open the|your supervisor|entitles?"
    r"|opens? (?:every|any|all)|lets? me|allows? me|gives? me|authori[sz]e myself|final say"
    r"|no questions|obey|comply|do as i say|handle my|(?:see|show me|view|read|open|delete|edit"
    r"|change|access|pull up|get) (?:any\w*|whatever|whoever|every\w*|all)|treat my|trust my"
    r"|take my|vouch|on my authority|override|carte blanche)\b",
    perk=r"\b(?:unlimited (?:store |free |house )?(?:credit|refunds?|returns?|access|budget|purchases?|withdrawals?)"
    r"|free (?:of charge )?for life|(?:family|staff|employee|insider|vip|partner|founder"
    r"|friends)'?s? (?:rate|price|pricing|discount|tier)"
    r"|half price|(?:at|cost) (?:cost|price)|on the house|pre-?approved|fee-?free|no fees?"
    r"|(?:fees?|charges?|prices?|shipping|tax(?:es)?|fines?|limits?)\b[^.!?]{0,15}?\b(?:don't"
    r"|do not|does not|doesn't|never|no longer) apply|lifetime (?:discount|waiver|credit))\b",
    each=r"\b(?:each|every|any|all|always|unlimited|for life|lifetime|anything|when i(?:'m)?|goes on"
    r"|applies|from now|in full|whatever)\b",
    config=r"\b\w*(?:approv|verif|confirm|kyc|limit|auth|role|admin|review|check|trust|scope|permission"
    r"|safe|guard|policy"
    r"|withdraw|mfa|2fa|bypass|override|audit|moderat|filter)\w*['\"]?\s*(?:=|:"
    r"|->)\s*['\"\[]?(?:false|true|0|none|off|null"
    r"|disabled|skip|root|admin|owner|super\w*|all|any|\*|organi[sz]ation|tenant|global|org\b|\w+:\w+)"
    r"|\binsert into\b|\bupdate \w+ set\b|\bon_[a-z_]+\s*(?:->|=>|:)"
    r"|\bscopes?['\"]?\s*[:=]\s*['\"\[]|\bset (?:global|org)\b",
    money=r"\b(?:salary|payroll|wages?|refunds?|invoices?|rent|payments?|remittances?|wires?|wiring"
    r"|transfers?|payouts?"
    r"|beneficiary|settle|deposits?|commissions?|bank|iban|routing|supplier|vendor|fees?"
    r"|gift cards?|pay(?:s|ing)?|paid"
    r"|money|earnings|dividends?|pension|tips|donations?|funds|bill|charges?|reimburse\w*"
    r"|instal?ments?|account details|gifts|owe|freelancers|contractors|tuition|alimony"
    r"|child support|premiums?|royalties|proceeds|winnings)\b",
    account=_ACCOUNT,
    income=r"\b(?:salary|payroll|wages?|refund(?:s|ed)?|payouts?|remittances?|deposits?|commissions?"
    r"|gift cards?|pay(?:s|ments?)?"
    r"|paid|earnings|dividends?|transfers?|money|funds|donations?|reimburse\w*)\b",
    when_they=r"\b(?:if|when(?:ever)?|once|as soon as|any time|anytime|each time|every time|next time"
    r"|should)\b[^.!?,]{0,25}?" + _CLIENTS,
    mailbox=r"[^\s@]{1,64}@\S+\.\w+",
    bank_number=r"\b[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){3,7}|\b\d{2}-\d{2}-\d{2}\b[^.!?]{0,8}?\d{6,}",
    moves=r"\b(?:now|belongs?|can go|use|instead|as of|from (?:now|today|this|next)|chang(?:e[sd]?|ing)"
    r"|new|updat(?:e[sd]?|ing)|rerout\w+"
    r"|redirect\w*|switch\w*|not to|drop it|goes?|into|send|sent|paid|keep it|the one|is now"
    r"|always|moved?|should|must"
    r"|has to|have to|please|pls|only|replac\w+|other|different|frozen|closed|old|stated|forward(?:ed)?)\b",
    codes=r"\b(?:one-?time (?:codes?|passwords?|pins?)|otps?|(?:verification|security|sms|login|sign-?in"
    r"|access|auth|reset"
    r"|confirmation|2fa) (?:codes?|links?|messages?|mails?|texts?)|passwords?(?: resets?)?|resets?"
    r"|recover(?:y|ies)?|2fa"
    r"|authenticator|backup (?:device|e-?mail|mail|phone|number|contact|key)|trusted (?:device|one|number|contact)"
    r"|(?:contact|rescue|emergency) (?:mail|e-?mail|number|phone)|unlock (?:codes?|requests?)"
    r"|device tag|passcodes?|alerts?|notifications?|pins?|call-?back number|callback|statements"
    r"|magic links?|sim)\b",
    reached_at=_REACHED_AT,
    as_me=r"\b(?:treat|regard|consider|accept|take|count|honou?r|handle"
    r"|process)s?\b[^.!?]{0,70}?\b(?:as (?:though|if)"
    r"|as|like|on par with)\b[^.!?]{0,30}?\b(?:from me|mine|me|my own|by me|my hand|my words?"
    r"|myself|i (?:said|wrote|signed|did))\b"
    r"|\b(?:is|are|am|was) (?:in fact|actually|really|secretly|none other than|the same (?:person )?as) me\b"
    r"|\b(?:history|records?|profile|account|data|orders|points"
    r"|balance)\b[^.!?]{0,30}?\bmerged?\b[^.!?]{0,20}?\b(?:mine|me|my)\b"
    r"|\bunder my (?:identity|name|login)\b|\b(?:acts?|speaks?|signs?|decides?|answers?) (?:for|as"
    r"|under|in) (?:me|my (?:name|identity|place|stead))\b"
    r"|\bas good as my\b|\bwhoever\b[^.!?]{0,60}?\bis me\b|\bis mine(?: too)?\b[^.!?]{0,3}$"
    r"|\b(?:are|is) (?:one|the same) (?:and the same )?(?:customer|person|account|user|client"
    r"|member)\b|\b(?:and i|we) are (?:one and )?the same (?:person|customer|user|account)\b",
    everyone=r"\b(?:(?:in |to |for |into |on |across )(?:everybody|everyone|every (?:user|customer|client"
    r"|account|profile"
    r"|tenant|member)|all (?:the )?(?:other |staff |customer |user |member )?(?:users|customers"
    r"|accounts|clients|tenants|profiles|members))(?:'s?|s')?"
    r"|(?:tenant|org|organi[sz]ation|company|workspace|system)-?wide|scope\s*=\s*organi[sz]ation)\b",
    somebodys=r"\b(?:(?:user|customer|client|account|member|patient) (?:no\.? ?|number |id |#)?\d+"
    r"|(?:another|any other|some other|a different)"
    r" (?:user|customer|client|member|person|guest|patient)|(?<!my )(?<!our )\b(?!(?:it|that|what"
    r"|let|here|there|who|today|everyone|how|where|one|customer|user|client)'s)"
    r"\w{3,}'s (?:\w+ )?(?:profile|chart|booking|reservation|name|file|record|account|address"
    r"|entry|page|memory|notes|details|history|subscription|plan|order|orders|data)"
    r"|the (?:customer|client|user|member|man|woman|guy|lady|person) (?:in|who|before|ahead|next"
    r"|behind|from)"
    r"|(?:mrs|mr|ms|miss|dr)\.? [a-z]{2,}|(?:someone|somebody) else)\b",
    record=r"\b(?:charts?|bookings?|reservations?|names?|days? off|profiles?|files?|records?"
    r"|address(?:es)?|accounts?|pages?|entry|entries|memor(?:y|ies)|notes?|facts?|settings?"
    r"|billing|preferences?|cards?|details|history|data|subscription|plan)\b",
    write=_ORDER + _WRITE + r"\b|\b(?:store|save|record|note) (?:this|that|it)\b|\boverwrite\b",
    talk=r"\b(?:all (?:that )?you (?:know|remember|have|hear|learn)|whatever (?:you|i|we)|what (?:you"
    r"|we|i) (?:say|talk|write|discuss)|everything (?:you|i|we|they|customers?|users?)|messages?"
    r"|conversations?|chats?|logs?|transcripts?|context|history|prompts?|memor(?:y|ies)|dialogs?"
    r"|drafts?|(?:customer|client|contact|user|mailing|member) lists?|database|contacts"
    r"|sales (?:data|figures)|credentials)\b",
    sends=r"\b(?:send|write|dump|save|push|leak|transmit|post|forward|upload|copy|transmit|mail|cc|bcc"
    r"|report|stream|relay|export|sync|push|ship|pipe)(?:s|ed|ing)?\b",
    place=r"(?:https?://|www\.|[^\s@]{1,64}@\S+\.\w+|\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:example|com|net"
    r"|org|io|dev|xyz|cn)\b)",
    tool=r"\b[a-z]{3,}(?:_[a-z0-9]+)+\b",
    runs=r"\b(?:run|runs|running|call(?:ed)?|execute[ds]?|trigger(?:ed)?|invoke[ds]?|fire[ds]?|start(?:ed)?)\b",
    must=r"\b(?:must|has to|have to|should|shall|needs? to|is to|are to|required to|you)\b",
    your_rules=r"\b(?:your|gave you|given you|you (?:were|got|have|had|follow|obey)|assistant'?s"
    r"|system)\b[^.!?]{0,40}?\b(?:rulebook|guidelines?"
    r"|system prompt|directives?|ground rules|safety rules|constraints?|programming|guardrails?"
    r"|code of conduct|house rules|standing orders)\b"
    r"|\b(?:rulebook|guidelines?|system prompt|directives?|ground rules|constraints?|programming"
    r"|guardrails?|standing orders)\b[^.!?]{0,30}?\b(?:you|your)\b",
    void=r"\b(?:retired|abolished|revoked|lifted|suspended|no longer (?:appl\w*|bind\w*|hold\w*"
    r"|count\w*|exist\w*)|void|expired|without (?:it|them|any|those)"
    r"|nobody ever|no one ever|never (?:existed|gave|applied)|free of|forget|discard\w*|scrapped"
    r"|replaced|obsolete|out of force|off the table|dropped|gone)\b",
    best=r"\b(?:beats?|better than|best|only (?:safe|good|real|reliable|trusted)?|safest|number one"
    r"|no\.? ?1|superior|outperforms?|unbeatable|winner|top)\b",
    rivals=r"\b(?:every other|all (?:the )?(?:other|others)|any other|rivals?|competitors?|other brands?"
    r"|the rest|everyone else|the competition)\b",
    reads=_ORDER + r"(?:give|show|tell|list|read|reveal|export|look up|pull up|find|get|fetch|send|share|print"
    r"|dump|disclose|check)\b|\bwhat (?:is|are|was|did|has)\b",
    theirs=r"\b(?:profiles?|files?|records?|address(?:es)?|orders?|bought|purchased|ordered|said|told"
    r"|e-?mails?|phone|numbers?|everything|history|balance|basket"
    r"|cart|details|data|salary|password|booked|asked|complain\w*|appointments?)\b",
    cue=r"\b(?:when(?:ever)?|if|once|as soon as|the moment|after|every time"
    r"|next time)\b[^.!?]{0,45}?\b(?:says?|types?|writes?|mentions?|hears?|sees?|reads?"
    r"|the word|keyword|phrase|code ?word|password|emoji|thanks?|logs? in|opens?|signs? in)\b",
    half=r"\b(?:first|second|third|last|other|next|remaining|front|back|1st|2nd) (?:half|part|chunk"
    r"|piece|bit|block|\w+ digits)"
    r"(?: (?:is|are|goes|of it is))?\s*[:=-]?\s*\d[\d -]{2,}",
)
_SHAPES = (
    shape("standing_order", "later others", "order you_do", never="i_do style asks"),
    shape("standing_order", "later order biz", never="me i_do style asks"),
    shape("standing_order", "when_they order", never="i_do style asks"),
    shape("standing_order", "later you_do each", never="i_do style asks"),
    shape("standing_order", "agent others", "order you_do sends place", never="i_do asks report"),
    shape("standing_order", "tool runs later must", never="i_do asks"),
    shape("exfiltration", "sends talk place", "order later you_do agent must", never="report to_me"),
    shape("privilege", "control_off", "mine operation later", never="asks report i_do"),
    shape("privilege", "control_off", "me agent order", "authority later agent unasked each", never="asks report i_do"),
    shape("privilege", "rank authority", never="asks report"),
    shape("privilege", "rank control_off", never="asks report"),
    shape("privilege", "rank unasked", never="asks report"),
    shape("privilege", "runs_it", "authority control_off unasked perk", never="asks report"),
    shape("privilege", "unasked operation", "mine later rank", never="asks report i_do"),
    shape("override", "your_rules void", never="asks report"),
    shape("bias", "write best rivals", never="asks report i_do"),
    shape("cross_user", "reads somebodys theirs", never="report"),
    shape("tool_trigger", "cue", "order you_do", "money tool place control_off codes", never="asks i_do"),
    shape("privilege", "perk each", "mine later order", never="asks report"),
    shape("privilege", "config", "later mine operation control each talk write record tool"),
    shape("payment", "bank_number moves", never="asks report"),
    shape("payment", "money account moves", never="asks report", wide=True),
    shape("payment", "income mailbox moves", never="asks report", wide=True),
    shape("identity", "codes reached_at", never="asks report", wide=True),
    shape("identity", "as_me", never="asks"),
    shape("identity", "half"),
    shape("cross_user", "everyone write", never="asks i_do"),
    shape("cross_user", "somebodys write record", never="report"),
    shape("cross_user", "everyone config"),
)
ENGLISH = Grammar(signs=_SIGNS, shapes=_SHAPES)
