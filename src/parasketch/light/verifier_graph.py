"""The verifier as a graph: a BERT encoder over both sentences, and one logit a pair.

Its weights are stored in 8 bits and widened when a session is made; embeddings stay as they are stored, since few of
their rows are looked up.
"""

from pathlib import Path

import numpy as np

from parasketch.light.graphs import BOOL, INT64, Graph
from parasketch.light.names import VERIFIER
from parasketch.model.cross_encoder_config import EPSILON, CrossEncoderConfig


def write_verifier(directory: Path, weights: Path, config: CrossEncoderConfig, *, int8: bool) -> None:
    """Write the graph of the weights, which are in the same directory."""
    graph = Graph(weights, int8=int8)
    tokens, segments, matches = (
        graph.input(name, INT64, ["pairs", "length"]) for name in ("tokens", "segments", "matches")
    )
    is_pad = graph.input("is_pad", BOOL, ["pairs", "length"])
    length = graph.op("Squeeze", graph.op("Gather", graph.op("Shape", tokens), graph.constant([1])))
    places = graph.op("Range", graph.constant(np.int64(0)), length, graph.constant(np.int64(1)))
    x = graph.rows("encoder.tokens.weight", tokens)
    x = graph.op("Add", x, graph.rows("encoder.positions.weight", places))
    x = graph.op("Add", x, graph.rows("encoder.segments.weight", segments))
    x = graph.op("Add", x, graph.rows("matches.weight", matches))
    x = graph.norm(graph.as_rows(x, config.width), "encoder.norm", epsilon=EPSILON)
    sizes = graph.op("Shape", tokens)
    by_head = graph.shape(sizes, config.heads, config.width // config.heads)
    wide = graph.op("Unsqueeze", is_pad, graph.constant([1, 2]))
    blocked = graph.op("Where", wide, graph.constant(-np.inf), graph.constant(0.0))
    for layer in range(config.layers):
        x = _layer(graph, config, x, blocked, by_head, f"encoder.layers.{layer}")
    x = graph.op("Reshape", x, graph.shape(sizes, config.width))
    first = graph.op("Gather", x, graph.constant(np.int64(0)), axis=1)
    pads = graph.op("Unsqueeze", is_pad, graph.constant([2]))
    strongest = graph.op("ReduceMax", graph.op("Where", pads, graph.constant(-np.inf), x), axes=[1], keepdims=0)
    hidden = graph.op("Tanh", graph.linear(graph.op("Concat", first, strongest, axis=1), "hidden"))
    graph.output("logits", graph.op("Squeeze", graph.linear(hidden, "score"), graph.constant([1])), ["pairs"])
    graph.save(directory / VERIFIER, description="How surely two sentences mean the same.")


def _layer(graph: Graph, config: CrossEncoderConfig, x: str, blocked: str, by_head: str, name: str) -> str:
    width, head = config.width, config.width // config.heads
    all_three = graph.linear(x, f"{name}.query_key_value")
    query, key, value = (
        graph.split_heads(graph.part(all_three, start, start + width), by_head) for start in (0, width, 2 * width)
    )
    attended = graph.join_heads(graph.attend(query, key, value, blocked, head), config.width)
    change = graph.linear(attended, f"{name}.output")
    x = graph.norm(graph.op("Add", x, change), f"{name}.attention_norm", epsilon=EPSILON)
    inner = graph.linear(x, f"{name}.expand")
    half = graph.op("Mul", inner, graph.constant(0.5))
    error = graph.op("Erf", graph.op("Div", inner, graph.constant(float(np.sqrt(2.0)))))
    inner = graph.op("Mul", half, graph.op("Add", error, graph.constant(1.0)))
    change = graph.linear(inner, f"{name}.contract")
    return graph.norm(graph.op("Add", x, change), f"{name}.norm", epsilon=EPSILON)
