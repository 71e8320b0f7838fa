"""From sentences that were said to mean the same to clusters: connected components over normalised strings.

Two rows belong together when they share a sentence (see `normalise`), directly or through other rows. The
strings themselves are kept as they were written; of several spellings of one sentence the first stays.
"""

from collections.abc import Iterable, Sequence

from parasketch.data.records import Cluster, EvalItem
from parasketch.text.normalise import normalise


class _DisjointSets:
    """Union-find over numbers from 0, with path halving; the root of a set is its smallest member."""

    def __init__(self) -> None:
        self._parents: list[int] = []

    def add(self) -> int:
        self._parents.append(len(self._parents))
        return len(self._parents) - 1

    def find(self, member: int) -> int:
        parents = self._parents
        while parents[member] != member:
            parents[member] = parents[parents[member]]
            member = parents[member]
        return member

    def union(self, first: int, second: int) -> None:
        low, high = sorted((self.find(first), self.find(second)))
        self._parents[high] = low


def distinct_sentences(sentences: Iterable[str]) -> tuple[str, ...]:
    """The sentences without repetitions (normalised), each in its first spelling."""
    first: dict[str, str] = {}
    for sentence in sentences:
        first.setdefault(normalise(sentence), sentence)
    return tuple(first.values())


def merge_clusters(clusters: Iterable[Cluster]) -> list[Cluster]:
    """One cluster for each connected component, sentences and clusters in order of first appearance.

    Only one copy of each sentence is held, however many rows (such as pairs) it occurs in.
    """
    sets, ids, surfaces = _DisjointSets(), dict[str, int](), list[str]()
    for cluster in clusters:
        members = []
        for sentence in cluster.sentences:
            key = normalise(sentence)
            if key not in ids:
                ids[key] = sets.add()
                surfaces.append(sentence)
            members.append(ids[key])
        for member in members[1:]:
            sets.union(members[0], member)
    merged: dict[int, list[str]] = {}
    for number, sentence in enumerate(surfaces):
        merged.setdefault(sets.find(number), []).append(sentence)
    return [Cluster(tuple(sentences)) for sentences in merged.values()]


def group_clusters(clusters: Sequence[Cluster]) -> list[list[int]]:
    """The indices of `clusters` in groups that share no sentence with each other: [group][member]."""
    sets, owners = _DisjointSets(), dict[str, int]()
    for cluster in clusters:
        number = sets.add()
        for sentence in cluster.sentences:
            sets.union(owners.setdefault(normalise(sentence), number), number)
    groups: dict[int, list[int]] = {}
    for number in range(len(clusters)):
        groups.setdefault(sets.find(number), []).append(number)
    return list(groups.values())


def as_eval_item(cluster: Cluster) -> EvalItem:
    """The first sentence as the input, the others as its references."""
    return EvalItem(cluster.sentences[0], cluster.sentences[1:])
