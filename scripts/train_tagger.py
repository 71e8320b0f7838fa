"""Train the shipped tagger: label real sentences with a stronger tagger, train two CRFs, evaluate them.

    python scripts/train_tagger.py DATA --work WORK --label       (needs spaCy with en_core_web_md)
    python scripts/train_tagger.py DATA --work WORK --train       (a quarter of an hour of one core)
    python scripts/train_tagger.py DATA --work WORK --evaluate

DATA is the data directory: conll2000/, qqp/, mscoco/ and flickr30k/. News text has hand-checked chunks (CoNLL-2000);
questions and captions have none, so both models also learn from what spaCy says about training sentences of those
sets ("silver" tags). Sentences of dev and test sets are only ever evaluated on. docs/tagger.md explains the steps.
"""

import argparse
import json
import random
import shutil
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from parasketch.console import console, track
from parasketch.errors import DataError
from parasketch.files import read_lines, write_text
from parasketch.text.crf import CrfModel, Item, chunk_items, pos_items
from parasketch.text.words import split_words

MODELS = Path(__file__).parents[1] / "src" / "parasketch" / "text" / "models"

POS_SENTENCES = {"qqp": 25_000, "mscoco": 12_000, "flickr30k": 3_000}
"""Silver sentences a set to learn parts of speech from."""
CHUNK_SENTENCES = {"qqp": 6_000, "mscoco": 3_000, "flickr30k": 0}
"""Further silver sentences a set to learn chunks from; their tags are predicted, as they will be in use."""
DEV_SENTENCES = 2_000
FOLDS = 3

CHUNK_OF = {
    **dict.fromkeys(["VB", "VBD", "VBP", "VBZ"], "VP"),
    **dict.fromkeys(["NN", "NNS", "NNP", "NNPS", "CD"], "NP"),
    **dict.fromkeys(["JJ", "JJR", "JJS"], "ADJP"),
}
"""Chunk types of content words that stand in no chunk or in a wrong one ("" is outside)."""
MISPLACED = {tag: {"VP": ("NP", "ADJP"), "NP": ("", "ADVP"), "ADJP": ("",)}[kind] for tag, kind in CHUNK_OF.items()}

# c1 (L1) decides the size of a model; the values keep both together below 4 MB.
POS_PARAMETERS = {"c1": 1.2, "c2": 0.01, "max_iterations": 90}
FOLD_PARAMETERS = {"c1": 1.0, "c2": 0.01, "max_iterations": 70}
CHUNK_PARAMETERS = {"c1": 1.0, "c2": 0.01, "max_iterations": 100}


class Labelled(NamedTuple):
    """A sentence with one tag a word, and chunk labels (B-NP, I-NP, ..., O) if they are known."""

    words: list[str]
    tags: list[str]
    chunks: list[str]


def read_conll(path: Path) -> list[Labelled]:
    """Sentences of `word tag chunk` lines, parted by empty lines; brackets get their Treebank tags."""
    sentences: list[Labelled] = []
    current = Labelled([], [], [])
    for number, line in read_lines(path):
        columns = line.split()
        if columns and len(columns) != 3:
            raise DataError(f"{len(columns)} columns", path=path, line=number, expected="word, tag and chunk")
        if columns:
            current.words.append(columns[0])
            current.tags.append({"(": "-LRB-", ")": "-RRB-"}.get(columns[1], columns[1]))
            current.chunks.append(columns[2])
        elif current.words:
            sentences.append(current)
            current = Labelled([], [], [])
    return [*sentences, current] if current.words else sentences


# ---- label ----------------------------------------------------------------------------------------------------------


def label(data: Path, work: Path, model: str) -> None:
    """Let spaCy tag our words of training sentences, and its own words of dev sentences."""
    import spacy
    from spacy.tokens import Doc

    nlp = spacy.load(model, exclude=["parser", "ner", "lemmatizer", "attribute_ruler"])

    def documents(sentences: Iterable[tuple[list[str], list[bool]]]) -> Iterator[Any]:
        return nlp.pipe(Doc(nlp.vocab, words=words, spaces=spaces) for words, spaces in sentences)

    conll = read_conll(data / "conll2000" / "train.txt.gz")
    _write_tags(work / "conll2000.jsonl.gz", documents((row.words, [True] * len(row.words)) for row in conll))
    for name in POS_SENTENCES:
        wanted = POS_SENTENCES[name] + CHUNK_SENTENCES[name]
        sample = _training_sample(data / name / "train.jsonl.gz", wanted)
        _write_tags(work / f"{name}.jsonl.gz", documents(map(_words_and_spaces, sample)))
    for name in ("qqp", "mscoco"):
        with write_text(work / f"{name}-dev.jsonl.gz") as stream:
            for document in nlp.pipe(_dev_sentences(data / name / "dev.jsonl.gz")):
                spans = [[token.idx, token.idx + len(token), token.tag_] for token in document]
                stream.write(json.dumps([document.text, spans]) + "\n")


