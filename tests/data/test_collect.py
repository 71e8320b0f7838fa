from collections import Counter
from pathlib import Path

import numpy as np

from parasketch.data.annotate import Annotator
from parasketch.data.collect import Collector, index_templates
from parasketch.data.prepared import offsets
from parasketch.text.tagger import Tagger
from parasketch.text.tokenizer import Tokenizer


def test_chunks_are_joined_with_common_numbers_for_tags_and_templates(tmp_path: Path, rule_tagger: Tagger) -> None:
    tokenizer = Tokenizer.train(["the dog runs slowly"] * 3, vocab_size=300)
    annotator = Annotator(tokenizer=tokenizer, tagger=rule_tagger, templates="chunk", max_tokens=48)
    collector = Collector(tmp_path / "spool")
    collector.add(annotator([["the dog runs", "runs the dog", "the dog  runs"]]))
    collector.add(annotator([["runs the cat", "slowly the dog"], ["the snail waits"]]))
    arrays = collector.arrays(tokenizer, tmp_path / "templates.txt")
    assert list(collector.tags) == ["NP", "VP", "ADVP"]
    assert collector.dropped == Counter(duplicate=1, empty=0, too_long=0)
    assert (tmp_path / "templates.txt").read_text() == "the NP VP\nVP the NP\nADVP the NP\n"
    assert arrays.template_ids.tolist() == [0, 1, 1, 2, 0]
    assert arrays.cluster_ids.tolist() == [0, 0, 1, 1, 2]
    assert arrays.slot_tags.tolist() == [0, 1, 2, 2, 0, 1, 2, 0, 1, 3, 0, 1, 0, 1, 2]


def test_the_index_of_templates_by_hand() -> None:
    # Two clusters of three and two, templates 0 1 0 | 0 2; the texts of sentences 0 and 3 are equal.
    index = index_templates(offsets(np.array([3, 2])), np.array([0, 1, 0, 0, 2]), np.array([5, 1, 2, 5, 4]))
    found = {name: array.tolist() for name, array in index.items()}
    assert found["template_members"] == [0, 2, 3, 1, 4]
    assert found["template_offsets"] == [0, 3, 4, 5]
    assert found["group_members"] == [0, 2, 1, 3, 4]
    assert found["group_offsets"] == [0, 2, 3, 4, 5]
    assert found["group_ids"] == [0, 1, 0, 2, 3]
    assert found["group_positions"] == [0, 3, 2, 4]
    # Template 0 has two texts: both are in the first cluster, only one of them in the second.
    assert found["group_has_exemplar"] == [False, False, True, False]
    assert found["pair_offsets"] == [0, 1, 3, 4, 5, 6]
