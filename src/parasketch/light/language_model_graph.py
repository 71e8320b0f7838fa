"""A language model of Llama's architecture as two graphs: one reads tokens, the other says which come next.

Both point into one file of weights, whose matrices are (inputs, outputs), in 8 bits with a scale for each output
(`.values`, `.scales`) or in full precision (`.values` alone); `.gain` is that of the norm before a matrix.

The first graph reads sources and continues them, N tokens in a grid of B inputs by S places: `grid` says which token is
at a place, `tokens_at` at which place a token is. Places without one cost next to nothing: only attention sees the
grid. There, tokens see keys and values that those of an input share, S more that are made here, and U of their own;
`mask` is added to the scores and says what each sees. The tokens of a source see those to their left; rows that go on
from it see all of it, themselves, and what they had before.
"""

from pathlib import Path

from parasketch.light.graphs import FLOAT, FUSED, INT64, Graph
from parasketch.model.language_model_shape import LanguageModelShape

BODY, HEAD = "body.onnx", "head.onnx"
MOST_CHOICES = 40
"""Tokens that are told of each place, with their logits: a less likely one is never good English."""


def write_body(weights: Path, shape: LanguageModelShape) -> None:
    """Write the graph that reads tokens beside its weights."""
    graph = Graph(weights)
    layers = _Layers(graph, shape)
    x = layers.x
    gains = [graph.stored(f"{layer}.qkv.gain") for layer in range(shape.layers)] + [graph.stored("norm")]
    normed = graph.op("SimplifiedLayerNormalization", x, gains[0], axis=-1, epsilon=shape.norm_eps)
    for layer, gain in enumerate(gains[1:]):
        x, normed = layers.add(layer, x, normed, gain)
    graph.output("states", normed, ["tokens", shape.width])
    graph.save(weights.parent / BODY, description="Reads tokens, in the light of those before them.")


def write_head(weights: Path, shape: LanguageModelShape) -> None:
    """Write the graph that says which tokens come next, beside its weights."""
    graph = Graph(weights)
    logits = _linear(graph, graph.input("states", FLOAT, ["rows", shape.width]), "output")
    best, ids = graph.ops("TopK", logits, graph.constant([min(MOST_CHOICES, shape.vocabulary)]), outputs=2)
    largest = graph.part(best, 0, 1)
    total = graph.op("ReduceSum", graph.op("Exp", graph.op("Sub", logits, largest)), graph.constant([1]))
    graph.output("logits", best, ["rows", "choices"])
    graph.output("ids", ids, ["rows", "choices"], INT64)
    graph.output("norm", graph.op("Add", graph.op("Log", total), largest), ["rows", 1])
    graph.save(weights.parent / HEAD, description="The likeliest next tokens, best first.")


