"""A text cut into its sentences, so that each can be worked on alone and the white space between them is kept.

Small and careful rather than clever: where it is not certain that a sentence ends, it does not. Points of
abbreviations, initials and decimals end none, nor does anything inside brackets or quotation marks that close later,
nor a mark that a small letter follows ("Yahoo! is ...", "'Why?' he asked"). An empty line always does.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_END = re.compile(
    r"(?P<mark>[.!?…]+)[\"'”’»)\]]*(?P<gap>\s+)(?P<next>[\"'“‘«(\[¿¡]*[^\W_])"  # marks, then a letter or digit
    r"|(?P<wide>[。！？]+[」』”’）]*)(?P<wide_gap>\s*)(?=\S)"  # scripts without spaces
    r"|(?P<blank>\s*\n\s*\n\s*)"
)
_LAST_WORD = re.compile(r"[^\s\"'“‘«(\[]*$")
_FIRST_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NEVER_LAST_WORDS = """
mr mrs ms mx dr prof rev hon gen col maj capt cmdr lt sgt gov sen rep pres st mt ft fr e.g i.e eg ie cf vs viz no nos
fig figs eq vol pp ch sec art approx ca est dept univ jan feb mar apr jun jul aug sep sept oct nov dec
"""
_NEVER_LAST = frozenset(_NEVER_LAST_WORDS.split())  # something follows them by their nature
_ALSO_WORDS = frozenset({"no", "mar", "art", "sec", "ch", "st", "dec"})
_SOMETIMES_LAST_WORDS = "etc inc ltd co corp jr sr esq bros al ave blvd rd a.m p.m am pm ph.d b.c a.d"
_SOMETIMES_LAST = frozenset(_SOMETIMES_LAST_WORDS.split())
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
# With a capital after an abbreviation they begin a sentence, and hardly ever a name.
_STARTING_WORDS = """
a an the this that these those there here he she it we you they i his her its our your their my who what when where why
how which is are was were do does did can could will would should has have if in on at after before but and or so
however then because although while since not no yes please as for from with
"""
_STARTERS = frozenset(_STARTING_WORDS.split())
_QUOTES = {"“": "”", "«": "»", "(": ")", "[": "]"}


@dataclass(frozen=True)
class SplitText:
    """The sentences of a text, and what stands around them."""

    sentences: tuple[str, ...]
    gaps: tuple[str, ...]
    """White space before the first sentence, between each two, and after the last."""

    def join(self, sentences: Sequence[str]) -> str:
        """As many other sentences in the places of these."""
        parts = [self.gaps[0]]
        for sentence, gap in zip(sentences, self.gaps[1:], strict=True):
            parts += [sentence, gap]
        return "".join(parts)


def split_sentences(text: str) -> SplitText:
    """Cut a text; `join` of its own sentences is the text again."""
    body = text.strip()
    before = text[: len(text) - len(text.lstrip())]
    after = text[len(before) + len(body) :]
    sentences, gaps, start = [], [before], 0
    for match in _END.finditer(body):
        if match["blank"]:
            end, resume = match.start(), match.end()
        elif match["wide"]:
            end, resume = match.end("wide"), match.end()
        else:
            end, resume = match.start("gap"), match.end("gap")
            if not _ends(body[start : match.start()], match["mark"], body[match.start("next") :]):
                continue
        if end <= start or (not match["blank"] and _is_open(body[start:end], body[end:])):
            continue
        sentences.append(body[start:end])
        gaps.append(body[end:resume])
        start = resume
    return SplitText((*sentences, body[start:]), (*gaps, after))


def _ends(sentence: str, mark: str, following: str) -> bool:
    """Whether a sentence ends with this mark, given what follows the white space."""
    first = _FIRST_WORD.search(following)
    word = first[0] if first else ""
    if word[:1].islower():
        return False
    if mark in ("...", "…", "...."):
        return word != "I" and not word.startswith("I'")
    if mark != ".":
        return True
    last = _LAST_WORD.search(sentence)
    before = last[0].casefold() if last else ""
    if before in _NEVER_LAST:
        return before in _ALSO_WORDS and _is_start(word)
    if before in _SOMETIMES_LAST or _INITIALS.fullmatch(before):
        return _is_start(word)
    return not (before.isdigit() and sentence.strip() == before)  # "1. First of all" is a list


def _is_start(word: str) -> bool:
    return word.casefold() in _STARTERS and word[:1].isupper()


def _is_open(sentence: str, rest: str) -> bool:
    """Whether a sentence has a bracket or a quotation mark open that closes later."""
    for opening, closing in _QUOTES.items():
        if sentence.count(opening) > sentence.count(closing) and closing in rest:
            return True
    return sentence.count('"') % 2 == 1 and rest.count('"') % 2 == 1
