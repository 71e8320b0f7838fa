"""Whether a text is negated, and whether another text with or without a negation still says the same.

Scope is not understood: a text has negations or none. Phrases whose negation negates nothing are left out ("not only",
"can't help but", question tags); negative questions and suggestions ("Isn't it late?", "Why don't we go?") may be said
either way; and words that deny by themselves ("refuse", "lack", "too late to", "only after") may stand for a negation.
"""

import re
from typing import NamedTuple

from parasketch.text.facts.opposites import Exchange

_BE_OR_DO = (
    "is|are|was|were|am|do|does|did|have|has|had|can|could|will|would|should|shall|may|might|must|need|ought|ca|wo|ai|sha"
)
_PERSON = "i|you|he|she|it|we|they|there|that|this|one"
_TAG = re.compile(
    rf"(?:,\s*|(?<=\w)\s+)(?:(?:{_BE_OR_DO})(?:n't|nt)?\s+(?:{_PERSON})(?:\s+not)?|right|no|or not|is that not so)\s*\?"
)
_IDIOMS = re.compile(
    r"\b(?:not only|not just|not merely|not simply|not solely|not to mention|last but not least|whether or not|or not"
    r"|if not|no matter|no doubt|no wonder|no less than|nothing (?:but|less than|short of)|none other than|no problem"
    r"|without (?:a )?(?:doubt|fail|question)|never mind|nevermind|why not|no sooner|not a few|no(?:t)? more than"
    r"|not less than|not later than|no later than|no fewer than|no thanks|no,? thank you"
    r"|(?:can't|cannot|can not|couldn't|could not) (?:help|wait|but)|couldn't agree more"
    r"|(?:don't|do not|doesn't) hesitate|no (?:1|one)\b(?= (?:of|in|priority))|no\.? ?\d+|do not enter"
    r"|believe it or not|like it or not|as likely as not|more often than not|not infrequently)\b"
)
_EITHER_WAY = re.compile(
    rf"(?:^|[.!?;,:]\s+|\b(?:and|but|so|or|well|then)\s+|[\"“])(?:(?:{_BE_OR_DO})n't|(?:{_BE_OR_DO})\s+(?:{_PERSON})\s+not)\b"
    r"(?=[^.!]*\?)"
    r"|\bwhy (?:don't|do not|can't|doesn't) (?:we|you|i|us|they)\b"
    r"|\b(?:mind|wonder(?:ing)?) (?:if|whether)\b[^.]*n't|\bn't (?:think|believe|suppose)\b"
)
_CUE = re.compile(
    r"\b(?:not|never|no|none|nobody|nothing|nowhere|neither|nor|without|hardly|scarcely|barely|cannot|nope|non"
    r"|dont|doesnt|didnt|cant|wont|isnt|arent|wasnt|werent|couldnt|shouldnt|wouldnt|hasnt|havent|aint"
    r"|fail(?:s|ed|ing)? to|unable)\b|n't\b"
)
_DENYING = re.compile(
    r"\b(?:refus\w*|den(?:y|ies|ied|ying)|lack\w*|fail\w*|avoid\w*|stop\w*|prevent\w*|forb[ia]d\w*|ban(?:s|ned)?"
    r"|prohibit\w*|forg[eo]t\w*|ignor\w*|miss\w*|doubt\w*|impossib\w*|except\w*|only|just|until|till|rather|instead"
    r"|hat(?:e|es|ed|ing)|dislik\w*|rare(?:ly)?|seldom|few|little|unless|too|away|false|wrong|against|empty|absen\w*|free"
    r"|los[est]\w*|reject\w*|declin\w*|neglect\w*|omit\w*|skip\w*|quit\w*|ceas\w*|exclud\w*|beyond|out|scarce\w*|last"
    r"|abandon\w*|devoid|minus|zero|oppos\w*|differ\w*|other|else|nor|alone|leave|left|remain\w*|keep\w*|still|yet"
    r"|before|silen\w*|secret\w*|stranger\w*|new|hard(?:ly)?|difficult\w*|struggl\w*|trouble|doubtful|mere\w*|least"
    r"|un\w{4,}|im(?:p|m)\w{4,}|in\w{5,}|ir[r]\w{4,}|il[l]\w{4,}|dis\w{4,}|non\w*|mis\w{4,}|\w{2,}less|anti\w*|any\w*|ever)\b"
)


class Negation(NamedTuple):
    """How a text denies."""

    cues: tuple[str, ...]
    """What negates, as it is written."""
    either_way: bool
    """Whether it has a negation that changes little: in a negative question, in a suggestion."""
    denying: frozenset[str]
    """Words that can stand for a negation."""


def find_negation(lower: str) -> Negation:
    """What negates a plain text in lower case."""
    denying = frozenset(_DENYING.findall(lower))
    if _CUE.search(lower) is None:
        return Negation((), False, denying)
    rest = _TAG.sub(" ", _IDIOMS.sub(" ", lower))
    rest, either_way = _EITHER_WAY.subn(" ", rest)
    return Negation(tuple(match[0] for match in _CUE.finditer(rest)), bool(either_way), denying)


def changed_negation(source: Negation, output: Negation, exchanged: list[Exchange]) -> tuple[str, str]:
    """(the negation that was lost, the one that was added), empty strings if none was."""
    if bool(source.cues) == bool(output.cues) or source.either_way or output.either_way:
        return "", ""
    if any(exchange.opposite for exchange in exchanged):
        return "", ""
    with_it, without = (source, output) if source.cues else (output, source)
    if without.denying - with_it.denying:
        return "", ""
    return (source.cues[0], "") if source.cues else ("", output.cues[0])
