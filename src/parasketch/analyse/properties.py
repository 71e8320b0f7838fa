"""What can be said of a sentence's form in words: its question word, auxiliary, length, clauses, punctuation, ...

Each property has one value for every sentence, so that it can be crossed with the codes of a model.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from parasketch.text.tagger import TaggedToken, Tagger
from parasketch.text.templates import TemplateKind, build_template, template_text

NONE, OTHER = "none", "other"
MOST_PREFIXES = 24
"""The commonest beginnings are told apart; all others are one value."""

_QUESTION_WORDS = ("who", "whom", "whose", "what", "when", "where", "why", "which", "how")
_BE_FINITE, _DO, _HAVE = ("is", "are", "was", "were", "am"), ("do", "does", "did"), ("has", "have", "had")
_MODALS = ("can", "could", "will", "would", "should", "shall", "may", "might", "must")
_AUXILIARIES = (*_BE_FINITE, *_DO, *_MODALS, *_HAVE)
_BE = ("be", "is", "are", "was", "were", "am", "been", "being", "'s", "'re", "get", "gets", "got")
_FINITE = ("VBD", "VBP", "VBZ", "MD")
_FIRST, _SECOND = ("i", "my", "me", "we", "our", "us", "myself"), ("you", "your", "yours", "yourself")

Tokens = Sequence[TaggedToken]


@dataclass(frozen=True)
class Property:
    """One thing to be said of every sentence."""

    name: str
    values: list[str]
    """Of the sentences, in order."""

    def phrase(self, value: str) -> str:
        """A value in words, for the description of a code."""
        return phrase(self.name, value)


def properties(sentences: Sequence[str], tagger: Tagger, templates: TemplateKind) -> list[Property]:
    """All properties of all sentences."""
    tagged = tagger.tag(sentences)
    found = [Property(name, [tell(tokens) for tokens in tagged]) for name, tell in _TOLD.items()]
    beginnings = [" ".join(template_text(build_template(tokens, templates)).split()[:3]) for tokens in tagged]
    common = {beginning for beginning, _ in Counter(beginnings).most_common(MOST_PREFIXES)}
    prefixes = [beginning if beginning in common else OTHER for beginning in beginnings]
    return [*found, Property("beginning", prefixes)]


def phrase(name: str, value: str) -> str:
    """A property and its value in a few words."""
    said: dict[str, Callable[[str], str]] = {
        "question word": lambda word: "no question word" if word == NONE else f"“{word}” questions",
        "auxiliary": lambda word: "no auxiliary" if word == NONE else f"with “{word}”",
        "length": lambda words: f"{words} words",
        "passive": lambda is_so: "passive" if is_so == "yes" else "not passive",
        "finite verbs": lambda count: "no finite verb" if count == "0" else f"finite verbs: {count}",
        "ending": lambda mark: "no mark at the end" if mark == NONE else f"ends in “{mark}”",
        "comma": lambda is_so: "with a comma" if is_so == "yes" else "without a comma",
        "sentences": lambda count: "one sentence" if count == "1" else "several sentences",
        "person": lambda which: f"{which} person" if which != NONE else "neither I nor you",
        "beginning": lambda words: f"begins “{words} …”",
    }
    return said[name](value)


def _question_word(tokens: Tokens) -> str:
    words = [token.text.lower() for token in tokens]
    for place, word in enumerate(words):
        if word in _QUESTION_WORDS:
            following = words[place + 1] if place + 1 < len(words) else ""
            return f"how {following}" if word == "how" and following in ("many", "much", "long") else word
    return NONE


def _auxiliary(tokens: Tokens) -> str:
    return next((word for token in tokens if (word := token.text.lower()) in _AUXILIARIES), NONE)


def _length(tokens: Tokens) -> str:
    words = sum(any(character.isalnum() for character in token.text) for token in tokens)
    for most, name in ((5, "1 to 5"), (8, "6 to 8"), (11, "9 to 11"), (15, "12 to 15")):
        if words <= most:
            return name
    return "16 or more"


def _passive(tokens: Tokens) -> str:
    """A form of "be" or "get", and a participle soon after it."""
    for place, token in enumerate(tokens):
        if token.text.lower() in _BE and any(other.pos == "VBN" for other in tokens[place + 1 : place + 4]):
            return "yes"
    return "no"


def _finite_verbs(tokens: Tokens) -> str:
    count = sum(token.pos in _FINITE for token in tokens)
    return str(count) if count < 3 else "3 or more"


def _ending(tokens: Tokens) -> str:
    last = tokens[-1].text if tokens else ""
    return last if last in (".", "?", "!") else NONE


def _comma(tokens: Tokens) -> str:
    return "yes" if any(token.text == "," for token in tokens) else "no"


def _sentences(tokens: Tokens) -> str:
    return "2 or more" if any(token.text in (".", "?", "!") for token in tokens[:-1]) else "1"


def _person(tokens: Tokens) -> str:
    words = {token.text.lower() for token in tokens}
    return "first" if words & set(_FIRST) else "second" if words & set(_SECOND) else NONE


_TOLD: dict[str, Callable[[Tokens], str]] = {
    "question word": _question_word,
    "auxiliary": _auxiliary,
    "length": _length,
    "passive": _passive,
    "finite verbs": _finite_verbs,
    "ending": _ending,
    "comma": _comma,
    "sentences": _sentences,
    "person": _person,
}
