"""Parquet files: rows read block by block in constant memory, and rows written with their paraphrases as typed columns.

Parquet has its index at the end, so a file cannot grow row by row as lines do: whoever writes one keeps the answers in
JSON lines until the last is there. Columns of a Parquet input keep their types; those of other inputs are text.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parasketch.bulk.writing import PROBLEM, RESULTS
from parasketch.errors import DataError
from parasketch.extras import needs
from parasketch.files import write_file

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

_BLOCK_ROWS = 1024
_SETTINGS = b"parasketch"


def open_parquet(path: str) -> "tuple[pyarrow.Schema, Iterator[dict[str, Any]]]":
    """The schema of a file, and its rows one after the other."""
    with needs("parquet", "a Parquet file"):
        import pyarrow
        import pyarrow.parquet
    try:
        file = pyarrow.parquet.ParquetFile(path)
    except (OSError, pyarrow.ArrowException) as error:
        raise DataError(f"cannot be read: {_reason(error)}", path=path, expected="a Parquet file") from error
    schema = file.schema_arrow
    twice = [name for place, name in enumerate(schema.names) if name in schema.names[:place]]
    if twice:
        problem = f"two columns are called {twice[0]!r}"
        raise DataError(problem, path=path, expected="a different name for each column")

    def rows() -> Iterator[dict[str, Any]]:
        try:
            for block in file.iter_batches(batch_size=_BLOCK_ROWS):
                yield from block.to_pylist()
        except (OSError, pyarrow.ArrowException) as error:
            raise DataError(f"cannot be read further: {_reason(error)}", path=path) from error

    return schema, rows()


def result_fields() -> "list[pyarrow.Field[Any]]":
    """The columns that are added to a row's own."""
    with needs("parquet", "a Parquet file"):
        import pyarrow as pa
    texts = pa.list_(pa.string())
    paraphrase = pa.struct(
        [
            pa.field("text", pa.string()),
            pa.field("sketch", pa.list_(pa.int32())),
            pa.field("score", pa.float64()),
            pa.field("difference", pa.float64()),
            pa.field("faithfulness", pa.float64()),
            pa.field("lost", texts),
            pa.field("accepted", pa.bool_()),
            pa.field("warnings", texts),
            pa.field("bow", pa.list_(pa.struct([("word", pa.string()), ("weight", pa.float64())]))),
            pa.field("order", pa.struct([("words", texts), ("ranks", pa.list_(pa.int32()))])),
        ]
    )
    return [pa.field(RESULTS, pa.list_(paraphrase)), pa.field(PROBLEM, pa.string())]


def write_parquet(
    path: Path,
    columns: "Sequence[str] | pyarrow.Schema",
    rows: Iterable[Mapping[str, Any]],
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Write rows that have the results already, whole or not at all; plain `columns` are text.

    The settings are kept in the file's metadata.
    """
    with needs("parquet", "a Parquet file"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    own = columns if isinstance(columns, pa.Schema) else pa.schema([(name, pa.string()) for name in columns])
    metadata = {**(own.metadata or {})}
    if settings is not None:
        metadata[_SETTINGS] = json.dumps(dict(settings)).encode()
    schema = pa.schema([*own, *result_fields()], metadata=metadata or None)
    with write_file(path) as temporary, pq.ParquetWriter(temporary, schema) as writer:
        remaining = iter(rows)
        while block := list(islice(remaining, _BLOCK_ROWS)):
            writer.write_table(pa.Table.from_pylist(block, schema=schema))


def settings_in(path: Path) -> tuple[dict[str, Any] | None, int]:
    """The settings that a Parquet file was written with (None if this program did not write it), and its rows."""
    with needs("parquet", "a Parquet file"):
        import pyarrow
        import pyarrow.parquet
    try:
        metadata = pyarrow.parquet.read_metadata(path)
    except (OSError, pyarrow.ArrowException):
        return None, 0
    stored = (metadata.metadata or {}).get(_SETTINGS)
    return (None if stored is None else json.loads(stored)), metadata.num_rows


def _reason(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
