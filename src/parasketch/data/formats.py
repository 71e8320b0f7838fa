"""Readers for the formats in which paraphrase corpora are published, one small function each.

All of them stream: a reader holds one line at a time, except for COCO's captions, which are one JSON document
whose parts have to be grouped.
"""

import json
from collections.abc import Iterator
from typing import Any

from parasketch.data.records import Cluster, EvalItem, Source, clean_sentence, clean_sentences
from parasketch.errors import DataError

CLUSTER_KEYS = ("sentences", "qs")
EVAL_KEYS = (("input", "references"), ("sem_input", "paras"))
_CLUSTER_EXAMPLE = '{"sentences": ["...", "..."]} or {"qs": [...]}'
_EVAL_EXAMPLE = '{"input": "...", "references": ["..."]} or {"sem_input": "...", "paras": [...]}'


def read_cluster_jsonl(source: Source) -> Iterator[Cluster]:
    """`{"sentences": [...]}`, or the paper's `{"qs": [...]}`, one cluster a line."""
    return source.records(_parse_cluster)


def read_eval_jsonl(source: Source) -> Iterator[EvalItem]:
    """`{"input", "references"}`, or the paper's `{"sem_input", "paras", ...}`, one item a line."""
    return source.records(_parse_eval)


def read_eval_as_clusters(source: Source) -> Iterator[Cluster]:
    """Evaluation items as clusters: the input first, then its references."""
    for item in read_eval_jsonl(source):
        yield Cluster((item.input, *item.references))


def read_coco(source: Source) -> Iterator[Cluster]:
    """COCO's `captions_*.json` (2014 and 2017): the captions of an image are a cluster, in file order."""
    captions: dict[object, list[str]] = {}
    for number, annotation in enumerate(_coco_annotations(source), 1):
        try:
            image, caption = _parse_annotation(annotation)
        except DataError as error:
            problem = f"annotation {number}: {error.problem}"
            source.on_bad(DataError(problem, path=source.name, expected=error.expected))
            continue
        captions.setdefault(image, []).append(caption)
    for sentences in captions.values():
        yield Cluster(tuple(sentences))


def read_paralex(source: Source) -> Iterator[Cluster]:
    """Paralex's `word_alignments.txt`: question, question and alignment, separated by tabs."""
    return source.records(_parse_alignment)


def read_tabbed(source: Source) -> Iterator[Cluster]:
    """One cluster a line, separated by tabs; in WikiAnswers' lines `q:` marks questions, `a:` answers."""
    return source.records(_parse_tabbed)


def read_text(source: Source) -> Iterator[Cluster]:
    """One sentence a line, a blank line between clusters."""
    sentences: list[str] = []
    for sentence in source.records(lambda line: clean_sentence(line) if line.strip() else ""):
        if sentence:
            sentences.append(sentence)
        elif sentences:
            yield Cluster(tuple(sentences))
            sentences = []
    if sentences:
        yield Cluster(tuple(sentences))


def parse_json(text: str) -> Any:
    """A JSON value; a key that occurs twice in one object is an error, since one of the two would be lost."""
    try:
        return json.loads(text, object_pairs_hook=_unique_keys)
    except RecursionError:
        raise DataError("not readable as JSON: nested too deeply") from None
    except ValueError as error:
        raise DataError(f"not valid JSON: {error}") from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise DataError(f"the key {repeated!r} occurs twice in one object", expected="every key once")
    return values


def _parse_cluster(line: str) -> Cluster | None:
    if not line.strip():
        return None
    value = parse_json(line)
    for key in CLUSTER_KEYS:
        if isinstance(value, dict) and key in value:
            return Cluster(clean_sentences(value[key]))
    raise DataError("not a cluster", expected=_CLUSTER_EXAMPLE)


def _parse_eval(line: str) -> EvalItem | None:
    if not line.strip():
        return None
    value = parse_json(line)
    for input_key, references_key in EVAL_KEYS:
        if isinstance(value, dict) and input_key in value and references_key in value:
            return EvalItem(clean_sentence(value[input_key]), clean_sentences(value[references_key]))
    raise DataError("not an evaluation item", expected=_EVAL_EXAMPLE)


def _coco_annotations(source: Source) -> list[Any]:
    try:
        text = "\n".join(line for _, line in source.lines)
        document = json.loads(text, object_pairs_hook=_coco_object)
    except (DataError, ValueError, RecursionError) as error:
        problem = error.problem if isinstance(error, DataError) else f"not valid JSON: {error}"
        raise DataError(problem, path=source.name, expected="COCO's captions_*.json") from None
    annotations = document.get("annotations") if isinstance(document, dict) else None
    if not isinstance(annotations, list):
        raise DataError("no list of annotations", path=source.name, expected="COCO's captions_*.json")
    return annotations


def _coco_object(pairs: list[tuple[str, Any]]) -> Any:
    """Keep only image and caption while parsing: the rest of a large document never piles up in memory."""
    values = _unique_keys(pairs)
    if "annotations" in values:
        return values
    return (values.get("image_id"), values.get("caption")) if "image_id" in values else None


def _parse_annotation(annotation: object) -> tuple[int | str, str]:
    image, caption = annotation if isinstance(annotation, tuple) else (None, None)
    if not isinstance(image, int | str) or not isinstance(caption, str):
        raise DataError("not a caption", expected='"image_id" and "caption"')
    # The paper's preparation deletes line ends inside a caption; so does this, to give the same strings.
    return image, clean_sentence(caption.replace("\n", "").replace("\r", ""))


def _parse_alignment(line: str) -> Cluster | None:
    if not line.strip():
        return None
    columns = line.split("\t")
    if len(columns) != 3:
        raise DataError(f"{len(columns)} columns", expected="question, question and alignment between tabs")
    return Cluster((clean_sentence(columns[0]), clean_sentence(columns[1])))


def _parse_tabbed(line: str) -> Cluster | None:
    items = [item.strip() for item in line.split("\t") if item.strip()]
    questions = [item.removeprefix("q:") for item in items if item.startswith("q:")]
    if not questions and any(item.startswith("a:") for item in items):
        raise DataError("answers (a:) without a question", expected="at least one item that starts with q:")
    return Cluster(clean_sentences(questions or items)) if items else None
