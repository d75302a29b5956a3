"""Brings the visits of all ranks together over torch.distributed."""

from __future__ import annotations

import sys
from typing import Any, List, NamedTuple, Tuple

import numpy as np

from impart._core import ConfigError


class Segment(NamedTuple):
    """Visits of one epoch in the order in which they were made."""

    epoch: int
    ids: np.ndarray  #: uint64, [visits]
    values: np.ndarray  #: float32, [signals, visits]


def rank_and_size(group: Any = None) -> Tuple[int, int]:
    """This process's rank and how many there are; (0, 1) without a process group."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.distributed.is_available():
        return 0, 1
    distributed = torch.distributed
    if not distributed.is_initialized():
        return 0, 1
    return distributed.get_rank(group), distributed.get_world_size(group)


def gather_segments(segments: List[Segment], signals: int, group: Any, check: int) -> List[Segment]:
    """The visits of all ranks, the same list on each: by epoch, in it by rank, in it as visited.

    Two collectives: 16 bytes, then 12 + 4·signals bytes for each visit of the rank that made most,
    from each rank to every other. ConfigError on all ranks if `check` differs between them.
    """
    import torch
    import torch.distributed as distributed

    on_gpu = distributed.get_backend(group) == "nccl"
    device = torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")

    def all_gather(mine: np.ndarray) -> List[np.ndarray]:
        tensor = torch.from_numpy(mine).to(device)
        everyone = [torch.empty_like(tensor) for _ in range(distributed.get_world_size(group))]
        distributed.all_gather(everyone, tensor, group=group)
        return [rank.cpu().numpy() for rank in everyone]

    visits = sum(segment.ids.size for segment in segments)
    heads = all_gather(np.array([visits, check], np.int64))
    if any(head[1] != check for head in heads):
        raise ConfigError("the ranks disagree about the partition: their seeds, schedules, data or "
                          "importance differ")
    counts = [int(head[0]) for head in heads]
    if max(counts) == 0:
        return []
    packed = _pack(segments, signals)
    padded = np.zeros(max(counts) * (12 + 4 * signals), np.uint8)
    padded[:packed.size] = packed
    return _in_order([_unpack(bytes_, count, signals)
                      for bytes_, count in zip(all_gather(padded), counts)])


def _pack(segments: List[Segment], signals: int) -> np.ndarray:
    """Ids, epochs, signals, one after the other, as bytes."""
    if not segments:
        return np.zeros(0, np.uint8)
    ids = np.concatenate([segment.ids for segment in segments])
    epochs = np.concatenate([np.full(s.ids.size, s.epoch, np.uint32) for s in segments])
    values = np.concatenate([s.values.reshape(signals, s.ids.size) for s in segments], axis=1)
    return np.concatenate([np.ascontiguousarray(array).view(np.uint8).ravel()
                           for array in (ids, epochs, values.ravel())])


def _unpack(packed: np.ndarray, count: int, signals: int) -> Tuple[np.ndarray, ...]:
    ids = packed[:8 * count].view(np.uint64)
    epochs = packed[8 * count:12 * count].view(np.uint32)
    values = packed[12 * count:(12 + 4 * signals) * count].view(np.float32)
    return ids, epochs, values.reshape(signals, count)


def _in_order(ranks: List[Tuple[np.ndarray, ...]]) -> List[Segment]:
    ordered = []
    for epoch in np.unique(np.concatenate([epochs for _, epochs, _ in ranks])):
        for ids, epochs, values in ranks:
            chosen = epochs == epoch
            if chosen.any():
                ordered.append(Segment(int(epoch), ids[chosen],
                                       np.ascontiguousarray(values[:, chosen])))
    return ordered
