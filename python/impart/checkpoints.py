"""States as `torch.save` writes them best: raw bytes become tensors of uint8.

`torch.load` refuses raw bytes by default, and its pickles would write them as text.
"""

from __future__ import annotations

from typing import Any

from impart.run_files import optional_module

_BYTES = "bytes as a tensor"  # the one key of a dict that stands for bytes


def pack_state(value: Any) -> Any:
    """A state of dicts, lists and plain values, with tensors instead of bytes."""
    if isinstance(value, bytes):
        torch = optional_module("torch", "torch", "saving a state")
        empty = torch.empty(0, dtype=torch.uint8)
        return {_BYTES: torch.frombuffer(bytearray(value), dtype=torch.uint8) if value else empty}
    if isinstance(value, dict):
        return {key: pack_state(item) for key, item in value.items()}
    return [pack_state(item) for item in value] if isinstance(value, list) else value


def unpack_state(value: Any) -> Any:
    """What `pack_state` was given."""
    if isinstance(value, dict):
        if value.keys() == {_BYTES}:
            return value[_BYTES].cpu().numpy().tobytes()
        return {key: unpack_state(item) for key, item in value.items()}
    return [unpack_state(item) for item in value] if isinstance(value, list) else value
