"""HRQ-VAE as three graphs: an encoder, a sketch predictor, and a decoder that reads one token or many.

    encoder    tokens, pads -> meaning as keys and values of every decoder layer, pointer keys, form, pooled meaning
    predictor  pooled meaning, form of the path so far, level -> log p of the codes of that level
    decoder    tokens, cache, meaning, form -> logits, gate and attention of the copy head, the cache with the tokens

The decoder serves the search (one token more for every row) and the likelihood of whole sentences (all tokens at once,
with an empty cache). Every option of the network's configuration is written out, so any HRQ-VAE can be exported.
"""

from pathlib import Path

import numpy as np

from parasketch.light.graphs import BOOL, FLOAT, INT64, Graph
from parasketch.light.names import DECODER, ENCODER, PREDICTOR
from parasketch.systems.hrqvae.config import ModelConfig


def write_graphs(directory: Path, weights: Path, config: ModelConfig, *, int8: bool) -> None:
    """Write the three graphs of the weights, which are in the same directory."""
    write_encoder(Graph(weights, int8=int8), config, directory / ENCODER)
    write_predictor(Graph(weights, int8=int8), config, directory / PREDICTOR)
    write_decoder(Graph(weights, int8=int8), config, directory / DECODER)


def write_encoder(graph: Graph, config: ModelConfig, path: Path) -> None:
    tokens = graph.input("tokens", INT64, ["sentences", "length"])
    is_pad = graph.input("is_pad", BOOL, ["sentences", "length"])
    sizes, length = graph.op("Shape", tokens), _dimension(graph, tokens, 1)
    head = config.width // config.heads
    by_head = graph.shape(sizes, config.heads, head)
    places = graph.op("Range", graph.constant(np.int64(0)), graph.op("Squeeze", length), graph.constant(np.int64(1)))
    x = _embed(graph, config, tokens, places)
    wide = graph.op("Unsqueeze", is_pad, graph.constant([1, 2]))  # (B, 1, 1, T)
    blocked = graph.op("Where", wide, graph.constant(-np.inf), graph.constant(0.0))
    if config.causal_encoder:
        later = graph.op("Greater", places, graph.op("Unsqueeze", places, graph.constant([1])))
        blocked = graph.op("Add", blocked, graph.op("Where", later, graph.constant(-np.inf), graph.constant(0.0)))
    for layer in range(config.encoder_layers):
        x = _encoder_layer(graph, config, x, blocked, by_head, f"encoder.layers.{layer}")
    x = graph.norm(x, "encoder.norm")
    for_meaning = graph.part(x, 0, config.meaning_width) if config.split_encoding else x
    for_form = graph.part(x, config.meaning_width, config.width) if config.split_encoding else x
    meaning = graph.matmul_transposed(for_meaning, "meaning.mean.weight")
    for layer in range(config.decoder_layers):
        both = graph.linear(meaning, f"decoder.layers.{layer}.cross_attention.key_value")
        for name, start in (("keys", 0), ("values", config.width)):
            part = graph.split_heads(graph.part(both, start, start + config.width), by_head)
            graph.output(f"memory_{name}_{layer}", part, ["sentences", config.heads, "length", head])
    if config.copy_head:
        keys = graph.op("Reshape", graph.linear(x, "copying.key"), graph.shape(sizes, config.copy_width))
        graph.output("pointer_keys", keys, ["sentences", "length", config.copy_width])
    form = _pool(graph, for_form, is_pad, "form.pooling", config.form_heads, config.form_width)
    form = graph.op("Mul", graph.op("Sub", form, graph.weight("form.centre")), graph.weight("form.scale"))
    graph.output("form", form, ["sentences", config.form_width])
    projected = graph.matmul_transposed(for_meaning, "predictor.project.weight")
    width = config.predictor_width
    pooled = _pool(graph, projected, is_pad, "predictor.pooling", config.predictor_heads, width)
    graph.output("pooled", pooled, ["sentences", width])
    graph.save(path, description="Sentences to meaning and form.")


