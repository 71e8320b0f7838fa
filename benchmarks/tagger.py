"""How fast the shipped tagger is: sentences a second of the whole `tag()` call, in one process on one core.

    python benchmarks/tagger.py DATA/qqp/dev.jsonl.gz DATA/mscoco/dev.jsonl.gz

Files hold one JSON object a line; every string in it is tagged once. The tagger remembers the features of words it
has met, so each file is measured twice over: with that memory emptied, as at the start of a job, and again with the
same sentences, the most that memory can give. Times are processor time, which other work on the machine disturbs
less than the clock; next to them stands the ratio to splitting the same sentences at white space.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from parasketch.files import read_lines
from parasketch.text.crf import CrfTagger, forget_words


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _split_at_spaces(sentences: list[str]) -> None:
    for sentence in sentences:
        sentence.split()


def _measure(path: Path, tagger: CrfTagger) -> str:
    sentences = [text for _, line in read_lines(path) for text in _strings(json.loads(line))]
    forget_words()
    cold = _seconds(lambda: tagger.tag(sentences))
    warm = _seconds(lambda: tagger.tag(sentences))
    splitting = _seconds(lambda: _split_at_spaces(sentences))
    return (
        f"{path}: {len(sentences)} sentences; {len(sentences) / cold:.0f} sentences/s at first "
        f"({cold / splitting:.0f} times as long as str.split), {len(sentences) / warm:.0f} sentences/s the second time"
    )


def main() -> None:
    """Print one line of figures a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="JSON lines with sentences")
    arguments = parser.parse_args()
    start = time.process_time()
    tagger = CrfTagger()
    tagger.tag(["How heavy is a moose?"])
    print(f"load and first sentence: {1000 * (time.process_time() - start):.0f} ms")
    for path in arguments.files:
        print(_measure(path, tagger))


if __name__ == "__main__":
    main()
