"""Does `like=` do as it is told? Pairs of an input and an exemplar of another item, with and without the exemplar.

    python scripts/check_like.py questions --data qqp/dev.jsonl.gz --templates chunk

An output follows its exemplar if it begins with the exemplar's first word and its template is at most two slots longer
or shorter than the exemplar's.
"""

import argparse
from collections.abc import Sequence

import numpy as np

from parasketch.data.corpora import read_eval
from parasketch.generate.paraphraser import Paraphraser
from parasketch.text.tagger import Tagger, load_tagger
from parasketch.text.templates import TemplateKind, build_template

NEAR = 2


def shapes(texts: Sequence[str], tagger: Tagger, kind: TemplateKind) -> list[tuple[str, int]]:
    """First word and template length of each text."""
    tagged = tagger.tag(texts)
    return [(tokens[0].text.lower() if tokens else "", len(build_template(tokens, kind))) for tokens in tagged]


def share_followed(outputs: Sequence[tuple[str, int]], exemplars: Sequence[tuple[str, int]]) -> float:
    """How many of the outputs follow their exemplars, both given as shapes."""
    pairs = list(zip(outputs, exemplars, strict=True))
    return sum(mine[0] == wanted[0] and abs(mine[1] - wanted[1]) <= NEAR for mine, wanted in pairs) / len(pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="name or directory of the model")
    parser.add_argument("--data", required=True, help="evaluation items of the development set")
    parser.add_argument("--templates", choices=["chunk", "pos"], required=True)
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    items = list(read_eval(options.data))
    # Two different places of a permutation are two different items, so an exemplar is never the input's own.
    order = np.random.default_rng(options.seed).permutation(len(items))
    inputs = [items[place].input for place in order[: options.pairs]]
    exemplars = [items[place].input for place in np.roll(order, 1)[: options.pairs]]
    paraphraser = Paraphraser.from_pretrained(options.model)
    told = [found[0].text for found in paraphraser(inputs, like=exemplars, show_progress=True)]
    free = [found[0].text for found in paraphraser(inputs, show_progress=True)]
    tagger = load_tagger("crf")
    told_shapes, free_shapes, wanted = (shapes(texts, tagger, options.templates) for texts in (told, free, exemplars))
    with_it, without = share_followed(told_shapes, wanted), share_followed(free_shapes, wanted)
    print(f"{len(inputs)} pairs: {with_it:.1%} follow the exemplar, {without:.1%} would have without it", end=" ")
    print(f"({with_it / max(without, 1e-9):.1f} times as often)")


if __name__ == "__main__":
    main()