def write_predictor(graph: Graph, config: ModelConfig, path: Path) -> None:
    pooled = graph.input("pooled", FLOAT, ["rows", config.predictor_width])
    form = graph.input("path", FLOAT, ["rows", config.form_width])
    level = graph.input("level", INT64, [])
    x = graph.op("Concat", pooled, form, axis=1)
    for place in (0, 3, 6):  # the linear layers; between them are a ReLU and dropout
        names = [f"predictor.mlps.{number}.{place}" for number in range(config.levels)]
        weight, bias = (
            graph.op(
                "Gather",
                graph.op(
                    "Concat",
                    *(graph.op("Unsqueeze", graph.weight(f"{name}.{kind}"), graph.constant([0])) for name in names),
                    axis=0,
                ),
                level,
            )
            for kind in ("weight", "bias")
        )
        x = graph.op("Gemm", x, weight, bias, transB=1)
        if place != 6:
            x = graph.op("Relu", x)
    graph.output("log_probs", graph.op("LogSoftmax", x, axis=-1), ["rows", config.codes])
    graph.save(path, description="Which codes suit a meaning, level by level.")


def write_decoder(graph: Graph, config: ModelConfig, path: Path) -> None:
    heads, head = config.heads, config.width // config.heads
    tokens = graph.input("tokens", INT64, ["rows", "new"])
    places = graph.input("places", INT64, ["new"])
    own_mask = graph.input("own_mask", FLOAT, ["new", "all"])
    memory_mask = graph.input("memory_mask", FLOAT, ["groups", 1, 1, "source"])
    form = graph.input("form", FLOAT, ["groups", config.form_width])
    memory = [
        [graph.input(f"memory_{name}_{layer}", FLOAT, ["groups", heads, "source", head]) for name in ("keys", "values")]
        for layer in range(config.decoder_layers)
    ]
    past = [
        [graph.input(f"past_{name}_{layer}", FLOAT, ["rows", heads, "past", head]) for name in ("keys", "values")]
        for layer in range(config.decoder_layers)
    ]
    groups = _dimension(graph, memory_mask, 0)
    by_group, by_row = graph.shape(groups, -1, heads, head), graph.shape(graph.op("Shape", tokens), heads, head)
    x = _embed(graph, config, tokens, places)
    for layer, ((keys, values), (old_keys, old_values)) in enumerate(zip(memory, past, strict=True)):
        name = f"decoder.layers.{layer}"
        inner = _before(graph, config, x, f"{name}.self_residual")
        both = graph.linear(inner, f"{name}.self_attention.key_value")
        new_keys = graph.split_heads(graph.part(both, 0, config.width), by_row)
        new_values = graph.split_heads(graph.part(both, config.width, 2 * config.width), by_row)
        own_keys = graph.op("Concat", old_keys, new_keys, axis=2)
        own_values = graph.op("Concat", old_values, new_values, axis=2)
        graph.output(f"keys_{layer}", own_keys, ["rows", heads, "all", head])
        graph.output(f"values_{layer}", own_values, ["rows", heads, "all", head])
        query = graph.split_heads(graph.linear(inner, f"{name}.self_attention.query"), by_row)
        attended = graph.join_heads(graph.attend(query, own_keys, own_values, own_mask, head), config.width)
        x = _after(graph, config, x, graph.linear(attended, f"{name}.self_attention.output"), f"{name}.self_residual")
        inner = _before(graph, config, x, f"{name}.cross_residual")
        query = graph.split_heads(graph.linear(inner, f"{name}.cross_attention.query"), by_group)
        attended = graph.op("Transpose", graph.attend(query, keys, values, memory_mask, head), perm=[0, 2, 1, 3])
        extra = graph.matmul_transposed(form, f"{name}.form_value.weight")
        if graph.has(f"{name}.form_offset"):
            extra = graph.op("Add", extra, graph.weight(f"{name}.form_offset"))
        extra = graph.op("Unsqueeze", extra, graph.constant([1]))
        attended = graph.op("Add", graph.op("Reshape", attended, graph.shape(groups, -1, config.width)), extra)
        crossed = graph.linear(graph.as_rows(attended, config.width), f"{name}.cross_attention.output")
        x = _after(graph, config, x, crossed, f"{name}.cross_residual")
        x = _feed_forward(graph, config, x, name)
    hidden = graph.norm(x, "decoder.norm")
    logits = graph.matmul_transposed(hidden, "embedding.weight")
    graph.output("logits", logits, ["positions", config.vocab_size])
    if config.copy_head:
        pointer_keys = graph.input("pointer_keys", FLOAT, ["groups", "source", config.copy_width])
        graph.output("gate", graph.op("Sigmoid", graph.linear(hidden, "copying.gate")), ["positions", 1])
        query = graph.op("Reshape", graph.linear(hidden, "copying.query"), graph.shape(groups, -1, config.copy_width))
        scores = graph.op("MatMul", query, graph.op("Transpose", pointer_keys, perm=[0, 2, 1]))
        scores = graph.op("Div", scores, graph.constant(float(np.sqrt(config.copy_width))))
        scores = graph.op("Add", scores, graph.op("Squeeze", memory_mask, graph.constant([1])))
        graph.output("attention", graph.op("Softmax", scores, axis=-1), ["groups", "of each", "source"])
    graph.save(path, description="The next tokens of hypotheses, or the likelihood of whole sentences.")


