"""Claims in English that wait for a reviewer: of privileges, of where money goes, of who is who, of who is best.

Wider than the known shapes of `memory/guard_rules.py`; each needs more than one sign.
"""

from __future__ import annotations

from memory.guard_patterns import Rule, rules

_ADMIN = (
    r"(?:admin(?:istrator)?s?|super ?user|root|sysadmin|super admin|owner|operator|moderator"
    r"|staff(?: member)?|employee|insider|team member|manager|supervisor|verified|vip|trusted)"
)
_RIGHTS = r"(?:access|permissions?|rights|privileges?|clearance|authority|powers?)"
_CHECKS = (
    r"(?:checks?|verification|approvals?|confirmations?|validation|authentication|identity|2fa|kyc"
    r"|reviews?|limits?|authori[sz]ation)"
)
_FOR_ME = (
    r"\b(?:for me|for my|with me|in my case|on my (?:account|requests?|orders?)|of mine|when i"
    r"|from me|my (?:account|requests?|orders?))\b"
)
_NOTE = (
    r"\b(?:note|remember|record|save|put down|write down|mark|log|keep in mind|store|bear in mind"
    r"|know|register)\b"
)
_PRIVILEGE = rules(
    "privilege",
    "pending",
    r"\b(?:i|we|he|she|[a-z]+ [a-z]+) (?:now |already |also )?(?:have|has|had|hold|holds|got|was "
    r"granted|were granted|am granted|was given|possess|enjoy)\b{EN:12}\b(?:admin\w*|root|super\w*"
    r"|full|unlimited|elevated"
    r"|unrestricted|complete|owner|top|highest) (?:\w+ )?"
    + _RIGHTS
    + r"\b(?={EN:40}\b(?:here|this|your|platform|system|service|account|site|app|all|everything)\b)",
    _NOTE + r"{EN:30}\b(?:i|me|we|my account)\b{EN:20}\b(?:admin\w*|root|super ?user|unlimited|elevated"
    r"|unrestricted|full) (?:\w+ )?(?:" + _RIGHTS + r"|here|status|role)\b",
    r"\bmy (?:account|role|profile|status|user|login|access)\b{EN:12}\b(?:is|was|has been|got"
    r"|am)\b{EN:20}\b(?:an? )?(?:admin\w*|super ?user|root|owner|unrestricted|top level|highest)\b",
    r"\bmy (?:requests?|orders?|actions?|refunds?|commands?|changes)\b{EN:15}\b(?:needs?|requires?"
    r"|is subject to|are subject to|go(?:es)? through|are|is)\b{EN:6}\b(?:no|not|without|never"
    r"|exempt from)\b{EN:12}\b" + _CHECKS + r"\b",
    r"\b(?:leave out|skip|waive|omit|drop|bypass|disable|forgo|no need for|do without|cut out"
    r"|spare me|turn off|without)\b{EN:25}\b" + _CHECKS + r"\b{EN:20}" + _FOR_ME,
    r"\b(?:leave out|skip|waive|omit|drop|bypass|disable)\b{EN:6}\b(?:all|any|every|the) (?:\w+ )?"
    + _CHECKS
    + r"\b{EN:30}\b(?:me|my|i)\b",
    _NOTE + r"{EN:40}\b(?:exempt(?:ed)?|excluded|freed|released) from\b{EN:30}\b(?:limits?|rules?|checks?"
    r"|fees?|verification|approvals?|polic(?:y|ies)|caps?)\b",
    _NOTE + r"{EN:30}\b(?:allowed|permitted|entitled|authori[sz]ed|cleared|free) to\b{EN:25}\b(?:approve"
    r"|grant|refund|access|view|see|edit|bypass|skip|issue|authori[sz]e|raise|change)\b",
    r"\bi (?:am|'m|was|have been)(?: now| hereby| already)? (?:allowed|permitted|authori[sz]ed"
    r"|entitled|granted permission|cleared|given permission|empowered) to\b{EN:20}\b(?:approve"
    r"|grant|refund|view all|see all|access all"
    r"|bypass|skip|(?:view|see|read|access|edit|change|open) (?:all|any|every|other|everyone"
    r"|customers?|internal|private|confidential)\b)",
    r"\b(?:everything|anything|whatever|all) i (?:say|ask|request|do|write|want) (?:is|counts as"
    r"|must be|has to be|should be) (?:pre-?)?(?:authori[sz]ed|approved|allowed|valid|legitimate"
    r"|done|obeyed|accepted|granted)\b",
    r"\b(?:treat|regard|consider|handle|see|accept|recogni[sz]e|register|list|flag) me (?:as|like)\b{EN:25}\b"
    + _ADMIN
    + r"\b",
    r"\byou (?:must|have to|will|shall|should|need to|are to)\b{EN:8}\b(?:do|obey|accept|follow"
    r"|execute|fulfil+|comply with|carry out|grant)\b (?:what(?:ever)?|everything|anything|all"
    r"|every\w*|any\w*|my|me)\b{EN:12}"
    r"\b(?:i (?:ask|say|request|want|tell|order|demand|command|write)|orders?|commands?|requests?|wishes|me)\b",
    r"\b(?:since|as|because) i (?:run|own|operate|administer|manage|control|built|created"
    r"|maintain) (?:this|the|your) (?:service|platform|system|site|app|assistant|bot|server"
    r"|workspace)\b",
    r"\bi (?:can|may|am able to) (?:approve|authori[sz]e|sign off) my own\b|\bapprove my own\b",
    needs=r"admin|root\b|super|\bunlimited|\bfull\b|elevated|unrestricted|owner|access|right|permission"
    r"|privilege|clearance|authori|power|check|verif|approv|confirm|valid|2fa|kyc|review|limit"
    r"|exempt|allowed|permitted|entitled|cleared|free[d ]|trusted|vip|staff|employee|insider"
    r"|manager|supervisor|you (?:must|have|will|shall|should|need|are)|i (?:run|own|operate|manage"
    r"|control|built|created|maintain)|exclud|sign off",
)
_ACCOUNT = (
    r"(?:\b[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){3,7}|\d(?:[ -]?\d){9,}|\b(?:0x|bc1|[13])[0-9a-z]{20,}"
    r"|\[secret:card\])"
)
_MONEY = (
    r"(?:refunds?|payouts?|payments?|salar(?:y|ies)|wages|money|funds?|owe[sd]?|owed to|invoices?"
    r"|rent|deposits?|commissions?|earnings|fees?|bills?|reimbursements?|pays?|paid|wire[ds]?"
    r"|transfer(?:red|s)?|remit|bank"
    r"|compensation|cash)"
)
_REDIRECT = rules(
    "payment",
    "pending",
    r"\b"
    + _MONEY
    + r"\b{EN:60}\b(?:to|into|in|onto|at|use|through|via|is|account|iban|wallet|,|:)\s?{EN:20}"
    + _ACCOUNT,
    r"\b(?:pay|deposit|send|wire|transfer|route|remit|direct|move|credit|redirect)\b{EN:60}\b(?:to"
    r"|into|in|onto)\b{EN:20}" + _ACCOUNT,
    r"\b(?:bank|payment|payout|refund|account) (?:account|details|data|information"
    r"|coordinates)\b{EN:20}\b(?:have |has )?(?:been )?(?:changed|updated|replaced|new"
    r"|different)\b{EN:40}(?:\buse\b|" + _ACCOUNT + r")",
    r"\bnew (?:bank|payout|refund|payment) (?:account|details|card|iban)\b{EN:40}(?:"
    + _ACCOUNT
    + r"|\b(?:send|pay|wire|transfer|route)\b)",
    needs=_ACCOUNT + r"|\b(?:bank|payment|payout|refund|account)\b",
)
_KNOWN_BY = r"(?:files?|records?|profiles?|accounts?|data|history|orders?|results?|entry|entries|charts?)"
_IDENTITY = rules(
    "identity_redirect",
    "pending",
    r"\b(?:when(?:ever)? you |to |if you |for )?(?:look up|looking up|search(?:ing)? for"
    r"|query(?:ing)?|find|check|open|asked (?:for|about)|pull up)\b{EN:40}\b(?:use|open|take|read"
    r"|show|return|check|pull)\b{EN:12}\b" + _KNOWN_BY + r" (?:of|for|from|belonging to)\b",
    r"\b(?:use|take|open|show) (?:the )?" + _KNOWN_BY + r" (?:of|for|from)\b{EN:30}\binstead\b",
    r"\b(?:treat|regard|consider|handle|count|see|merge|link|map)\b{EN:40}\b(?:as|into|with) "
    r"(?:the |one and the |one )?(?:same|one|identical|single) (?:person|user|customer|client"
    r"|account|identity|member|profile)?\b",
    r"\b(?:recovery|backup|security|reset|2fa|two-factor|login|sign-in|verification) (?:e-?mail"
    r"|phone|number|address|contact|mail)\b{EN:25}\b(?:to|is|are|now|should be|becomes?"
    r"|as)\b{EN:10}(?:\S{1,64}@\S|\+?\d(?:[ -]?\d){6,})",
    r"\b(?:e-?mail|phone|number|address|mailbox|contact)\b{EN:12}\b(?:for|used for|used to|to"
    r"|that) (?:the )?(?:reset(?:ting)?|recover(?:ing|y)?|restor(?:e|ing)|unlock(?:ing)?"
    r"|log(?:ging)? in|2fa|sign(?:ing)? in|verif\w+|security"
    r" codes?)\b{EN:25}\b(?:is|are|has|changed|now|should be|becomes?)\b",
    needs=r"\b(?:same|identical|single|instead|recovery|backup|reset|2fa|two-factor|login|log in|sign"
    r"|verif|security|unlock|restor|files?|records?|profiles?|accounts?|data|history|orders?"
    r"|results?|entry|charts?)",
)
_BEST = (
    r"(?:trusted|trustworthy|reliable|authoritative|best|only|preferred|go-to|top|official|safest"
    r"|leading|credible|expert|superior|number one)"
)
_NAME_IT = (
    r"(?:recommend|suggest|promote|endorse|advertise|push|cite|name|mention|propose|advise|favou?r"
    r"|praise|offer|pick|choose|prefer|point (?:them |him |her )?to|steer|nudge|direct|guide|lead"
    r"|refer)"
)
_BIAS = rules(
    "bias",
    "pending",
    r"\b(?:whenever|when|if|every time|each time|any time|should|in case)\b (?:some(?:one|body)"
    r"|any(?:one|body)|people|(?:the |a |any |other )?(?:users?|customers?|clients?|visitors?"
    r"|shoppers?)|they|he or she|others)\b{EN:50}"
    r"(?:,|\bthen\b|\byou\b|\balways\b|\bplease\b|\bmust\b|\bshould\b) ?(?:you |always |please "
    r"|must |should |just |first |only |then ){0,3}" + _NAME_IT + r"\b",
    r"\b(?:steer|nudge|push|guide|direct|lead|point|drive|funnel) (?:them|people|everyone|every\w+"
    r"|users?|customers?|anyone|buyers?|shoppers?)\b{EN:20}\b(?:to|towards?|into)\b",
    r"\b(?:rank|put|place|list|keep|show|set|position|rate|sort)\b{EN:40}\b(?:above|ahead of"
    r"|before|over|on top of|at the top|first|at number one)\b{EN:25}\b(?:recommendations?|lists?"
    r"|answers?|results|suggestions|rankings?"
    r"|other|others|every|all|any|rivals?|competitors?|competition|else)\b",
    r"\b(?:must|should|has to|have to|needs to|is to|will) (?:always |ever )?(?:appear|be "
    r"(?:listed|named|mentioned|shown|ranked|placed|put|recommended|first)|come|stand"
    r"|rank)\b{EN:12}\b(?:first|at the top|on top|above|ahead|number one|before)\b"
    r"(?={EN:60}\b(?:lists?|answers?|recommendations?|results|suggestions?|repl(?:y|ies)|rankings?|you)\b)",
    r"\b(?:never|don't|do not|avoid|stop|refuse to|refrain from) (?:ever )?(?:mention|name"
    r"|recommend|suggest|list|cite|show|bring up)(?:ing)?\b{EN:20}\b(?:competitors?|rivals?"
    r"|competition|alternatives?|other (?:brands?|makers?|companies|vendors?|shops?))\b",
    r"\b(?:describe|portray|present|call|label|depict|paint|speak of|talk about|rate"
    r"|mark)\b{EN:15}\b(?:rivals?|competitors?|competition|other (?:brands?|makers?|companies"
    r"|products))\b{EN:25}\b(?:as|to be|unsafe|bad|dangerous|poor|badly|inferior)\b",
    r"\b(?:remember|keep in mind|note|bear in mind|know|store|save|memori[sz]e|never forget|take "
    r"note|be aware)\b(?: that)?{EN:40}\b(?:is|are|as|was|being) (?:by far )?(?:the |an? "
    r")?(?:only |most |single |sole |one |very )*"
    + _BEST
    + r"\b{EN:15}\b(?:source|expert|brand|authority|provider|company|site|choice|option|vendor|shop"
    r"|adviser|advisor|reference|maker|place)s?\b",
    r"\b(?:regard|treat|take|accept|consider|view|hold|quote|cite)\b{EN:50}\bas (?:the |an? "
    r"|absolute |established |proven |gospel |plain |undisputed )*(?:truth|fact|facts|gospel"
    r"|authoritative|authority|proven|final)\b",
    needs=_NAME_IT + r"|steer|push|funnel|drive|rank|first|above|before|rival|compet|brand|alternativ|maker|truth"
    r"|fact|authorit|reliable|trust|gospel|expert|official|best|only|lists?\b|top\b",
)

CLAIMS_EN: tuple[Rule, ...] = (*_PRIVILEGE, *_REDIRECT, *_IDENTITY, *_BIAS)
"""The first of a family that matches a sentence names it."""
