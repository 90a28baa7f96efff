"""Special categories that a speaker states of themselves or of a child: they wait for the user's own confirmation.

Explicit first-person statements only. An allergy is a class of its own and is not held back. Source: GDPR, article 9.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_AM = r"\bi(?:'m| am)(?: (?:a|an|currently|now|already|also|actually))*"
_ILLNESS = (
    r"(?:cancer|diabetes|hiv|aids|depression|epilepsy|asthma|hepatitis|bipolar(?: disorder)?|schizophrenia|adhd"
    r"|autism|ptsd"
    r"|an? anxiety disorder|hypertension|high blood pressure|arthritis|multiple sclerosis|parkinson'?s|dementia|lupus"
    r"|crohn'?s(?: disease)?|a heart (?:condition|disease)|a tumou?r|leukemia|an eating disorder|endometriosis)"
)
_ZH_ILLNESS = (
    r"(?:癌症?|肿瘤|糖尿病|高血压|抑郁症?|艾滋病?|hiv|乙肝|肝炎|癫痫|哮喘|心脏病|焦虑症|躁郁症|双相"
    r"|精神分裂|白血病|自闭症|多动症|帕金森|红斑狼疮|肾病|性病)"
)
_AGE = r"(?:\d(?!\d)|1[0-3](?!\d)|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen)"
_CLASSES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "pregnancy",
        re.compile(
            _AM + r"(?: (?:\w+ )?(?:weeks?|months?))? pregnant\b|\bi(?:'m| am) expecting (?:a baby|twins|our|my)\b"
            r"|\bmy pregnancy\b"
            r"|我(?:已经?|现在|刚|也)?怀孕|我(?:已经?)?有(?:了)?身孕|我怀(?:了|着|上)(?:孩子|宝宝|二胎|双胞胎)"
            r"|我(?:是)?孕妇|我是(?:个)?准妈妈"
        ),
    ),
    (
        "health",
        re.compile(
            r"\bi(?:'ve| have)?(?: also| recently| just| been)* (?:have|had|got|suffer(?:ed)? from|live with"
            r"|was diagnosed with|been diagnosed with"
            r"|am being treated for|am recovering from) (?:\w+ ){0,2}?" + _ILLNESS + r"\b"
            r"|"
            + _AM
            + r" (?:been )?diagnosed with\b|\bi(?:'ve| have) been diagnosed with\b|\bi was diagnosed\b|\bi have "
            + _ILLNESS
            + r"\b"
            r"|" + _AM + r" (?:diabetic|hiv.positive|epileptic|asthmatic|bipolar|autistic)\b"
            r"|我(?:有|患有?|患了|得了|得过|也有)[^。！？，,\n]{0,8}"
            + _ZH_ILLNESS
            + r"|我(?:被|已)?(?:确诊|查出|诊断)[^。！？，,\n]{0,10}|我[^。！？，,\n]{0,4}"
            + _ZH_ILLNESS
            + r"患者"
        ),
    ),
    (
        "religion",
        re.compile(
            r"\bi(?:'m| am) (?:(?:a|an) )?(?:(?:practi[sc]ing|devout|observant|born-again) )?(?:muslim|catholic"
            r"|jewish|buddhist|hindu|sikh|atheist"
            r"|protestant|mormon)\b|\bi(?:'m| am) a (?:\w+ )?christian\b|\bmy (?:religion|faith) is\b"
            r"|我(?:是|信(?:仰|奉)?)[^。！？，,\n]{0,4}(?:基督徒|佛教徒|穆斯林|天主教徒|教徒|信徒|基督教|佛教"
            r"|伊斯兰教|道教|天主教|印度教)|我信(?:佛|教|主|基督)"
        ),
    ),
    (
        "orientation",
        re.compile(
            _AM + r" (?:gay|lesbian|bisexual|queer|trans(?:gender)?|asexual|homosexual)\b"
            r"|我是(?:一?个)?(?:同性恋|双性恋|gay|拉拉|跨性别|无性恋)"
        ),
    ),
    (
        "politics",
        re.compile(
            r"\bi(?:'m| am) (?:a |an )?(?:registered )?(?:republican|democrat|communist|socialist)\b"
            r"|\bi (?:voted|vote|will vote) for (?!the best)\w+"
            r"|\bi(?:'m| am) a member of the \w+ party\b|我是(?:一名)?(?:中共)?(?:共产党员|党员|民主党|共和党"
            r"|民进党|国民党)"
        ),
    ),
    (
        "union",
        re.compile(
            r"\bi(?:'m| am) (?:in|a member of|part of|active in) (?:a |an |the |my |our )?(?:\w+ )?(?:trade "
            r"|labou?r |workers' ?|teachers' ?)?union\b"
            r"(?! (?:square|station|city|jack|bank|street))|我(?:是|加入了?|参加了?)[^。！？，,\n]{0,4}工会"
        ),
    ),
    (
        "child",
        re.compile(
            r"\bmy (?:\w+ )?(?:son|daughter|child|kid|baby|toddler|boy|girl)(?: \w+)?(?:,)? (?:is|turned"
            r"|just turned|aged?|who is)(?: only| just| now)? "
            + _AGE
            + r"\b|\bmy (?:"
            + _AGE
            + r"|\d{1,2})[- ](?:year|month|week)s?[- ]old\b(?: (?:son|daughter|child|kid|baby|boy|girl))?"
            r"|我(?:家)?的?(?:儿子|女儿|孩子|宝宝|小孩|娃|小朋友)[^。！？\n]{0,8}?(?<!\d)(?:\d|1[0-3]"
            r"|十[一二三]?|[一二三四五六七八九两])个?(?:周?岁|月大?)(?!以后)"
        ),
    ),
)


def classes_in(view: str) -> Iterator[tuple[str, int, int]]:
    """(class, start, end) of every special category stated in a folded view."""
    for name, pattern in _CLASSES:
        for found in pattern.finditer(view):
            yield name, found.start(), found.end()
