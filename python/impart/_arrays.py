"""From what callers have, tensors or arrays, to the arrays that the core takes."""

from __future__ import annotations

import operator
import sys
from typing import Any, Optional

import numpy as np

from impart._core import ConfigError, DataError

MOST_WORKERS = 1 << 20  # as placement::kMostWorkers


def is_tensor(value: Any) -> bool:
    """Whether it is a torch tensor; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def check_values(**values: Any) -> None:
    """DataError if one of them is a tensor without values."""
    for name, value in values.items():
        if is_tensor(value) and value.device.type == "meta":
            raise DataError(f"{name} is a meta tensor: it has a shape, but no values")


def is_on_device(value: Any) -> bool:
    """Whether it is a tensor that the CPU cannot read."""
    return is_tensor(value) and value.device.type != "cpu"


def as_numpy(value: Any) -> np.ndarray:
    """The value as an array; tensors on the CPU are not copied, except for half precisions."""
    if not is_tensor(value):
        return np.asarray(value)
    check_values(tensor=value)
    value = value.detach().cpu()
    if value.dtype in _half_types():
        value = value.float()
    return value.numpy()


def _half_types() -> tuple:
    torch = sys.modules["torch"]
    return (torch.bfloat16, torch.float16)


def as_ids(value: Any) -> np.ndarray:
    """Example ids as a row of int64; which of them exist is for the core to check."""
    array = as_numpy(value)
    if array.size == 0 and array.ndim == 1:
        return np.zeros(0, np.int64)
    return as_integers(array, "ids", ndim=1)


def as_integers(value: Any, name: str, ndim: Optional[int] = None) -> np.ndarray:
    """Whole numbers as int64."""
    array = as_numpy(value)
    if array.dtype.kind not in "iu":
        raise DataError(f"{name} are {array.dtype}; they must be integers")
    if ndim is not None and array.ndim != ndim:
        raise DataError(f"{name} have shape {array.shape}; they must have {ndim} dimension"
                        f"{'s' if ndim > 1 else ''}")
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise DataError(f"{name} hold {array.max()}, which is out of range")
    return np.ascontiguousarray(array, np.int64)


def as_floats(value: Any, name: str) -> np.ndarray:
    """Real numbers as float32."""
    array = as_numpy(value)
    if array.dtype.kind != "f":
        raise DataError(f"{name} are {array.dtype}; they must be floating point numbers")
    return np.ascontiguousarray(array, np.float32)


def as_scores(value: Any, name: str = "importance") -> np.ndarray:
    """One number for each example: float32 as it is, anything else as float64."""
    array = as_numpy(value)
    if array.dtype.kind not in "fiu":
        raise DataError(f"{name} is {array.dtype}; it must be numbers")
    if array.ndim != 1:
        raise DataError(f"{name} has shape {array.shape}; it must have one number for each example")
    kept = array.dtype if array.dtype in (np.float32, np.float64) else np.float64
    return np.ascontiguousarray(array, kept)


def as_small_integers(value: Any, name: str, count: Optional[int] = None) -> np.ndarray:
    """Labels or owners, one for each example, as uint32."""
    array = as_integers(value, name, ndim=1)
    if array.size and (array.min() < 0 or array.max() > np.iinfo(np.uint32).max):
        raise DataError(f"{name} reach from {array.min()} to {array.max()}; "
                        f"they must be between 0 and {np.iinfo(np.uint32).max}")
    if count is not None and array.size != count:
        raise DataError(f"there are {array.size} {name} for {count} examples")
    return array.astype(np.uint32)


def as_count(value: Any, name: str, least: int = 0, most: int = 2**32 - 1) -> int:
    """A whole number in a range."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ConfigError(f"{name} is {value!r}; it must be a whole number") from None
    if not least <= number <= most:
        raise ConfigError(f"{name} is {number}; it must be between {least} and {most}")
    return number


def as_workers(value: Any) -> int:
    """A number of workers that can be."""
    return as_count(value, "workers", least=1, most=MOST_WORKERS)


def as_seed(value: Any) -> int:
    """A seed: 64 bits."""
    return as_count(value, "seed", most=2**64 - 1)


def to_bytes(array: Optional[np.ndarray]) -> Optional[bytes]:
    """For states: None for nothing, since torch.load takes no empty bytes (weights_only)."""
    return array.tobytes() if array is not None and array.size else None


def from_bytes(saved: Optional[bytes], dtype: Any) -> np.ndarray:
    """The array again."""
    return np.frombuffer(saved or b"", dtype)