class _Layers:
    """The layers of a language model, and what all of them need."""

    def __init__(self, graph: Graph, shape: LanguageModelShape) -> None:
        self._graph, self._shape = graph, shape
        self.x = graph.input("x", FLOAT, ["tokens", shape.width])
        self._grid = graph.input("grid", INT64, ["inputs", "places"])
        self._tokens_at = graph.input("tokens_at", INT64, ["tokens"])
        self._positions = graph.input("positions", INT64, ["inputs", "places"])
        self._mask = graph.input("mask", FLOAT, ["inputs", 1, "places", 1, "seen"])
        self._turns = [graph.input(name, FLOAT, ["known", shape.head_width // 2]) for name in ("cosines", "sines")]
        self._middles = graph.middles(self.x)
        sizes = graph.op("Shape", self._grid)
        groups, width = shape.heads // shape.kv_heads, shape.head_width
        inputs = graph.op("Slice", sizes, graph.constant([0]), graph.constant([1]))
        self._by_query = graph.shape(sizes, shape.kv_heads, groups, width)
        self._by_key = graph.shape(sizes, shape.kv_heads, width)
        self._as_queries = graph.shape(inputs, shape.kv_heads, -1, width)  # of all places of an input
        places = graph.op("Slice", sizes, graph.constant([1]), graph.constant([2]))
        leading = graph.op("Concat", inputs, graph.constant([shape.kv_heads]), places, graph.constant([groups]), axis=0)
        self._apart = graph.shape(leading, -1)
        together = graph.op("Mul", places, graph.constant([groups]))
        self._together = graph.op(
            "Concat", inputs, graph.constant([shape.kv_heads]), together, graph.constant([-1]), axis=0
        )
        self._parts = ""

    def add(self, layer: int, x: str, normed: str, gain: str) -> tuple[str, str]:
        """States (N, width) after a layer, as they are and normed by `gain`, given both before it."""
        graph = self._graph
        attended = self._attend(layer, self._linear(normed, f"{layer}.qkv"))
        x, normed = self._join(x, self._linear(attended, f"{layer}.out"), graph.stored(f"{layer}.gate_up.gain"))
        ff = self._shape.ff
        both = self._linear(normed, f"{layer}.gate_up")
        gate, up = graph.ops("Split", both, graph.constant([ff, ff]), outputs=2, axis=-1)
        inner = graph.op("Mul", graph.op("QuickGelu", gate, domain=FUSED, alpha=1.0), up)
        return self._join(x, self._linear(inner, f"{layer}.down"), gain)

    def _attend(self, layer: int, projected: str) -> str:
        """What the tokens (N, width) see, given their queries, keys and values side by side."""
        graph, shape = self._graph, self._shape
        kv = shape.kv_heads * shape.head_width
        projected = graph.op("Gather", projected, self._grid)  # (B, S, ...)
        turning, values = graph.ops("Split", projected, graph.constant([shape.width + kv, kv]), outputs=2, axis=-1)
        turned = graph.op("RotaryEmbedding", turning, self._positions, *self._turns, domain=FUSED)
        query, keys = graph.ops("Split", turned, graph.constant([shape.width, kv]), outputs=2, axis=-1)
        query = graph.op("Transpose", graph.op("Reshape", query, self._by_query), perm=[0, 2, 1, 3, 4])
        shared_keys, own_keys = self._cached(layer, "keys", graph.split_heads(keys, self._by_key))
        shared_values, own_values = self._cached(layer, "values", graph.split_heads(values, self._by_key))

        def scores(queries: str, of: str) -> str:
            return graph.op("FusedMatMul", queries, of, domain=FUSED, transB=1, alpha=shape.head_width**-0.5)

        # The places of an input are further queries on what they share: one matrix product for all of them.
        shared = graph.op("Reshape", scores(graph.op("Reshape", query, self._as_queries), shared_keys), self._apart)
        own = scores(query, own_keys)
        if not self._parts:
            lengths = [graph.op("Shape", each, start=-1) for each in (shared, own)]
            self._parts = graph.op("Concat", *lengths, axis=0)
        both = graph.op("Add", graph.op("Concat", shared, own, axis=-1), self._mask)
        shared, own = graph.ops("Split", graph.op("Softmax", both, axis=-1), self._parts, outputs=2, axis=-1)
        seen = graph.op("MatMul", graph.op("Reshape", shared, self._together), shared_values)
        seen = graph.op("Add", graph.op("Reshape", seen, self._apart), graph.op("MatMul", own, own_values))
        seen = graph.as_rows(graph.op("Transpose", seen, perm=[0, 2, 1, 3, 4]), shape.width)
        return graph.op("Gather", seen, self._tokens_at)

    def _cached(self, layer: int, what: str, new: str) -> tuple[str, str]:
        """Keys or values that all places of an input may see, (B, kv_heads, P + S, d), and those of each place's own.

        The new ones (B, kv_heads, S, d) are given out.
        """
        graph, sizes = self._graph, ("inputs", self._shape.kv_heads)
        width = self._shape.head_width
        graph.output(f"{what}_{layer}", new, [*sizes, "places", width])
        shared = graph.input(f"shared_{what}_{layer}", FLOAT, [*sizes, "before", width])
        own = graph.input(f"own_{what}_{layer}", FLOAT, [*sizes, "places", "own", width])
        return graph.op("Concat", shared, new, axis=2), own

    def _join(self, x: str, change: str, gain: str) -> tuple[str, str]:
        """The sum of states and a change, as it is and normed."""
        normed, _, _, total = self._graph.ops(
            "SkipSimplifiedLayerNormalization",
            *(change, x, gain),
            outputs=4,
            unused=(1, 2),
            domain=FUSED,
            epsilon=self._shape.norm_eps,
        )
        return total, normed

    def _linear(self, x: str, name: str) -> str:
        return _linear(self._graph, x, name, middles=self._middles)


def _linear(graph: Graph, x: str, name: str, *, middles: str | None = None) -> str:
    values = graph.stored(f"{name}.values")
    if not graph.has(f"{name}.scales"):
        return graph.op("MatMul", x, values)
    return graph.matmul_bytes(x, values, graph.stored(f"{name}.scales"), middles=middles)
