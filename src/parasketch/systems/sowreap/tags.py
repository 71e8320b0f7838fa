"""Numbers for the tags of words and the labels of phrases, which SOW reads beside the tokens."""

from collections.abc import Iterable, Sequence

from parasketch.systems.sowreap.parses import WHOLE, Node
from parasketch.systems.sowreap.reading import Reading
from parasketch.systems.sowreap.rules import Unit, X

_LABEL = "phrase:"  # a label may be spelled like a tag


class Tags:
    """Names by number; while they are collected new ones are added, otherwise they have none."""

    def __init__(self, names: Sequence[str] | None = None) -> None:
        self.names: list[str] = list(names or [])
        self._numbers = {name: number for number, name in enumerate(self.names)}
        self._collects = names is None

    def of(self, reading: Reading, units: Iterable[Unit], x: Node, y: Node) -> list[int]:
        """The tag of every subword of a phrase with gaps, and the labels of the gaps; -1 for one without a number."""
        found: list[int] = []
        for unit in units:
            if isinstance(unit, str):
                found.append(self._number(_label(reading, x if unit == X else y)))
            else:
                tag = self._number(reading.parse.words[unit].tag)
                found += [tag] * len(reading.word_tokens[unit])
        return found

    def _number(self, name: str) -> int:
        name = "".join(name.split()) or "-"  # names are stored with spaces between them
        if self._collects and name not in self._numbers:
            self._numbers[name] = len(self.names)
            self.names.append(name)
        return self._numbers.get(name, -1)


def _label(reading: Reading, node: Node) -> str:
    return _LABEL + ("" if node.head == WHOLE else reading.parse.words[node.head].label)
