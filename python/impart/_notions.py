"""Notions of a tracker: names, and functions of Python."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

import numpy as np

from impart import _core, named
from impart._core import ConfigError, DataError

Function = Callable[[Dict[str, np.ndarray]], Any]
#: State that a function can look at unless it says otherwise.
DEFAULT_NEEDS = ("loss-variance", "loss-last", "loss-ema")


def split_notions(notions: Any) -> Tuple[List[str], Dict[str, Function]]:
    """Names of built-in notions, and functions by name; both in order."""
    if isinstance(notions, (str, Mapping)) or callable(notions):
        notions = [notions]
    names: List[str] = []
    functions: Dict[str, Function] = {}
    for notion in notions:
        if isinstance(notion, Mapping):
            functions.update({str(name): function for name, function in notion.items()})
        elif callable(notion):
            functions[getattr(notion, "__name__", type(notion).__name__)] = notion
        else:
            names.append(named.find(named.NOTIONS, "notion", notion).name)
    for name, function in functions.items():
        if not callable(function):
            raise ConfigError(f"the notion '{name}' is {function!r}; it must be a function")
        if name in named.NOTIONS:
            raise ConfigError(f"there is a built-in notion '{name}'; give the function another name")
    if len(set(names)) != len(names):
        raise ConfigError(f"a notion is there twice: {', '.join(names)}")
    if not names and not functions:
        raise ConfigError("a tracker needs at least one notion")
    return names, functions


def needs_of(functions: Dict[str, Function]) -> List[str]:
    """Built-in notions whose state the functions look at: their attribute ``needs``."""
    needs: List[str] = []
    for function in functions.values():
        wanted = getattr(function, "needs", DEFAULT_NEEDS)
        needs += [wanted] if isinstance(wanted, str) else list(wanted)
    return sorted({named.find(named.NOTIONS, "notion", name).name for name in needs})


def evaluate(name: str, function: Function, statistics: Dict[str, np.ndarray],
             previous: Optional[np.ndarray]) -> np.ndarray:
    """What a function says of each example, by the table's rules; NaN where nothing is known."""
    examples = statistics["visits"].size
    values = np.asarray(function(statistics))
    if values.shape != (examples,) or values.dtype.kind not in "fiub":
        raise DataError(f"the notion '{name}' gave {values.dtype} of shape {values.shape}; it must "
                        f"give {examples} numbers")
    non_finite = statistics["non_finite"].astype(np.uint32)
    return _core.settle(np.ascontiguousarray(values, np.float32), non_finite, previous)
