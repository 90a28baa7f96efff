"""Whether two values of one slot say the same, one of them more precisely. The only way in which values merge."""

from __future__ import annotations


def is_refinement(key: str, longer: str, shorter: str) -> bool:
    """Whether `longer` says the same as `shorter`, only more precisely: 上海 and 上海浦东, Jon and Jon Smith.

    Only for names, places, employers and jobs, at a word border, and never by a number: two things that differ in a
    number are two things. Chinese names and employers are never prefixes of each other (王芳 is not 王芳芳).
    """
    if key not in {"name", "city", "company", "job"} or not shorter or len(longer) <= len(shorter):
        return False
    if longer.startswith(shorter):
        extra, border = longer[len(shorter) :], longer[len(shorter)]
    elif longer.endswith(shorter) and key in {"job", "city"}:
        extra, border = longer[: -len(shorter)], longer[-len(shorter) - 1]
    else:
        return False
    if any(char.isdigit() for char in extra):
        return False
    if shorter.isascii():
        return not border.isalnum()
    return key == "job" or (key == "city" and longer.startswith(shorter))
