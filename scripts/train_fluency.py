"""Train the check of word order, `src/parasketch/text/models/fluency.safetensors`.

    python scripts/train_fluency.py DATA/qqp/train.jsonl.gz DATA/mscoco/train.jsonl.gz DATA/everyday/train.jsonl.gz ...

Every sentence of the clusters is one right example, and one wrong one with its words shuffled: all of them, or a few
neighbours. A logistic regression over runs of words tells them apart; its weights are stored in 8 bits.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import save
from scipy.sparse import csr_matrix
from sklearn.linear_model import SGDClassifier

from parasketch.data.corpora import gather_clusters, open_corpus
from parasketch.files import write_file
from parasketch.text.fluency import SIZE, WEIGHTS, hashes, words_of

FEWEST_WORDS = 4
NEIGHBOURS = 4
ALL = 0.85
"""Share of the wrong examples in which all words are shuffled."""


def disordered(words: Sequence[str], draw: random.Random) -> str:
    """The words in another order."""
    mixed = list(words)
    while mixed == list(words):
        if draw.random() < ALL:
            draw.shuffle(mixed)
        else:
            start = draw.randrange(len(mixed) - NEIGHBOURS + 1)
            part = mixed[start : start + NEIGHBOURS]
            draw.shuffle(part)
            mixed[start : start + NEIGHBOURS] = part
        if len(set(words)) == 1:
            break
    return " ".join(mixed)


def examples(paths: Sequence[Path], most: int, draw: random.Random) -> Iterator[tuple[str, bool]]:
    """Sentences of each corpus, at most so many, right and wrong by turns."""
    for path in paths:
        sentences = [text for cluster in gather_clusters([open_corpus(path)]) for text in cluster.sentences]
        draw.shuffle(sentences)
        for text in sentences[:most]:
            words = words_of(text)
            if len(words) >= FEWEST_WORDS:
                yield text, True
                yield disordered(words, draw), False


def as_matrix(texts: Sequence[str]) -> csr_matrix:
    """One row a text: what `fluency` adds up."""
    rows = [hashes(text) for text in texts]
    ends = np.cumsum([0, *map(len, rows)])
    values = np.concatenate([np.full(len(row), 1 / np.sqrt(len(row)), np.float32) for row in rows])
    return csr_matrix((values, np.concatenate(rows), ends), shape=(len(rows), SIZE))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clusters", type=Path, nargs="+")
    parser.add_argument("--most", type=int, default=200_000, help="sentences of each file")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(str(WEIGHTS)))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    texts, right = zip(*examples(arguments.clusters, arguments.most, draw), strict=True)
    print(f"{len(texts):,} examples")
    model = SGDClassifier(
        loss="log_loss", alpha=4e-7, max_iter=arguments.epochs, tol=None, average=True, random_state=arguments.seed
    )
    model.fit(as_matrix(texts), np.array(right))
    weights = model.coef_[0]
    scale = float(np.quantile(np.abs(weights), 0.9999)) / 127
    content = {
        "weights": np.clip(np.round(weights / scale), -127, 127).astype(np.int8),
        "scale_and_bias": np.array([scale, model.intercept_[0]], dtype=np.float64),
    }
    with write_file(arguments.out) as path:
        path.write_bytes(save(content))


if __name__ == "__main__":
    main()
