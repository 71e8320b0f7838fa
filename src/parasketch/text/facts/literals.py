"""What has to be kept to the letter: addresses, file names, tags, code, versions, quoted phrases."""

import re
from bisect import bisect_left
from typing import NamedTuple

from parasketch.text.facts.words import Token

_DOMAINS = "com|org|net|edu|gov|io|info|co|uk|de|fr|in|eu|ai|dev|app"
_FILES = (
    "py|txt|pdf|docx?|xlsx?|pptx?|csv|tsv|jsonl?|ya?ml|html?|css|js|ts|java|cpp|zip|gz|tar|exe|jpe?g|png|gif|svg|mp[34]"
    "|md|sh|ini|cfg|toml|log|xml|sql|ipynb|apk|bat|dll|rs|go|rb|php"
)
_LITERAL = re.compile(
    r"https?://\S*[\w/]"
    r"|\bwww\.\S*[\w/]"
    r"|(?<![\w.+-])[\w.+-]{1,99}@[\w-]+(?:\.[\w-]+)+"
    rf"|(?<![\w.-])[\w-]{{1,99}}(?:\.[\w-]{{1,99}}){{0,9}}\.(?:{_DOMAINS})\b(?:/\S*[\w/])?"
    rf"|(?<![\w.-])[\w-]{{1,99}}(?:\.[\w-]{{1,99}}){{0,9}}\.(?:{_FILES})\b"
    r"|(?<!\S)(?:~|\.{1,2})?/\w[\w./-]*\w"
    r"|(?<!\S)[A-Z]:\\\S*\w"
    r"|(?<![\w&])#\w*[^\W\d]\w*"
    r"|(?<![\w.])@\w+"
    r"|(?<!\S)--\w[\w-]*|(?<!\S)-[A-Za-z]\b"
    r"|\b(?!\d{1,2}/\d{1,2}/\d{2,4}\b)\d+(?:/\d+){2,}\b"
    r"|\bv\d+(?:\.\d+)*\b|\b\d+(?:\.\d+){2,}\b"
    r"|(?<![\w.])[\w.]{0,99}\w\(\w*\)"
    r"|\b\w+(?:_\w+)+\b|\b\w+::\w+"
    r"|`[^`\n]+`"
)
_MAY_HAVE = re.compile(r"[@#/\\_`:]|\w\.\w|--|\w\(\w*\)|\bv\d| -[A-Za-z]\b")
_QUOTED = re.compile(  # bounded, so that a text full of marks costs no more than another
    r"\"([^\"\n]{1,99})\"|“([^”\n]{1,99})”|«([^»\n]{1,99})»|(?<!\w)'([^'\n]{1,99}(?:'\w[^'\n]{0,99}){0,3})'(?!\w)"
    r"|‘([^’\n]{1,99})’(?!\w)"
)
_MARK = re.compile(r"[\"“«‘]|(?<!\w)'")
_SPEECH = re.compile(r"[.?!…]\W*$|,\s*$")
_MOST_WORDS = 6  # longer quotations are speech, which may be said in other words


class Literal(NamedTuple):
    """A string to be kept."""

    needle: str
    """What the other text must contain: folded; words between single spaces for a quoted phrase."""
    quoted: bool
    start: int
    end: int


def find_literals(text: str) -> list[Literal]:
    """Addresses, file names, tags and code in a text, in order."""
    if _MAY_HAVE.search(text) is None:
        return []
    return [Literal(match[0].strip("`").casefold(), False, *match.span()) for match in _LITERAL.finditer(text)]


def find_quoted(text: str, tokens: list[Token]) -> list[Literal]:
    """Short phrases in quotation marks, in order."""
    if _MARK.search(text) is None:
        return []
    found = []
    for match in _QUOTED.finditer(text):
        start, end = match.span(match.lastindex or 0)
        if _SPEECH.search(text, start, end):
            continue
        first, last = (bisect_left(tokens, place, key=lambda token: token.start) for place in (start, end))
        words = [token.key for token in tokens[first:last] if token.key[0].isalnum()]
        if 0 < len(words) <= _MOST_WORDS:
            found.append(Literal(f" {' '.join(words)} ", True, start, end))
    return found


def blank(text: str, literals: list[Literal]) -> str:
    """The text with spaces where the literals are."""
    for literal in literals:
        text = text[: literal.start] + " " * (literal.end - literal.start) + text[literal.end :]
    return text


def is_kept(literal: Literal, *, flat: str, words: str) -> bool:
    """Whether a text has the literal; `flat` is the text in lower case, `words` its folded words between spaces."""
    if not literal.quoted:
        return literal.needle in flat
    return literal.needle in words or literal.needle.replace(" ", "") in words.replace(" ", "")
