"""Whether a text is negated, and whether another text with or without a negation still says the same.

Scope is not understood: a text has negations or none. Phrases whose negation negates nothing are left out ("not only",
"can't help but", question tags); negative questions and suggestions ("Isn't it late?", "Why don't we go?") may be said
either way; and words that deny by themselves ("refuse", "lack", "unwilling") may stand for a negation.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from parasketch.text.facts.opposites import Exchange
from parasketch.text.facts.vocabulary import is_ordinary

_VERB = (
    "is|are|was|were|am|do|does|did|have|has|had|can|could|will|would|should|shall|may|might|must|need|ought"
    "|ca|wo|ai|sha"
)
_PERSON = "i|you|he|she|it|we|they|there|that|this|one"
_TAG = re.compile(
    rf"(?:,\s*(?:(?:{_VERB})(?:n't|nt)?\s+(?:{_PERSON})(?:\s+not)?|right|no|or not)"
    rf"|(?<=\w)\s+(?:{_VERB})(?:n't|nt)\s+(?:{_PERSON}))\s*(?=\?|$)"
)
_IDIOMS = re.compile(
    r"\b(?:not (?:only|just|merely|simply|solely|to mention)|last but not least|(?:whether )?or not|if not"
    r"|no (?:matter|doubt|wonder|problem|sooner|thanks|thank you)"
    r"|not a few|nothing (?:(?:\w+ ){0,3}but|less than|short of)|none other than"
    r"|without (?:a )?(?:doubt|fail|question)|never ?mind|why not|like it or not|as likely as not|more often than not"
    r"|(?:can't|cannot|can not|couldn't|could not) (?:help (?:but|it|\w+ing|\w+sel(?:f|ves))|wait|but|agree more)"
    r"|(?:don't|do not) hesitate|no\.? ?\d+)\b"
)
_EITHER_WAY = re.compile(
    rf"(?:^|[.!?;,:\"“]\s*|\b(?:and|but|so|or|well|then)\s+)(?:(?:{_VERB})n't|(?:{_VERB})\s+(?:{_PERSON})\s+not)\b"
    r"(?=[^.!]*\?)"
    r"|\bwhy (?:don't|do not|can't) (?:we|you|i)\b"
    r"|(?:^|[.!?,;]\s*|please )(?:don't|do not) (?=(?:worry|forget|mind)\b)"
)
_CUE = re.compile(
    r"\b(?:not|never|no|none|nobody|nothing|nowhere|neither|nor|without|hardly|scarcely|barely|cannot|nope"
    r"|dont|doesnt|didnt|cant|wont|isnt|arent|wasnt|werent|couldnt|shouldnt|wouldnt|hasnt|havent|aint)\b"
    r"|\bfail(?:s|ed|ing)? to\b|n't\b"
)
_BEGINNING = 4  # letters, so that "opposed" and "oppose", "stop" and "stopped" are one
_ONLY = "only"
_BOUNDS = re.compile(r"\b(?:at most|at least|too(?= \w+ (?:for \w+ )?to\b)|up to|or (?:more|less|fewer|later))\b")
_EXCEPTION = re.compile(r"\b(?:other than|except|but|until|till|unless|else|besides|apart from|before)\b")
_APART = re.compile(r"(?<=n) (?='t\b)")  # "don 't"

_DENYING = re.compile(
    r"refus\w*|den(?:y|ies|ied|ying|ial)|lack\w*|fail\w*|avoid\w*|stop\w*|prevent\w*|forb[ia]d\w*|ban(?:s|ned)?"
    r"|prohibit\w*|forg[eo]t\w*|ignor\w*|miss(?:es|ed|ing)?|doubt\w*|impossib\w*|except|rather|instead|hat(?:e|es|ed|ing)"
    r"|rare|rarely|only|seldom|few|unless|false|wrong|against|empty|absen\w*|reject\w*|neglect\w*|omit\w*"
    r"|skip\w*|quit\w*|ceas\w*|exclud\w*|beyond|scarce|devoid|non|zero|silen\w*|strangers?|unable|clueless|bereft"
    r"|resist\w*|abstain\w*|refrain\w*|oppos\w*|declin\w*|minus"
)
_AFFIXED = re.compile(r"(?:un|in|im|il|ir|dis|non|mis)(\w{3,})|(\w{3,})less")
_NOT_AFFIXED = re.compile(
    r"under\w*|unit\w*|uni[qovf]\w*|uncle\w*|until|unless|inter\w*|intel\w*|inform\w*|inside\w*|invest\w*|invit\w*"
    r"|import\w*|improv\w*|impress\w*|impact\w*|imag\w*|inc\w*|ind[iu]\w*|inst\w*|int\w*|insp\w*|discuss\w*|discover\w*"
    r"|disp\w*|dist\w*|mist\w*|mission\w*|missing|misses|missed|dish\w*|disc|inv\w*|inn\w*|inh\w*|ink\w*|inde[bexp]\w*"
    r"|regardless|needless|nonetheless|nevertheless|unl?oad\w*|illustrat\w*|immediat\w*|immigra\w*|iron\w*|impl\w*"
)


class Negation(NamedTuple):
    """How a text denies."""

    cues: tuple[str, ...]
    """What negates, as it is written."""
    either_way: bool
    """Whether it has a negation that changes little: in a negative question, a suggestion, "don't forget"."""
    denying: frozenset[str]
    """Beginnings of words that can stand for a negation."""
    exception: bool = False
    """Whether the negation has an exception: "not... until", "nothing... except"; then "only" stands for both."""


@lru_cache(maxsize=1 << 16)
def _denies(key: str) -> bool:
    if _DENYING.fullmatch(key):
        return True
    affixed = _AFFIXED.fullmatch(key)
    return affixed is not None and not _NOT_AFFIXED.fullmatch(key) and is_ordinary(affixed[1] or affixed[2])


def find_negation(lower: str, keys: frozenset[str]) -> Negation:
    """What negates a plain text in lower case with these folded words."""
    denying = frozenset([key[:_BEGINNING] for key in keys if _denies(key)] + _BOUNDS.findall(lower))
    lower = _APART.sub("", lower)
    if _CUE.search(lower) is None:
        return Negation((), False, denying)
    rest = _TAG.sub("", _IDIOMS.sub(" ", lower))
    rest, either_way = _EITHER_WAY.subn(" ", rest)
    cues = tuple(match[0] for match in _CUE.finditer(rest))
    if len(cues) > 1:
        cues = tuple(cue for cue in cues if cue != "nor")  # goes on with the negation before it
    return Negation(cues, bool(either_way), denying, exception=_EXCEPTION.search(rest) is not None)


def changed_negation(source: Negation, output: Negation, exchanged: list[Exchange]) -> tuple[str, str]:
    """(the negation that was lost, the one that was added), empty strings if none was.

    It was if only one text is negated; or if both are, but one of them once more, with nothing to explain it.
    """
    one, other = len(source.cues), len(output.cues)
    both = one > 0 and other > 0
    if source.either_way or output.either_way or (one % 2 == other % 2 if both else one == other):
        return "", ""
    if any(exchange.opposite for exchange in exchanged):
        return "", ""
    more, fewer = (source, output) if one > other else (output, source)
    if fewer.denying - more.denying - (frozenset() if more.exception else {_ONLY}):
        return "", ""
    if both and (more.denying != fewer.denying or "neither" in source.cues + output.cues):
        return "", ""
    surplus = next((cue for cue in more.cues if cue not in fewer.cues), more.cues[0])
    return (surplus, "") if more is source else ("", surplus)
