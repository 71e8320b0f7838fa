"""How much text survives the tokenisers: BLEU of decode(encode(reference)) against the reference.

A system's outputs pass through its tokeniser, so this is the highest score that any system could get. Give
the data directory (with `mscoco/` and `qqp/`, each holding `train.jsonl.gz` and `dev.jsonl.gz`) and, if you
have it, BERT's `vocab.txt`:

    python scripts/check_round_trip.py DATA --bert-vocab vocab.txt
"""

import argparse
import json
import time
from pathlib import Path

import sacrebleu

from parasketch.files import read_lines
from parasketch.text.tokenizer import Tokenizer

CORPORA = ("mscoco", "qqp")


def rows(path: Path, field: str) -> list[str]:
    """All the sentences in one field of a JSON-lines file of clusters."""
    return [sentence for _, line in read_lines(path) for sentence in json.loads(line)[field]]


def report(name: str, tokenizer: Tokenizer, data: Path) -> None:
    """Print the round trip of every corpus through one tokeniser."""
    for corpus in CORPORA:
        references = rows(data / corpus / "dev.jsonl.gz", "references")
        started = time.perf_counter()
        ids = tokenizer.encode_batch(references)
        decoded = tokenizer.decode_batch(ids)
        seconds = time.perf_counter() - started
        bleu = sacrebleu.corpus_bleu(decoded, [references], lowercase=True).score
        differ = sum(text != reference.lower() for text, reference in zip(decoded, references, strict=True))
        print(
            f"{name:8} {corpus:7} BLEU {bleu:7.3f}  differ {differ:4d} of {len(references)}  "
            f"tokens/sentence {sum(map(len, ids)) / len(ids):5.2f}  sentences/s {len(ids) / seconds:,.0f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the data directory")
    parser.add_argument("--bert-vocab", type=Path, help="bert-base-uncased's vocab.txt")
    arguments = parser.parse_args()
    sentences = [s for corpus in CORPORA for s in rows(arguments.data / corpus / "train.jsonl.gz", "sentences")]
    started = time.perf_counter()
    subword = Tokenizer.train(sentences)
    seconds = time.perf_counter() - started
    print(f"trained {subword.vocab_size} subwords on {len(sentences)} sentences in {seconds:.1f} s")
    report("subword", subword, arguments.data)
    if arguments.bert_vocab:
        report("bert", Tokenizer.from_bert_vocab(arguments.bert_vocab), arguments.data)


if __name__ == "__main__":
    main()
