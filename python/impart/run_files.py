"""The files of a run directory, one function per format (docs/formats.md).

Whatever cannot be read is a DataError that names the file, and the line where there is one. pandas
and PyYAML are imported when they are needed, and asked for by name if they are not there.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import zlib
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from impart import DataError

if TYPE_CHECKING:
    import pandas as pd


def optional_module(name: str, package: str, purpose: str) -> ModuleType:
    """The module of that name.

    Raises
    ------
    ImportError
        If it is not installed, with the package to install and what it is for.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{purpose} needs {package}: pip install {package}") from error


def pandas() -> ModuleType:
    """pandas, or an ImportError that says how to get it."""
    return optional_module("pandas", "pandas", "reading runs and studies")


def read_bytes(path: Path) -> bytes:
    """The bytes of a file; DataError if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: {os.strerror(error.errno or 0)}") from error


def read_object(path: Path) -> dict[str, Any]:
    """A file that is one JSON object. null, which stands for NaN and infinities, is None."""
    try:
        value = json.loads(read_bytes(path))
    except ValueError as error:
        raise DataError(f"{path}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise DataError(f"{path}: not a JSON object")
    return value


def read_records(path: Path, *, key: str) -> list[dict[str, Any]]:
    """A file with one JSON object per line, each with the member `key`.

    The last line may be torn, as it is while a run writes it or after a kill: it is left out.
    DataError names any other line that is no record.
    """
    lines = read_bytes(path).split(b"\n")
    torn = lines.pop()  # what follows the last line end; empty unless a line is half written
    records = []
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if isinstance(record, dict) and key in record:
            records.append(record)
        elif number < len(lines) or torn:
            raise DataError(f'{path}:{number}: not a JSON object with "{key}"')
    return records


_SUM = re.compile(rb'(.*),"crc32":"([0-9a-f]{8})"}', re.DOTALL)
# Damage that hits the name of the member leaves its value, and the other way round.
_LIKE_SUM = re.compile(rb'.*(,"crc32":".{8}..|.{10}[0-9a-fA-F]{8}"})', re.DOTALL)


def read_log(path: Path) -> list[dict[str, Any]]:
    """The records of metrics.jsonl or ledger.jsonl, one per epoch, without their checksums.

    A last line that is torn, or has zeros in it after a crash, is left out. DataError names any
    other line that is no record, is damaged (older versions wrote no checksums), or does not come
    after the epoch before it.
    """
    lines = read_bytes(path).split(b"\n")[:-1]
    if lines and b"\0" in lines[-1]:
        lines.pop()
    records: list[dict[str, Any]] = []
    has_sums = False
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}"
        has_sums = _check_sum(line, has_sums, where)
        records.append(_epoch_record(line, where))
        if number > 1 and records[-1]["epoch"] <= records[-2]["epoch"]:
            raise DataError(f"{where}: epoch {records[-1]['epoch']} comes after epoch "
                            f"{records[-2]['epoch']}")
    return records


def _check_sum(line: bytes, must_have: bool, where: str) -> bool:
    """Whether the line has a checksum. Where a line has one, those after it must."""
    found = _SUM.fullmatch(line)
    if int(found[2], 16) != zlib.crc32(found[1]) if found else _LIKE_SUM.fullmatch(line):
        raise DataError(f"{where}: wrong checksum: the line is damaged")
    if must_have and not found:
        raise DataError(f"{where}: has no checksum, but a line before it has one")
    return found is not None


def _epoch_record(line: bytes, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if not isinstance(record, dict) or not isinstance(record.get("epoch"), int):
        raise DataError(f'{where}: not a JSON object with an "epoch"')
    record.pop("crc32", None)
    return record


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file that is a map, read by the rules of YAML 1.2 as impart writes it."""
    yaml = optional_module("yaml", "PyYAML", "reading config.yaml")
    try:
        value = yaml.load(read_bytes(path), Loader=_yaml_loader(yaml))
    except (yaml.YAMLError, ValueError) as error:
        raise DataError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(value, dict):
        raise DataError(f"{path}: not a map of keys and values")
    return value


