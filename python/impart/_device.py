"""Signals of batches that are on a GPU: computed and kept there, copied to the host all at once."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Callable, Dict, List, Sequence, Tuple

import numpy as np

from impart import _core
from impart._core import DataError

IGNORED_TARGET = -100
_NEED_LOGITS = {name for name, logits, features in _core.signals() if logits}
_NEED_FEATURES = {name for name, logits, features in _core.signals() if features}
_MOST_ELEMENTS = 1 << 25  # logits of token blocks that are looked at together


class DeviceVisits:
    """Visits whose ids and signals wait on the device."""

    def __init__(self) -> None:
        self.ids: List[Any] = []
        self.values: List[Any] = []
        self.visits = 0

    def add(self, ids: Any, values: Any) -> None:
        """`ids` is a tensor of any device, `values` [signals, visits] on the device."""
        self.ids.append(ids)
        self.values.append(values)
        self.visits += int(ids.shape[0])

    def take(self) -> List[Tuple[np.ndarray, np.ndarray]]:
        """Ids and signals of each batch, on the host: the one place that waits for the device."""
        if not self.ids:
            return []
        import torch

        signals = torch.cat(self.values, dim=1).cpu().numpy()
        device = self.values[0].device
        if all(ids.device == device for ids in self.ids):
            flat = torch.cat(self.ids).cpu().numpy()
        else:
            flat = np.concatenate([ids.cpu().numpy() for ids in self.ids])
        ends = np.cumsum([ids.shape[0] for ids in self.ids])
        batches = list(zip(np.split(flat, ends[:-1]), np.split(signals, ends[:-1], axis=1)))
        self.ids, self.values, self.visits = [], [], 0
        return batches


def device_signals(names: Sequence[str], logits: Any, targets: Any, loss: Any,
                   features: Any) -> Any:
    """The named signals of a batch, [signals, examples], as the core defines them.

    A few kernels on the device of the logits, and no wait. A target that is not a class makes its
    example's signals NaN.
    """
    import torch

    with torch.no_grad():
        if logits is None:
            kept = loss.detach().to(torch.float32, copy=True)  # training may write over it
            return kept.reshape(1, -1)[:len(names)]
        logits = logits.detach()
        targets = targets.to(logits.device)
        if logits.dim() == 2:
            rows = _row_signals(names, logits.float(), targets, features)
        else:
            rows = _block_signals(names, logits, targets, features)
        if loss is not None and "loss" in names:
            rows[names.index("loss")] = loss.detach().float()
        if logits.dim() == 3 and "probability" in names:
            losses = rows[names.index("loss")] if "loss" in names else loss
            if losses is None:
                losses = _block_signals(["loss"], logits, targets, features)[0]
            rows[names.index("probability")] = torch.exp(-losses.detach().float())
        return rows


class _Rows:
    """Rows of logits with their classes, and what several signals are made from."""

    def __init__(self, logits: Any, targets: Any, features: Any) -> None:
        self.logits = logits
        self.targets = targets
        self.features = features
        self.column = targets.clamp(0, logits.shape[1] - 1).unsqueeze(1)

    def own(self, values: Any) -> Any:
        return values.gather(1, self.column).squeeze(1)

    @cached_property
    def log_p(self) -> Any:
        import torch

        return torch.log_softmax(self.logits, 1)

    @cached_property
    def p(self) -> Any:
        return self.log_p.exp()

    @cached_property
    def error_norm(self) -> Any:
        import torch

        minus_one = torch.full_like(self.column, -1, dtype=self.p.dtype)
        return self.p.scatter_add(1, self.column, minus_one).norm(2, 1)


def _margin(rows: _Rows) -> Any:
    others = rows.logits.scatter(1, rows.column, float("-inf")).amax(1)
    return rows.own(rows.logits) - others


def _gradient_bound(rows: _Rows) -> Any:
    h = rows.features.detach().float()
    return rows.error_norm * (1 + h.square().sum(1)).sqrt()


# Every signal of the core, from rows of logits.
OF_ROWS: Dict[str, Callable[[_Rows], Any]] = {
    "loss": lambda rows: -rows.own(rows.log_p),
    "probability": lambda rows: rows.own(rows.log_p).exp(),
    "correct": lambda rows: rows.logits.argmax(1).eq(rows.targets).float(),
    "margin": _margin,
    "entropy": lambda rows: -(rows.p * rows.log_p.clamp_min(-1e30)).sum(1),
    "error_norm": lambda rows: rows.error_norm,
    "gradient_bound": _gradient_bound,
}


def _row_signals(names: Sequence[str], logits: Any, targets: Any, features: Any) -> Any:
    import torch

    if not names:
        return logits.new_zeros(0, logits.shape[0])
    rows = _Rows(logits, targets, features)
    is_class = (targets >= 0) & (targets < logits.shape[1])
    signals = torch.stack([OF_ROWS[name](rows) for name in names])
    return signals.masked_fill(~is_class, float("nan"))


def _block_signals(names: Sequence[str], logits: Any, targets: Any, features: Any) -> Any:
    """Means over the tokens that count, some tokens at a time."""
    import torch

    flat, labels = logits.flatten(0, 1), targets.flatten()
    h = None if features is None else features.flatten(0, 1)
    at_once = max(1, _MOST_ELEMENTS // flat.shape[1])
    pieces = []
    for start in range(0, labels.shape[0], at_once):
        part = slice(start, start + at_once)
        counted = labels[part].eq(IGNORED_TARGET)
        rows = _row_signals(names, flat[part].float(), labels[part].masked_fill(counted, 0),
                            None if h is None else h[part])
        pieces.append(rows)
    counted = targets.ne(IGNORED_TARGET)
    values = torch.cat(pieces, 1).view(len(names), *targets.shape)
    sums = torch.where(counted, values, torch.zeros_like(values)).sum(2)
    return sums / counted.sum(1).clamp_min(1)


def needs_features(names: Sequence[str]) -> bool:
    """Whether one of the signals takes the input of the last layer."""
    return bool(_NEED_FEATURES & set(names))


def check_shapes(count: int, logits: Any, targets: Any, loss: Any, features: Any,
                 names: Sequence[str]) -> None:
    """DataError if arrays or tensors do not fit `count` ids, or something needed is missing."""
    if (logits is None) != (targets is None):
        raise DataError("logits and targets go together: one of them is missing")
    if logits is None and loss is None and names:
        raise DataError("there are neither losses nor logits and targets to observe")
    if logits is None and _NEED_LOGITS & set(names):
        missing = ", ".join(sorted(_NEED_LOGITS & set(names)))
        raise DataError(f"the signals {missing} need logits and targets")
    if loss is not None and tuple(loss.shape) != (count,):
        raise DataError(f"loss has shape {tuple(loss.shape)} for {count} ids; there must be one "
                        "for each example (reduction='none')")
    if logits is None:
        return
    shape = tuple(logits.shape)
    if len(shape) not in (2, 3) or shape[0] != count or shape[-1] == 0:
        raise DataError(f"logits have shape {shape} for {count} ids; they must be [ids, classes], "
                        "or [ids, tokens, classes]")
    if tuple(targets.shape) != shape[:-1]:
        raise DataError(f"targets have shape {tuple(targets.shape)} for logits {shape}; they must "
                        f"be the classes, {shape[:-1]}")
    if needs_features(names):
        if features is None:
            raise DataError("the notion grad-norm needs features: the input of the last layer")
        if tuple(features.shape[:-1]) != shape[:-1]:
            raise DataError(f"features have shape {tuple(features.shape)} for logits {shape}")
