"""Random numbers without state: each is a hash of a seed and of counters that say what it is for.

A generator with state ties every draw to all draws before it, so an epoch could be neither cut anywhere nor
split over ranks. Here the draw for (seed, stream, epoch, example) is the same whoever asks for it, in whichever
order and beside whichever others. The hash is a chain of splitmix64 finalisers, vectorised over numpy arrays.
"""

import hashlib

import numpy as np
from numpy.typing import ArrayLike, NDArray

Bits = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FEISTEL_ROUNDS = 6


def mix(bits: Bits) -> Bits:
    """The finaliser of splitmix64: a bijection in which every input bit stirs every output bit."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def random_bits(seed: int, *counters: ArrayLike) -> Bits:
    """64 random bits for each element of the broadcast `counters` (non-negative integers); at least 1-d."""
    bits = mix(np.asarray([seed & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64) + _GOLDEN)
    for counter in counters:
        # Mixing after every counter keeps (1, 2) and (2, 1) apart.
        bits = mix(bits + _GOLDEN * (np.atleast_1d(counter).astype(np.uint64) + np.uint64(1)))
    return bits


def hash_text(text: str) -> int:
    """A counter that stands for a text, 0 to 2^64 - 1."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def uniform(bits: Bits) -> NDArray[np.float64]:
    """Random bits as numbers in [0, 1)."""
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def below(bits: Bits, bound: ArrayLike) -> NDArray[np.int64]:
    """Random bits as integers in [0, bound), 1 <= bound <= 2^31; uniform to within bound / 2^32."""
    return (((bits >> np.uint64(32)) * np.asarray(bound).astype(np.uint64)) >> np.uint64(32)).astype(np.int64)


def permute(position: ArrayLike, size: ArrayLike, key: Bits) -> NDArray[np.int64]:
    """Where a random permutation of range(size), named by `key`, sends `position`; element by element.

    A Feistel network permutes the next larger power of four; walking on while the result is outside the range
    makes that a permutation of the range itself. So k positions are k different random elements of the range, at
    the cost of k, whatever its size (at most 2^62).
    """
    value, size_, key = np.broadcast_arrays(np.asarray(position, np.int64), np.asarray(size, np.int64), key)
    # Half the number of bits that hold size - 1, at least one; frexp gives the exact bit length below 2^53.
    bit_length = np.frexp(np.maximum(size_ - 1, 1).astype(np.float64))[1]
    half = ((bit_length + 1) // 2).astype(np.uint64)
    result = value.astype(np.uint64)
    outside = np.ones(result.shape, dtype=bool)
    while outside.any():
        result[outside] = _feistel(result[outside], half[outside], key[outside])
        outside = result >= size_.astype(np.uint64)
    return result.astype(np.int64)


def _feistel(value: Bits, half: Bits, key: Bits) -> Bits:
    """A keyed permutation of the numbers of 2 * half bits."""
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = value >> half, value & mask
    for turn in range(_FEISTEL_ROUNDS):
        left, right = right, left ^ (mix(key + _GOLDEN * (right + np.uint64((turn + 1) << 32))) & mask)
    return (left << half) | right