def _training_sample(path: Path, size: int) -> list[str]:
    sentences = {text for _, line in read_lines(path) for text in json.loads(line)["sentences"] if split_words(text)}
    return random.Random(0).sample(sorted(sentences), size)


def _words_and_spaces(sentence: str) -> tuple[list[str], list[bool]]:
    words = split_words(sentence)
    spaces = [word.end < after.start for word, after in pairwise(words)]
    return [word.text for word in words], [*spaces, False]


def _dev_sentences(path: Path) -> list[str]:
    """Distinct inputs, then references, up to the number wanted."""
    rows = [json.loads(line) for _, line in read_lines(path)]
    texts = [row["input"] for row in rows] + [text for row in rows for text in row["references"]]
    return list(dict.fromkeys(texts))[:DEV_SENTENCES]


def _write_tags(path: Path, documents: Iterable[Any]) -> None:
    with write_text(path) as stream:
        for document in track(documents, f"tagging {path.name}"):
            stream.write(json.dumps([[token.text for token in document], [token.tag_ for token in document]]) + "\n")


def read_silver(path: Path) -> list[Labelled]:
    """Sentences written by `--label`, without chunks."""
    return [Labelled(*json.loads(line), []) for _, line in read_lines(path)]


# ---- train ----------------------------------------------------------------------------------------------------------


def train(data: Path, work: Path) -> None:
    """Train both models in `work`, then put them into the package."""
    news = read_silver(work / "conll2000.jsonl.gz")
    silver = {name: read_silver(work / f"{name}.jsonl.gz") for name in POS_SENTENCES}
    for_tags = [row for name, rows in silver.items() for row in rows[: POS_SENTENCES[name]]]
    for_chunks = [row for name, rows in silver.items() for row in rows[POS_SENTENCES[name] :]]

    pos_model = fit_pos(news + for_tags, work / "pos.crfsuite", POS_PARAMETERS)
    gold = read_conll(data / "conll2000" / "train.txt.gz")
    chunked = gold + _with_predicted_tags(gold, news, for_tags, work)
    teacher = fit_chunks(chunked, work / "teacher.crfsuite", CHUNK_PARAMETERS)
    silver_chunks = _silver_chunks(for_chunks, teacher, pos_model)
    fit_chunks([*chunked, *silver_chunks], work / "chunk.crfsuite", CHUNK_PARAMETERS)
    for name in ("pos.crfsuite", "chunk.crfsuite"):
        shutil.copyfile(work / name, MODELS / f"{name}.new")
        (MODELS / f"{name}.new").replace(MODELS / name)


def _with_predicted_tags(
    gold: Sequence[Labelled], news: Sequence[Labelled], others: Sequence[Labelled], work: Path
) -> list[Labelled]:
    """The gold chunks again, on tags that a model predicts which has not seen the sentence.

    A chunker that only ever saw right tags trusts them too much.
    """
    predicted: list[Labelled] = []
    for fold in range(FOLDS):
        rest = [row for place, row in enumerate(news) if place % FOLDS != fold]
        model = fit_pos(rest + list(others[::4]), work / f"fold{fold}.crfsuite", FOLD_PARAMETERS)
        predicted.extend(row._replace(tags=model.tag(pos_items(row.words))) for row in gold[fold::FOLDS])
    return predicted


def _silver_chunks(rows: Iterable[Labelled], teacher: CrfModel, pos_model: CrfModel) -> Iterator[Labelled]:
    """Chunks as the teacher sees them on spaCy's tags, to be learnt on predicted tags."""
    for words, tags, _ in rows:
        chunks = repair_chunks(tags, teacher.tag(chunk_items(words, tags)))
        yield Labelled(words, pos_model.tag(pos_items(words)), chunks)


def repair_chunks(tags: Sequence[str], chunks: Sequence[str]) -> list[str]:
    """Mend what news text cannot teach about questions: verbs inside noun phrases ("Does yoga help people?"), and
    content words outside every chunk ("How heavy is it?"), which a template could never exchange.
    """
    repaired: list[str] = []
    for tag, chunk in zip(tags, chunks, strict=True):
        begin, _, kind = chunk.partition("-")
        if kind in MISPLACED.get(tag, ()):
            kind = CHUNK_OF[tag]
        inside = begin == "I" and bool(repaired) and repaired[-1].endswith(f"-{kind}")
        repaired.append(f"{'I' if inside else 'B'}-{kind}" if kind else "O")
    return repaired


