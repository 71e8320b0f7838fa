"""Wrong sentences from right ones, by one changed word: what a generator gets wrong and word overlap does not see.

Each kind of mistake is a function of a tagged sentence that gives the changed text, or None where there is nothing of
its kind to change. All chance comes from the generator that is passed in. Mistakes of form (details, order, ends) are
in mistakes_of_form.py; `MISTAKES` there names all kinds.
"""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parasketch.text.tagger import TaggedToken
from parasketch.verify.bank import Bank
from parasketch.verify.word_lists import (
    AMOUNTS,
    GENERIC,
    MODALS,
    NUMBER_WORDS,
    OPPOSITES,
    PAST,
    PERSONS,
    QUESTIONS,
    SAME_KIND,
    TENSES,
)

_BE = frozenset(["is", "are", "was", "were", "am", "'s", "'re", "'m"])
_AUXILIARY = _BE | frozenset(
    [
        "will",
        "can",
        "could",
        "should",
        "would",
        "must",
        "may",
        "might",
        "do",
        "does",
        "did",
        "has",
        "have",
        "had",
        "'ll",
    ]
)
_SHORT = {"is": "isn't", "are": "aren't", "was": "wasn't", "were": "weren't", "can": "can't", "could": "couldn't"} | {
    word: f"{word}n't" for word in ["should", "would", "do", "does", "did", "has", "have", "had"]
}
_UNSHORT = {"ca": "can", "wo": "will", "sha": "shall"}
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True)
class Sentence:
    """A sentence with its tags."""

    text: str
    tokens: Sequence[TaggedToken]
    is_question: bool = False

    def replaced(self, first: int, last: int, new: str) -> str:
        """The text with the tokens first to last, both included, replaced; the casing of the first letter is kept."""
        start, end = self.tokens[first].start, self.tokens[last].end
        if first == 0 and self.text[:1].isupper():
            new = new[:1].upper() + new[1:]
        return self.text[:start] + new + self.text[end:]

    def without(self, first: int, last: int) -> str:
        """The text without the tokens first to last, both included."""
        before, after = self.text[: self.tokens[first].start].rstrip(), self.text[self.tokens[last].end :].lstrip()
        glue = "" if not before or after[:1] in (".", ",", "?", "!", ";", ":", "") else " "
        text = before + glue + after
        return text[:1].upper() + text[1:] if first == 0 and self.text[:1].isupper() else text


def negation(sentence: Sentence, draw: random.Random, bank: Bank) -> str | None:
    """A negation dropped if there is one, else added."""
    tokens = sentence.tokens
    words = [token.text.lower() for token in tokens]
    for place, word in enumerate(words):
        if word in ("n't", "n’t") and place:
            helper = _UNSHORT.get(words[place - 1], tokens[place - 1].text)
            return sentence.replaced(place - 1, place, helper)
        if word in ("not", "never") and place:
            return sentence.without(place, place)
        if word == "no" and place and place + 1 < len(words) and words[place + 1] not in (",", "one", "longer"):
            return sentence.replaced(place, place, draw.choice(["some", "the", "a lot of"]))
    for place, word in enumerate(words):
        if word in _AUXILIARY and tokens[place].pos[:1] in ("V", "M") and (place or not sentence.is_question):
            if word in _SHORT and draw.random() < 0.6:
                return sentence.replaced(place, place, _SHORT[word])
            where = place + 1 if sentence.is_question and place + 1 < len(tokens) else place
            return sentence.replaced(where, where, f"{tokens[where].text} {draw.choice(['not', 'not', 'never'])}")
    return _negated_verb(sentence, draw, bank)


def _negated_verb(sentence: Sentence, draw: random.Random, bank: Bank) -> str | None:
    for place, token in enumerate(sentence.tokens):
        if token.pos == "VB" and place == 0:
            return sentence.replaced(0, 0, f"{draw.choice(['Do not', 'Don’t', 'Never'])} {token.text.lower()}")
        if token.pos in ("VBD", "VBZ", "VBP") and place and (base := base_form(token.text, bank)):
            if draw.random() < 0.15:
                return sentence.replaced(place, place, f"never {token.text}")
            helper = {"VBD": "did", "VBZ": "does", "VBP": "do"}[token.pos]
            return sentence.replaced(
                place, place, f"{helper}{draw.choice([' not', 'n’t', 'n’t'])} {base}".replace("’", "'")
            )
    return None


def base_form(verb: str, bank: Bank) -> str | None:
    """The base of an inflected verb, if it is one that was seen."""
    verb = verb.lower()
    tries = [PAST.get(verb, ""), verb, verb[:-1], verb[:-2], verb[:-3] + "y", verb[:-3]]
    endings = ("ied", "ies", "ed", "es", "s", "d")
    for attempt in tries if verb.endswith(endings) or verb in PAST else [verb]:
        if attempt in bank.bases:
            return attempt
    return None