def _embed(graph: Graph, config: ModelConfig, tokens: str, places: str) -> str:
    table = graph.constant(_sinusoids(config.max_length, config.width))
    x = graph.op("Mul", graph.rows("embedding.weight", tokens), graph.constant(float(np.sqrt(config.width))))
    return graph.as_rows(graph.op("Add", x, graph.op("Gather", table, places)), config.width)


def _sinusoids(length: int, width: int) -> np.ndarray:
    """The fixed position table, (length, width): sine and cosine interleaved, base 10,000."""
    steps = np.exp(np.arange(0, width, 2, dtype=np.float32) * np.float32(-np.log(10000.0) / width))
    angles = np.arange(length, dtype=np.float32)[:, None] * steps
    table = np.empty((length, width), dtype=np.float32)
    table[:, 0::2], table[:, 1::2] = np.sin(angles), np.cos(angles)
    return table


def _encoder_layer(graph: Graph, config: ModelConfig, x: str, blocked: str, by_head: str, name: str) -> str:
    inner = _before(graph, config, x, f"{name}.attention_residual")
    query = graph.split_heads(graph.linear(inner, f"{name}.attention.query"), by_head)
    both = graph.linear(inner, f"{name}.attention.key_value")
    key = graph.split_heads(graph.part(both, 0, config.width), by_head)
    value = graph.split_heads(graph.part(both, config.width, 2 * config.width), by_head)
    head = config.width // config.heads
    attended = graph.join_heads(graph.attend(query, key, value, blocked, head), config.width)
    change = graph.linear(attended, f"{name}.attention.output")
    x = _after(graph, config, x, change, f"{name}.attention_residual")
    return _feed_forward(graph, config, x, name)


def _feed_forward(graph: Graph, config: ModelConfig, x: str, name: str) -> str:
    inner = _before(graph, config, x, f"{name}.ff_residual")
    inner = graph.op("Relu", graph.linear(inner, f"{name}.feed_forward.expand"))
    return _after(graph, config, x, graph.linear(inner, f"{name}.feed_forward.contract"), f"{name}.ff_residual")


def _before(graph: Graph, config: ModelConfig, x: str, name: str) -> str:
    return graph.norm(x, f"{name}.norm") if config.pre_norm else x


def _after(graph: Graph, config: ModelConfig, x: str, change: str, name: str) -> str:
    total = graph.op("Add", x, change)
    return total if config.pre_norm else graph.norm(total, f"{name}.norm")


def _pool(graph: Graph, x: str, is_pad: str, name: str, heads: int, width: int) -> str:
    """Attention pooling, (B * T, input) -> (B, width)."""
    sizes = graph.op("Shape", is_pad)
    scores = graph.op("Reshape", graph.linear(x, f"{name}.scores"), graph.shape(sizes, heads))  # (B, T, heads)
    pads = graph.op("Unsqueeze", is_pad, graph.constant([2]))
    scores = graph.op("Where", pads, graph.constant(-np.inf), scores)
    weights = graph.op("Unsqueeze", graph.op("Transpose", scores, perm=[0, 2, 1]), graph.constant([2]))
    values = graph.split_heads(graph.linear(x, f"{name}.values"), graph.shape(sizes, heads, width // heads))
    pooled = graph.op("MatMul", graph.op("Softmax", weights, axis=-1), values)  # (B, heads, 1, dh)
    return graph.op("Reshape", pooled, graph.constant([0, width]))


def _dimension(graph: Graph, x: str, number: int) -> str:
    """The size of one dimension, (1,)."""
    return graph.op("Gather", graph.op("Shape", x), graph.constant([number]))
