"""Importance-aware data-parallel training, inside any PyTorch training loop.

    tracker = impart.Tracker(len(dataset))
    sampler = impart.ImportanceSampler(dataset, tracker, "stripes", warmup=5, interval=5)
    loader = DataLoader(impart.IndexedDataset(dataset), batch_size=64, sampler=sampler)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for ids, x, y in loader:
            logits = model(x)
            tracker.observe(ids, logits=logits, targets=y)
            ...
"""

from __future__ import annotations

import importlib
from typing import Any, List

from impart._core import ConfigError, DataError, IoError
from impart._core import version as __version__
from impart.dataset import IndexedDataset
from impart.named import exchanges, heuristics, notions, outers, selections, starts
from impart.partitioning import Imbalance, MovePlan, Partition, exchange, move_plan, partition
from impart.starting import Heterogeneity, heterogeneity, start
from impart.tracker import Tracker

# What needs torch, pandas or matplotlib is loaded when it is used.
_LATER = {
    "ImportanceSampler": "impart.sampler",
    "ImportanceBatchSampler": "impart.batch_sampler",
    "outer_state": "impart.outer",
    "outer_step": "impart.outer",
    "read_run": "impart.runs",
    "read_study": "impart.runs",
    "data_map": "impart.maps",
    "gallery": "impart.gallery_plot",
    "plot_data_map": "impart.plots",
    "plot_importance": "impart.plots",
    "plot_curves": "impart.plots",
}

__all__ = [
    "ConfigError", "DataError", "Heterogeneity", "Imbalance", "IndexedDataset", "IoError", "MovePlan",
    "Partition", "Tracker", "exchange", "exchanges", "heterogeneity", "heuristics", "move_plan",
    "notions", "outers", "partition", "selections", "start", "starts", *_LATER,
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'impart' has no attribute {name!r}")


def __dir__() -> List[str]:
    return sorted([*globals(), *_LATER])
