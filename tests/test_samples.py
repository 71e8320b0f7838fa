"""The package's own sentences."""

from pathlib import Path

import pytest

from parasketch.data.corpora import read_clusters, read_eval
from parasketch.samples import SAMPLES, sample_clusters, write_samples


@pytest.mark.parametrize("name", SAMPLES)
def test_clusters_are_sentences_without_gaps(name: str) -> None:
    clusters = sample_clusters(name)
    sentences = [sentence for cluster in clusters for sentence in cluster]
    assert len(clusters) > 50
    assert len(set(sentences)) > 300
    assert not any(mark in sentence for sentence in sentences for mark in "{}|=/")
    assert all(len(set(cluster)) == len(cluster) >= 4 for cluster in clusters)


def test_files_for_training_and_evaluation_share_no_sentence(tmp_path: Path) -> None:
    write_samples(tmp_path)
    for name in SAMPLES:
        train = {text for cluster in read_clusters(tmp_path / name / "train.jsonl") for text in cluster.sentences}
        for split in ("dev", "test"):
            items = list(read_eval(tmp_path / name / f"{split}.jsonl"))
            assert len(items) >= 8
            assert not train & {text for item in items for text in (item.input, *item.references)}
