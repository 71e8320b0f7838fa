from parasketch.generate.likeness import form_of, likeness


def test_the_form_is_what_is_left_without_content_words() -> None:
    assert form_of("A man is riding 2 Horses.") == ["a", "_", "is", "_", "_", "_", "."]


def test_likeness_by_hand() -> None:
    exemplar = "A man is riding a horse"  # a _ is _ a _
    texts = ["a dog is eating a bone", "the dog is eating a bone", "a dog is eating a big bone", "dogs"]
    expected = [1, 1 - 1 / 6, 1 - 3 / 7, 1 - (5 * 3) / 6]  # the same; a word changed; one more; five less
    assert likeness(exemplar, texts).tolist() == expected


def test_the_length_counts_more_than_the_words() -> None:
    same_length, same_words = likeness("how do I get there", ["why did I get there", "how do I get"])
    assert same_length > same_words


def test_nothing_is_like_nothing() -> None:
    assert likeness("", ["", "a b"]).tolist() == [1, -2]
    assert likeness("a", []).shape == (0,)
