"""Visits that a tracker has observed and not counted yet."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import numpy as np

from impart import _core
from impart._arrays import as_floats, as_ids, as_integers, from_bytes, is_tensor, to_bytes
from impart._core import DataError
from impart._device import DeviceVisits, check_shapes, device_signals, needs_features
from impart._distributed import Segment

_FULL_DEVICE = 1 << 18  # visits that wait on a device before they are fetched
_FULL = 1 << 20  # visits that wait on the host before a lone process counts them


class WaitingVisits:
    """Visits on their way into a table: on a device, on the host, and in segments by epoch.

    With several ranks they wait until the ranks bring them together. Whoever calls holds the
    tracker's lock.
    """

    def __init__(self, num_examples: int, needs: Any, signals: List[str]) -> None:
        self.epoch = 0  #: of what is added
        self.segments: List[Segment] = []  #: what can be counted
        self.first_only = False  #: whether an epoch's further visits of an example do not count
        self._num_examples = num_examples
        self._signals = signals
        self._buffer = _core.VisitBuffer(num_examples, needs)
        self._device = DeviceVisits()
        self._device_duplicates = False
        self._seen: Optional[np.ndarray] = None

    def start_epoch(self, epoch: int) -> None:
        """Say that what is added from now on is of this epoch."""
        self.close_segment()
        self.epoch = epoch
        self._seen = None

    def add_here(self, ids: Any, logits: Any, targets: Any, loss: Any, features: Any,
                 duplicates: bool) -> int:
        """Note a batch on the host; returns its size."""
        rows = as_ids(ids)
        losses = None if loss is None else as_floats(loss, "loss")
        scores = None if logits is None else as_floats(logits, "logits")
        classes = None if targets is None else as_integers(targets, "targets")
        inputs = None
        if features is not None and needs_features(self._signals):
            inputs = as_floats(features, "features")
        check_shapes(rows.size, scores, classes, losses, inputs, self._signals)
        self._buffer.add(rows, losses, scores, classes, inputs, duplicates or self.first_only)
        return int(rows.size)

    def add_on_device(self, ids: Any, logits: Any, targets: Any, loss: Any, features: Any,
                      duplicates: bool) -> int:
        """Note a batch on its device, which nothing waits for; returns its size."""
        import torch

        rows = ids if is_tensor(ids) else torch.from_numpy(as_ids(ids))
        if rows.dim() != 1 or rows.is_floating_point() or rows.dtype == torch.bool:
            raise DataError(f"ids are {rows.dtype} of shape {tuple(rows.shape)}; they must be one "
                            "row of integers")
        given = [None if value is None else value if is_tensor(value) else torch.as_tensor(value)
                 for value in (logits, targets, loss, features)]
        logits, targets, loss, features = given
        check_shapes(int(rows.shape[0]), logits, targets, loss, features, self._signals)
        if targets is not None and targets.is_floating_point():
            raise DataError(f"targets are {targets.dtype}; they must be integers")
        values = device_signals(self._signals, logits, targets, loss, features)
        self._device_duplicates = self._device_duplicates or duplicates or self.first_only
        self._device.add(rows.detach().to(torch.int64, copy=True), values)
        return int(rows.shape[0])

    def _fetch(self) -> None:
        """Brings what waits on the device to the host; batches with wrong ids are left out."""
        wrong = None
        for ids, values in self._device.take():
            try:
                self._buffer.add_signals(ids, np.ascontiguousarray(values),
                                         self._device_duplicates)
            except DataError as error:
                wrong = wrong or error
        self._device_duplicates = False
        if wrong is not None:
            raise wrong

    def make_room(self) -> bool:
        """Fetch from the device if much waits there; whether so much waits that it should be counted."""
        if self._device.visits >= _FULL_DEVICE:
            self._fetch()
        return len(self._buffer) >= _FULL

    def close_segment(self) -> None:
        """End the list of the current epoch's visits; another one may follow."""
        self._fetch()
        if len(self._buffer) == 0:
            return
        ids, values = self._buffer.contents()
        self._buffer.clear()
        if self.first_only:
            ids, values = self._without_repeats(ids, values)
        self.segments.append(Segment(self.epoch, ids, values))

    def _without_repeats(self, ids: np.ndarray, values: np.ndarray) -> Any:
        """First visits of the epoch only: padding trains, but is not observed."""
        if self._seen is None:
            self._seen = np.zeros(self._num_examples, bool)
        first = np.zeros(ids.size, bool)
        first[np.unique(ids, return_index=True)[1]] = True
        first &= ~self._seen[ids]
        self._seen[ids] = True
        return ids[first], np.ascontiguousarray(values[:, first])

    def state(self) -> Dict[str, Any]:
        """Return all of it, as plain values; segments are closed."""
        waiting = [{"epoch": s.epoch, "ids": to_bytes(s.ids), "values": to_bytes(s.values)}
                   for s in self.segments]
        return {"epoch": self.epoch, "waiting": waiting,
                "seen": None if self._seen is None else to_bytes(np.packbits(self._seen))}

    def restore(self, state: Dict[str, Any]) -> None:
        """Go on from what ``state`` gave."""
        self._buffer.clear()
        self._device = DeviceVisits()
        self.epoch = int(state["epoch"])
        self.segments = [self._segment_of(saved) for saved in state["waiting"]]
        seen = from_bytes(state["seen"], np.uint8)
        self._seen = (np.unpackbits(seen, count=self._num_examples).astype(bool)
                      if seen.size else None)

    def _segment_of(self, saved: Dict[str, Any]) -> Segment:
        ids = from_bytes(saved["ids"], np.uint64)
        values = from_bytes(saved["values"], np.float32)
        return Segment(int(saved["epoch"]), ids, values.reshape(len(self._signals), ids.size))
