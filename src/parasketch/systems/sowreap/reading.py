"""A text as SOW/REAP reads it: its subwords, its parse, and which subword belongs to which word."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from parasketch.systems.sowreap.parser import Parser
from parasketch.systems.sowreap.parses import Parse
from parasketch.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Reading:
    """A parsed text with its subwords."""

    text: str
    parse: Parse
    tokens: tuple[int, ...]
    """Without begin and end."""
    owners: tuple[int, ...]
    """The word of each subword; they never decrease."""

    @cached_property
    def word_tokens(self) -> list[list[int]]:
        """The subwords of each word; a word may have none, where a subword reaches over two words."""
        found: list[list[int]] = [[] for _ in self.parse.words]
        for token, owner in zip(self.tokens, self.owners, strict=True):
            found[owner].append(token)
        return found


class Reader:
    """Parses and tokenises."""

    def __init__(self, tokenizer: Tokenizer, parser: Parser) -> None:
        self.tokenizer, self.parser = tokenizer, parser

    def __call__(self, texts: Sequence[str], tokens: Sequence[Sequence[int]]) -> list[Reading | None]:
        """The reading of each text that has these subwords; None where parse or subwords do not fit it."""
        found: list[Reading | None] = []
        encoded = self.tokenizer.encode_with_offsets(texts)
        for text, wanted, (ids, spans), parse in zip(texts, tokens, encoded, self.parser.parse(texts), strict=True):
            if not len(parse) or list(wanted) != ids:
                found.append(None)
                continue
            starts = [word.start for word in parse.words]
            owners = tuple(max(0, bisect_right(starts, start) - 1) for start, _ in spans)
            found.append(Reading(text, parse, tuple(ids), owners))
        return found
