"""Connected components over normalised strings, against a slow definition of the same."""

from hypothesis import given, settings
from hypothesis import strategies as st

from parasketch.data.clusters import as_eval_item, distinct_sentences, group_clusters, merge_clusters
from parasketch.data.records import Cluster, EvalItem
from parasketch.text.normalise import normalise

# Few different sentences, some of them the same but for spelling, so that clusters touch.
sentence = st.sampled_from([f"{letter}{end}" for letter in "abcdefgh" for end in ("", "?", " !")] + ["A", "B.", "C"])
clusters = st.lists(st.lists(sentence, min_size=1, max_size=4).map(lambda members: Cluster(tuple(members))))


def components(rows: list[Cluster]) -> set[frozenset[str]]:
    """By definition: join sets that touch until none does."""
    sets = [{normalise(sentence) for sentence in row.sentences} for row in rows]
    joined: list[set[str]] = []
    while sets:
        current = sets.pop()
        while touching := [other for other in sets if other & current]:
            current = current.union(*touching)
            sets = [other for other in sets if other not in touching]
        joined.append(current)
    return {frozenset(members) for members in joined}


def test_pairs_join_through_each_other_and_surface_strings_stay() -> None:
    pairs = [("A dog?", "a hound"), ("Cats", "felines"), ("A  HOUND!", "a canine"), ("felines", "cats")]
    assert merge_clusters(Cluster(pair) for pair in pairs) == [
        Cluster(("A dog?", "a hound", "a canine")),
        Cluster(("Cats", "felines")),
    ]


def test_distinct_sentences_keep_the_first_spelling() -> None:
    assert distinct_sentences(["Why ?", "why", "How?", "WHY!"]) == ("Why ?", "How?")


def test_the_first_sentence_is_the_input() -> None:
    assert as_eval_item(Cluster(("a", "b", "c"))) == EvalItem("a", ("b", "c"))


@settings(deadline=None)
@given(clusters)
def test_merged_clusters_are_the_components(rows: list[Cluster]) -> None:
    merged = merge_clusters(rows)
    assert {frozenset(map(normalise, cluster.sentences)) for cluster in merged} == components(rows)
    assert sum(len(cluster.sentences) for cluster in merged) == len(set().union(*components(rows)))
    written = {sentence for row in rows for sentence in row.sentences}
    assert all(sentence in written for cluster in merged for sentence in cluster.sentences)
    assert merge_clusters(merged) == merged


@settings(deadline=None)
@given(clusters)
def test_groups_are_the_components_and_hold_every_cluster_once(rows: list[Cluster]) -> None:
    groups = group_clusters(rows)
    assert sorted(member for group in groups for member in group) == list(range(len(rows)))
    assert {
        frozenset(normalise(sentence) for member in group for sentence in rows[member].sentences) for group in groups
    } == components(rows)


def test_a_long_chain_is_no_recursion() -> None:
    chain = [Cluster((str(number), str(number + 1))) for number in range(5_000)]
    assert len(merge_clusters(chain)) == len(merge_clusters(reversed(chain))) == len(group_clusters(chain)) == 1