def number(sentence: Sentence, draw: random.Random, bank: Bank) -> str | None:
    """Another number in digits or in words."""
    del bank
    places = [
        place
        for place, token in enumerate(sentence.tokens)
        if _DIGITS.search(token.text)
        or (token.pos == "CD" and token.text.lower() in NUMBER_WORDS and token.text.lower() != "one")
    ]
    if not places:
        return None
    place = draw.choice(places)
    word = sentence.tokens[place].text
    if word.lower() in NUMBER_WORDS:
        return sentence.replaced(place, place, draw.choice([other for other in NUMBER_WORDS if other != word.lower()]))
    found = draw.choice(list(_DIGITS.finditer(word)))
    return sentence.replaced(place, place, word[: found.start()] + _other_number(found[0], draw) + word[found.end() :])


def _other_number(digits: str, draw: random.Random) -> str:
    while True:
        if len(digits) < 4 and draw.random() < 0.4:
            changed = str(max(0, int(digits) + draw.choice([-3, -2, -1, 1, 2, 3, 5, 10])))
        else:
            place = draw.randrange(len(digits))
            changed = digits[:place] + str(draw.randrange(place == 0, 10)) + digits[place + 1 :]
        if int(changed) != int(digits):
            return changed


def name(sentence: Sentence, draw: random.Random, bank: Bank) -> str | None:
    """Another name of the corpus in the place of one."""
    places = [
        place
        for place, token in enumerate(sentence.tokens)
        if token.pos == "NNP" and token.text[0].isupper() and token.text.isalpha() and len(token.text) > 1
    ]
    if not places or not bank.names:
        return None
    place = draw.choice(places)
    other = draw.choice(bank.names)
    return None if other == sentence.tokens[place].text else sentence.replaced(place, place, other)


def opposite(sentence: Sentence, draw: random.Random, bank: Bank) -> str | None:
    """The opposite of a word."""
    del bank
    return _from_table(sentence, draw, OPPOSITES)


def same_kind(sentence: Sentence, draw: random.Random, bank: Bank) -> str | None:
    """Another colour, weekday, month, animal, dish, ..."""
    del bank
    return _from_table(sentence, draw, SAME_KIND)


def amount(sentence: Sentence, draw: random.Random, bank: Bank) -> str | None:
    """All, some, most, always, never, only, ...; in questions "some" and "any" say little."""
    del bank
    table = {
        word: new for word, new in AMOUNTS.items() if not (sentence.is_question and word in ("some", "any", "all"))
    }
    return _from_table(sentence, draw, table)


def person(sentence: Sentence, draw: random.Random, bank: Bank) -> str | None:
    """I for you, he for she; not where it means anybody."""
    del bank
    table = {word: new for word, new in PERSONS.items() if not (sentence.is_question and word in GENERIC)}
    return _from_table(sentence, draw, table)


def tense(sentence: Sentence, draw: random.Random, bank: Bank) -> str | None:
    """Another time or another duty: is for was, must for may, will for did."""
    changed = _from_table(sentence, draw, {**MODALS, **({} if sentence.is_question else TENSES)})
    if changed and draw.random() < 0.7:
        return changed
    for place, token in enumerate(sentence.tokens):
        if token.text.lower() in _AUXILIARY or token.pos not in ("VBD", "VBZ") or not place:
            continue
        if base := base_form(token.text, bank):
            helper = draw.choice(["will", "might", "used to" if token.pos == "VBZ" else "will", "wants to"])
            return sentence.replaced(place, place, f"{helper} {base}")
    return changed


def question_word(sentence: Sentence, draw: random.Random, bank: Bank) -> str | None:
    """When for where, why for how."""
    del bank
    return _from_table(sentence, draw, QUESTIONS) if sentence.is_question else None


def other_word(sentence: Sentence, draw: random.Random, bank: Bank) -> str | None:
    """A content word of the same neighbourhood that is no synonym."""
    places = [place for place, token in enumerate(sentence.tokens) if bank.neighbours.get((token.text, token.pos))]
    if not places:
        return None
    place = draw.choice(places)
    token = sentence.tokens[place]
    return sentence.replaced(place, place, draw.choice(bank.neighbours[token.text, token.pos]))


def _from_table(sentence: Sentence, draw: random.Random, table: Mapping[str, Sequence[str]]) -> str | None:
    """One word, or two words side by side, replaced by what a table has for them."""
    texts = [token.text for token in sentence.tokens]
    texts = [texts[0].lower() if texts and texts[0] not in table else texts[0], *texts[1:]] if texts else []
    places = [(place, place) for place, text in enumerate(texts) if text in table]
    pairs = [(place, place + 1) for place in range(len(texts) - 1) if " ".join(texts[place : place + 2]) in table]
    if not places and not pairs:
        return None
    first, last = draw.choice(pairs or places)
    new = draw.choice(table[" ".join(texts[first : last + 1])])
    return sentence.replaced(first, last, new)
