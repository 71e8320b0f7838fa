"""Sentences parsed by hand, and likenesses of their words."""

import numpy as np

from parasketch.systems.sowreap.parses import Parse


def parse(text: str) -> Parse:
    """A parse written as `word/tag/head`, words numbered from 0."""
    parts = [part.split("/") for part in text.split()]
    return Parse.of([(word, tag, int(head), "dep") for word, tag, head in parts])


def likeness(first: Parse, second: Parse, **also: str) -> np.ndarray:
    """1 for equal words, and `also` says which others are alike: broke="broken:0.8"."""
    other = {word: value.split(":") for word, value in also.items()}
    found = np.zeros((len(first), len(second)), dtype=np.float32)
    for i, ours in enumerate(first.words):
        for j, theirs in enumerate(second.words):
            if ours.text == theirs.text:
                found[i, j] = 1.0
            elif ours.text in other and other[ours.text][0] == theirs.text:
                found[i, j] = float(other[ours.text][1])
    return found