def fit_pos(rows: Iterable[Labelled], path: Path, parameters: dict[str, float]) -> CrfModel:
    """A model of parts of speech, written to `path`."""
    return _fit(((pos_items(row.words), row.tags) for row in rows), path, parameters)


def fit_chunks(rows: Iterable[Labelled], path: Path, parameters: dict[str, float]) -> CrfModel:
    """A model of chunks given words and tags, written to `path`."""
    return _fit(((chunk_items(row.words, row.tags), row.chunks) for row in rows), path, parameters)


def _fit(examples: Iterable[tuple[list[Item], list[str]]], path: Path, parameters: dict[str, float]) -> CrfModel:
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False)
    for items, labels in examples:
        trainer.append(items, labels)
    trainer.select("lbfgs")
    trainer.set_params(parameters)  # c1 is an L1 penalty: it leaves most features at zero, and so out of the file
    trainer.train(str(path))
    console.print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")
    return CrfModel(path.read_bytes())


# ---- evaluate -------------------------------------------------------------------------------------------------------


def evaluate(data: Path, work: Path) -> None:
    """Print chunk F1 on the CoNLL-2000 test set, and agreement with spaCy on dev questions and captions."""
    pos_model, chunk_model = (CrfModel((MODELS / f"{kind}.crfsuite").read_bytes()) for kind in ("pos", "chunk"))
    gold = read_conll(data / "conll2000" / "test.txt.gz")
    predicted = [row._replace(tags=pos_model.tag(pos_items(row.words))) for row in gold]
    print(f"CoNLL-2000 test, tags of the file: chunk F1 {chunk_f1(gold, chunk_model):.2f}")
    print(f"CoNLL-2000 test, predicted tags:   chunk F1 {chunk_f1(predicted, chunk_model):.2f}")
    for name in ("qqp", "mscoco"):
        equal, total = _agreement(work / f"{name}-dev.jsonl.gz", pos_model)
        print(f"{name} dev: {100 * equal / total:.2f} % of {total} aligned tokens have spaCy's tag")


def chunk_f1(rows: Iterable[Labelled], model: CrfModel) -> float:
    """F1 (per cent) of whole chunks, as in the shared task: right are those with both ends and the type right."""
    right = found = wanted = 0
    for row in rows:
        expected = chunk_spans(row.chunks)
        actual = chunk_spans(model.tag(chunk_items(row.words, row.tags)))
        right, found, wanted = right + len(expected & actual), found + len(actual), wanted + len(expected)
    return 200 * right / (found + wanted)


def chunk_spans(labels: Sequence[str]) -> set[tuple[int, int, str]]:
    """(first, past the last, type) of every chunk in a sequence of B-, I- and O labels."""
    spans: set[tuple[int, int, str]] = set()
    start, kind = 0, ""
    for place, label_text in enumerate([*labels, "O"]):
        begin, _, new_kind = label_text.partition("-")
        if begin != "I" or new_kind != kind:
            if kind:
                spans.add((start, place, kind))
            start, kind = place, new_kind
    return spans


def _agreement(path: Path, model: CrfModel) -> tuple[int, int]:
    """How many of the tokens that both tokenisers cut at the same places have the same tag, and how many there are."""
    equal = total = 0
    for _, line in read_lines(path):
        sentence, spans = json.loads(line)
        theirs = {(start, end): tag for start, end, tag in spans}
        words = split_words(sentence)
        for word, tag in zip(words, model.tag(pos_items([word.text for word in words])), strict=True):
            expected = theirs.get((word.start, word.end))
            equal, total = equal + (expected == tag), total + (expected is not None)
    return equal, total


def main() -> None:
    """Run one step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the data directory")
    parser.add_argument("--work", type=Path, required=True, help="directory for silver tags and interim models")
    parser.add_argument("--spacy-model", default="en_core_web_md", help="name or path of the model that labels")
    step = parser.add_mutually_exclusive_group(required=True)
    step.add_argument("--label", action="store_true", help="tag sentences with spaCy, into WORK")
    step.add_argument("--train", action="store_true", help="train both models, into the package")
    step.add_argument("--evaluate", action="store_true", help="print F1 and agreement of the models in the package")
    arguments = parser.parse_args()
    if arguments.label:
        label(arguments.data, arguments.work, arguments.spacy_model)
    elif arguments.train:
        train(arguments.data, arguments.work)
    else:
        evaluate(arguments.data, arguments.work)


if __name__ == "__main__":
    main()
