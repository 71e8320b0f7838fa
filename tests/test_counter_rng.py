import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parasketch.counter_rng import below, mix, permute, random_bits, uniform


def test_mix_is_the_finaliser_of_splitmix64() -> None:
    # The first outputs of the published generator for the seed 1234567, whose state grows by the golden ratio.
    golden = 0x9E3779B97F4A7C15
    states = np.array([(1234567 + golden * step) % 2**64 for step in (1, 2, 3)], dtype=np.uint64)
    assert mix(states).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_values_are_pinned() -> None:
    assert random_bits(0).tolist() == [16294208416658607535]
    assert random_bits(7, 3, [0, 1, 2]).tolist() == [6875110694074790513, 8291948987866145469, 1238329458071252934]
    assert random_bits(-1).tolist() == random_bits(2**64 - 1).tolist()


def test_a_draw_does_not_depend_on_its_neighbours() -> None:
    alone = [int(random_bits(5, 1, [number])[0]) for number in range(100)]
    assert random_bits(5, 1, np.arange(100)).tolist() == alone
    assert random_bits(5, 1, np.arange(100)[::-1]).tolist() == alone[::-1]


def test_order_and_number_of_counters_matter() -> None:
    draws = [random_bits(*key)[0] for key in ((0,), (1,), (0, 0), (0, 1), (1, 0), (0, 1, 2), (0, 2, 1), (0, 0, 0))]
    assert len(set(draws)) == len(draws)


def test_uniform_fills_the_unit_interval_evenly() -> None:
    draws = uniform(random_bits(11, np.arange(100_000)))
    assert draws.min() >= 0
    assert draws.max() < 1
    counts = np.histogram(draws, bins=100, range=(0, 1))[0]
    # Chi-square with 99 degrees of freedom: mean 99, standard deviation 14.
    assert ((counts - 1000) ** 2 / 1000).sum() < 99 + 5 * 14


@pytest.mark.parametrize("other", [(12, 0), (11, 1)], ids=["seed", "stream"])
def test_seeds_and_streams_are_independent(other: tuple[int, int]) -> None:
    first, second = (uniform(random_bits(seed, stream, np.arange(100_000))) for seed, stream in ((11, 0), other))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.02
    assert abs(np.corrcoef(first[1:], second[:-1])[0, 1]) < 0.02


def test_every_bit_is_a_fair_coin() -> None:
    bits = random_bits(3, np.arange(40_000))
    ones = [(bits >> np.uint64(place) & np.uint64(1)).mean() for place in range(64)]
    assert np.abs(np.array(ones) - 0.5).max() < 0.015


def test_below_is_even_and_bounded_element_by_element() -> None:
    bounds = np.tile([1, 2, 7], 30_000)
    draws = below(random_bits(2, np.arange(90_000)), bounds)
    assert not draws[bounds == 1].any()
    for bound in (2, 7):
        counts = np.bincount(draws[bounds == bound], minlength=bound)
        assert len(counts) == bound
        assert np.abs(counts / 30_000 - 1 / bound).max() < 0.015


@given(size=st.integers(1, 300), seed=st.integers(0, 10**9))
@settings(deadline=None, max_examples=60)
def test_permute_is_a_permutation(size: int, seed: int) -> None:
    assert sorted(permute(np.arange(size), size, random_bits(seed)).tolist()) == list(range(size))


def test_permute_sends_every_position_everywhere() -> None:
    size, keys = 56, random_bits(1, np.arange(5600))
    for position in (0, 25, 55):
        counts = np.bincount(permute(position, size, keys), minlength=size)
        assert ((counts - 100) ** 2 / 100).sum() < 55 + 5 * np.sqrt(2 * 55)


def test_permute_takes_sizes_element_by_element_and_huge_ones() -> None:
    keys = random_bits(9, [1, 1, 2])
    together = permute([0, 3, 10**11], [5, 5, 10**12], keys)
    apart = [int(permute(*row)[0]) for row in ((0, 5, keys[:1]), (3, 5, keys[1:2]), (10**11, 10**12, keys[2:]))]
    assert together.tolist() == apart
    assert together[0] != together[1]
    assert 0 <= together[2] < 10**12
