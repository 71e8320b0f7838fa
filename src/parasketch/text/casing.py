"""Capitals for lower-case output, taken from the sentence that it paraphrases.

Models write lower-case text. The source shows how its author writes (without capitals, In Title Case, or with
capitals at sentence starts and in names), and it shows the names themselves. Nothing else is known: a word that
the source does not contain stays lower-case unless it starts a sentence.
"""

import re
from collections import Counter, defaultdict
from itertools import zip_longest
from typing import NamedTuple

# Letters and digits, also around an inner apostrophe, point or ampersand: don't, U.S, AT&T.
_WORD = re.compile(r"[^\W_]+(?:['’.&][^\W_]+)*")
_ENDING = re.compile(r"['’](?:s|m|re|ve|ll|d)$", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]]*\s")
_ABBREVIATION = re.compile(r"(?:[a-z]\.)+[a-z]|vs|dr|mr|mrs|ms|st|jr|sr|prof|rs")

# Words too common for their capitals to mean the same elsewhere: IT or it, A or a, The Beatles or the moon.
_COMMON_WORDS = """
a about after all am an and any are as at be because been before being best but by can could did do does doing for
from get good had has have he her his how i if in into is it its just like make many may me more most much must my
no not of off on one only or our out over people should so some such than that the their them then there these they
this those to too under up use very was we were what when where which while who whom whose why will with without
would you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())
# Words that Title Case leaves small.
_SMALL = frozenset(
    {"a", "an", "and", "as", "at", "but", "by", "for", "from", "in", "nor", "of", "on", "or", "the", "to"}
)


class _Word(NamedTuple):
    start: int
    form: str  # without a possessive or another clitic
    key: str  # the form in lower case
    before: str  # the keys of its neighbours, "" beyond the ends
    after: str
    starts_sentence: bool


class _Capitals(NamedTuple):
    """What a source tells about capitals."""

    anywhere: dict[str, str]  # key: form
    after_word: dict[tuple[str, str], str]  # (key before, key): form, for words that mean it only there
    before_word: dict[tuple[str, str], str]  # (key, key after): form
    title_case: bool


def restore_case(text: str, source: str) -> str:
    """`text` with the capitals that the author of `source` would have given it.

    A source without capitals gives none; a source IN CAPITALS gives them to sentence starts and "I" only.
    """
    text = text.lower()
    if source == source.lower():
        return text
    words = _words(source)
    shouted = source.isupper() and len(words) > 1
    capitals = _learn([] if shouted else words)
    parts, end = [], 0
    for word in _words(text):
        parts += [text[end : word.start], _form(word, capitals)]
        end = word.start + len(word.form)
    return "".join([*parts, text[end:]])


def _form(word: _Word, capitals: _Capitals) -> str:
    form = (
        (word.before and capitals.after_word.get((word.before, word.key)))
        or (word.after and capitals.before_word.get((word.key, word.after)))
        or capitals.anywhere.get(word.key, word.key)
    )
    in_title = capitals.title_case and word.key not in _SMALL
    if form == word.key and (word.starts_sentence or in_title or word.key == "i"):
        capital = form[0].upper()
        return capital + form[1:] if capital.lower() == form[0] else form  # "ß" has no capital
    return form


def _words(text: str) -> list[_Word]:
    matches = list(_WORD.finditer(text))
    forms = [_ENDING.sub("", match[0]) for match in matches]
    keys = ["", *(form.lower() for form in forms), ""]
    words, end = [], 0
    for position, (match, form) in enumerate(zip(matches, forms, strict=True)):
        before, key, after = keys[position : position + 3]
        starts = position == 0 or _ends_sentence(before, text[end : match.start()])
        words.append(_Word(match.start(), form, key, before, after, starts))
        end = match.end()
    return words


def _ends_sentence(word: str, gap: str) -> bool:
    """Does a sentence end in the gap after this word?"""
    abbreviated = gap.startswith(".") and _ABBREVIATION.fullmatch(word)
    return not abbreviated and _SENTENCE_END.search(gap) is not None


def _learn(words: list[_Word]) -> _Capitals:
    seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    after_word, before_word = {}, {}
    for word, following in zip_longest(words, words[1:]):
        if word.starts_sentence and word.form == word.form.capitalize():
            # The place explains this capital, unless a name begins here: "Donald Trump", "New York".
            if word.key not in _COMMON and following and _begins_name(following):
                before_word[word.key, word.after] = word.form
        elif word.key in _COMMON:
            after_word[word.before, word.key] = before_word[word.key, word.after] = word.form
        else:
            seen[word.key][word.form] += 1
    anywhere = {key: max(forms, key=lambda form: (forms[form], form.islower())) for key, forms in seen.items()}
    return _Capitals(anywhere, after_word, before_word, _is_title_case(words))


def _begins_name(word: _Word) -> bool:
    return word.form[:1].isupper() and word.key not in _COMMON


def _is_title_case(words: list[_Word]) -> bool:
    inner = [word.form for word in words if not word.starts_sentence and word.key not in _SMALL]
    return len(inner) >= 3 and all(not form[:1].islower() for form in inner)
