"""A second opinion on meaning, from a sentence encoder, where one is in use."""

from collections.abc import Sequence

from parasketch.text.sentence_encoder import SentenceModel


def cosines(
    encoder: SentenceModel, sources: Sequence[str], candidates: Sequence[str], places: Sequence[int]
) -> list[float]:
    """The cosine of each candidate to its source, sources[places[i]]."""
    vectors = encoder.encode(sources)
    found: list[float] = (encoder.encode(candidates) * vectors[list(places)]).sum(axis=1).tolist()
    return found
