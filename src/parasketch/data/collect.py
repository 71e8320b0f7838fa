"""The chunks of a corpus joined into flat arrays, and the index of who shares a template with whom.

Nothing here holds an object per sentence: arrays grow on the disk, and ids come from sorting hashes.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parasketch.data.annotate import AnnotatedChunk, text_hash
from parasketch.data.prepared import Arrays, Ints, offsets
from parasketch.data.spans import span_vocabulary
from parasketch.data.spool import Spool
from parasketch.text.tokenizer import Tokenizer

_ALL_TEMPLATES = "all_templates"


class Collector:
    """The chunks of the whole corpus, end to end, on the disk; what a killed one had is taken up again."""

    def __init__(self, directory: Path) -> None:
        self._spool = Spool(directory)
        state = self._spool.state or {"chunks": 0, "tags": {}, "dropped": {}, "num_sentences": 0, "num_lines": 0}
        self.num_chunks: int = state["chunks"]
        """How many chunks are there."""
        self.tags: dict[str, int] = state["tags"]
        self.dropped: Counter[str] = Counter(state["dropped"])
        self.num_sentences: int = state["num_sentences"]
        self._num_lines: int = state["num_lines"]

    def add(self, chunk: AnnotatedChunk) -> None:
        """Append a chunk; its templates, which are long and mostly different, wait as lines."""
        self.dropped.update(chunk.dropped)
        self.num_sentences += len(chunk.texts)
        tag_numbers = [0, *(self.tags.setdefault(tag, len(self.tags)) + 1 for tag in chunk.tags)]
        self._spool.append(
            tokens=chunk.tokens,
            token_counts=chunk.token_counts,
            cluster_sizes=chunk.cluster_sizes,
            texts=chunk.texts,
            lines=chunk.template_numbers.astype(np.int64) + self._num_lines,
            line_hashes=np.array([text_hash(text) for text in chunk.template_texts], dtype=np.uint64),
            slot_counts=chunk.slot_counts,
            slot_tags=np.array(tag_numbers, dtype=np.int16)[chunk.slot_tags],
            slot_ends=chunk.slot_ends,
        )
        self._num_lines += len(chunk.template_texts)
        self._spool.append_lines(_ALL_TEMPLATES, chunk.template_texts)
        self.num_chunks += 1

    def mark(self) -> None:
        """From here it can go on after a kill."""
        self._spool.mark(
            {
                "chunks": self.num_chunks,
                "tags": self.tags,
                "dropped": self.dropped,
                "num_sentences": self.num_sentences,
                "num_lines": self._num_lines,
            }
        )

    def arrays(self, tokenizer: Tokenizer, templates: Path) -> Arrays:
        """Index everything, and write the different templates to a file."""
        spool = self._spool
        small = tokenizer.vocab_size <= 1 << 16
        flat = {
            "tokens": spool.array("tokens").astype(np.uint16) if small else spool.array("tokens"),
            "token_offsets": offsets(spool.array("token_counts")),
            "slot_offsets": offsets(spool.array("slot_counts")),
            "slot_tags": spool.array("slot_tags"),
            "slot_ends": spool.array("slot_ends"),
        }
        cluster_offsets = offsets(spool.array("cluster_sizes"))
        text_ids = np.unique(spool.array("texts"), return_inverse=True)[1].astype(np.int32)
        index = index_templates(cluster_offsets, self._template_ids(templates), text_ids)
        return Arrays(**flat, **index, **span_vocabulary(**flat, num_tags=len(self.tags), tokenizer=tokenizer))

    def close(self) -> None:
        self._spool.close()

    def _template_ids(self, templates: Path) -> NDArray[np.int32]:
        """Number the different templates in the order in which they occur and write them down; [S]."""
        hashes = self._spool.array("line_hashes")
        _, first_lines, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        numbers = np.empty(len(first_lines), dtype=np.int32)
        numbers[np.argsort(first_lines)] = np.arange(len(first_lines))
        is_first = np.zeros(self._num_lines, dtype=bool)
        is_first[first_lines] = True
        source = self._spool.path(_ALL_TEMPLATES)
        with (
            source.open(encoding="utf-8", errors="surrogatepass", newline="\n") as lines,
            templates.open("w", encoding="utf-8", errors="replace", newline="\n") as stream,
        ):
            stream.writelines(line for line, first in zip(lines, is_first, strict=True) if first)
        template_ids: NDArray[np.int32] = numbers[inverse][self._spool.array("lines")]
        return template_ids


def index_templates(cluster_offsets: Ints, template_ids: Ints, text_ids: Ints) -> dict[str, NDArray[Any]]:
    """Who shares a template, in the cluster and outside it, as the arrays of `Arrays`."""
    cluster_sizes = np.diff(cluster_offsets)
    cluster_ids = np.repeat(np.arange(len(cluster_sizes), dtype=np.int32), cluster_sizes)
    template_members = np.argsort(template_ids, kind="stable").astype(np.int32)
    group_members = np.lexsort((template_ids, cluster_ids)).astype(np.int32)
    clusters, templates = cluster_ids[group_members], template_ids[group_members]
    begins = np.ones(len(group_members), dtype=bool)
    begins[1:] = (clusters[1:] != clusters[:-1]) | (templates[1:] != templates[:-1])
    group_offsets = np.append(np.flatnonzero(begins), len(begins))
    group_sizes = np.diff(group_offsets)
    group_ids = np.empty_like(group_members)
    group_ids[group_members] = np.cumsum(begins) - 1
    place_in_template = np.empty(len(template_members), dtype=np.int64)
    place_in_template[template_members] = np.arange(len(template_members))
    text_of_template = np.unique(template_ids.astype(np.int64) * (int(text_ids.max()) + 1) + text_ids)
    num_texts = np.bincount(text_of_template // (int(text_ids.max()) + 1))
    return {
        "cluster_offsets": cluster_offsets,
        "cluster_ids": cluster_ids,
        "text_ids": text_ids,
        "template_ids": template_ids,
        "template_offsets": offsets(np.bincount(template_ids)),
        "template_members": template_members,
        "group_ids": group_ids,
        "group_offsets": group_offsets,
        "group_members": group_members,
        "group_positions": place_in_template[group_members[begins]],
        # No two members of a cluster have the same text, so a group has as many texts as members.
        "group_has_exemplar": num_texts[templates[begins]] > group_sizes,
        "pair_offsets": offsets(cluster_sizes[cluster_ids] - group_sizes[group_ids]),
    }