def _yaml_loader(yaml: ModuleType) -> type:
    """PyYAML follows YAML 1.1, where 1e-08 is text and `off` is false; this loader does not."""
    class Loader(yaml.SafeLoader):  # type: ignore[misc, name-defined]
        yaml_implicit_resolvers: dict[str, Any] = {}

    number = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    rules = [("null", r"~|null|", ["~", "n", ""]), ("bool", r"true|false", ["t", "f"]),
             ("int", r"[-+]?(?:0|[1-9][0-9]*)", list("-+0123456789")),
             ("float", rf"{number}|[-+]?\.inf|\.nan", list("-+.0123456789"))]
    for tag, pattern, starts in rules:
        whole = re.compile(f"^(?:{pattern})$")
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", whole, starts)
    return Loader


def read_columns(path: Path) -> pd.DataFrame:
    """The columns of a CSV file by its column `id`, which must hold 0..N-1, each once."""
    table = _parse_csv(path)
    if "id" not in table.columns:
        raise DataError(f'{path}: has no column "id"')
    ids = table["id"].to_numpy()
    if ids.dtype.kind not in "iu":
        raise DataError(f"{path}: ids that are no integers")
    if not np.array_equal(np.sort(ids), np.arange(len(ids))):
        raise DataError(f"{path}: ids are not 0..{len(ids) - 1}, each once")
    return table.set_index("id").sort_index()


def _parse_csv(path: Path) -> pd.DataFrame:
    import io
    pd = pandas()
    data = read_bytes(path)
    try:
        table = pd.read_csv(io.BytesIO(data), float_precision="round_trip", keep_default_na=False,
                            na_values=["nan", "-nan"], skipinitialspace=True)
    except (ValueError, pd.errors.ParserError) as error:  # UnicodeDecodeError is a ValueError
        raise DataError(f"{path}: not CSV: {str(error).strip()}") from error
    if data.count(b",") != (len(table) + 1) * (len(table.columns) - 1):
        raise DataError(f"{path}: rows with more or fewer fields than the first line")
    text = [name for name in table.columns if not pd.api.types.is_numeric_dtype(table[name])]
    if text and len(table):
        raise DataError(f'{path}: values in column "{text[0]}" that are no numbers')
    return table


def read_owners(path: Path) -> np.ndarray:
    """An `id,worker` file as an array: the worker of every example, uint32."""
    table = read_columns(path)
    if "worker" not in table.columns:
        raise DataError(f'{path}: has no column "worker"')
    workers = table["worker"].to_numpy()
    if workers.dtype.kind not in "iu" or (len(workers) and workers.min() < 0):
        raise DataError(f"{path}: workers that are no numbers from 0 on")
    return workers.astype(np.uint32)


def read_array(path: Path, dimensions: int) -> np.ndarray:
    """A .npy file of so many dimensions, mapped and not copied."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path}: {error}") from error
    if array.ndim != dimensions:
        raise DataError(f"{path}: {array.ndim} dimensions instead of {dimensions}")
    return array


def frame(rows: list[dict[str, Any]], first: list[str]) -> pd.DataFrame:
    """Rows as a table, the columns `first` in front. A null among numbers becomes NaN."""
    pd = pandas()
    table = pd.DataFrame.from_records(rows) if rows else pd.DataFrame(columns=first)
    for name in table.columns:
        if table[name].dtype == object and table[name].map(_is_number).all():
            table[name] = table[name].astype(float)
    rest = [name for name in table.columns if name not in first]
    return table[[*(name for name in first if name in table.columns), *rest]]


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


# Members of a ledger that have another name in older files.
_FORMERLY = {"messages_sent": "sends", "messages_received": "receives"}


def with_new_names(record: dict[str, Any]) -> dict[str, Any]:
    """A record of a ledger, its members called as today."""
    return {_FORMERLY.get(name, name): value for name, value in record.items()}


def flatten(record: dict[str, Any]) -> dict[str, Any]:
    """A record whose member `outer: {inner: value}` became `outer_inner: value`."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            flat.update({f"{name}_{inner}": item for inner, item in value.items()})
        else:
            flat[name] = value
    return flat
