"""Who owns which example over the epochs of a run: the decisions of ``impart train``."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np

from impart import _core, named
from impart._arrays import as_count, as_scores, as_seed, as_small_integers
from impart._core import ConfigError
from impart.partitioning import Partition, exchange, partition
from impart.tracker import Tracker

LAGGING_LOSS = "loss-last"


class PlacementSpec(NamedTuple):
    """What a run decides, and when; names as in the configuration of ``impart train``."""

    examples: int
    workers: int
    heuristic: Union[str, Callable[..., Any]]
    notion: Optional[str]
    warmup: int
    interval: int
    ignore: int
    epochs: Optional[int]
    seed: int
    sticky: bool
    exchange: Optional[str]
    fraction: float
    shuffle: str

    @property
    def uses_importance(self) -> bool:
        """Whether the heuristic looks at importance."""
        return callable(self.heuristic) or named.HEURISTICS[self.heuristic].uses_importance

    @property
    def exchange_source(self) -> str:
        """Where the exchange's importance comes from."""
        return "none" if self.exchange is None else named.EXCHANGES[self.exchange].source

    @property
    def uses_notion(self) -> bool:
        """Whether any decision looks at the notion's importance."""
        return self.uses_importance or self.exchange_source == "notion"

    def describe(self) -> Dict[str, Any]:
        """Plain values that two equal specs have in common."""
        values = self._asdict()
        if callable(self.heuristic):
            values["heuristic"] = getattr(self.heuristic, "__name__",
                                          type(self.heuristic).__name__)
        return values


def check_spec(spec: PlacementSpec) -> PlacementSpec:
    """The spec with its numbers checked; ConfigError if something is wrong."""
    if not callable(spec.heuristic):
        named.find(named.HEURISTICS, "heuristic", spec.heuristic)
    if spec.exchange is not None:
        named.find(named.EXCHANGES, "exchange", spec.exchange)
    if not 0 <= spec.fraction <= 1:
        raise ConfigError(f"fraction is {spec.fraction}; it must be between 0 and 1")
    if spec.shuffle not in ("per-worker", "shared"):
        raise ConfigError(f"shuffle is {spec.shuffle!r}; it must be 'per-worker' or 'shared'")
    checked = spec._replace(
        examples=as_count(spec.examples, "the number of examples", most=2**63 - 1),
        workers=as_count(spec.workers, "workers", least=1), seed=as_seed(spec.seed),
        warmup=as_count(spec.warmup, "warmup"), interval=as_count(spec.interval, "interval"),
        ignore=as_count(spec.ignore, "ignore"),
        epochs=None if spec.epochs is None else as_count(spec.epochs, "epochs", least=1))
    schedule_until(checked, checked.warmup)
    return checked


def schedule_until(spec: PlacementSpec, epoch: int) -> List[Tuple[int, str]]:
    """The events (epoch, kind) of a run, at least up to this epoch.

    Without a number of epochs, intervals follow each other for ever: a schedule of so many whole
    intervals that the epoch is in one of them, so that none absorbs what is left over.
    """
    epochs = spec.epochs
    if epochs is None:
        after = max(0, epoch - spec.warmup)
        whole = (after // spec.interval + 1) * spec.interval if spec.interval else after + 1
        epochs = spec.warmup + whole
    elif epoch >= epochs and epoch > spec.warmup:
        raise ConfigError(f"epoch {epoch} of a run of {epochs} epochs")
    needs = callable(spec.heuristic) or (
        spec.uses_importance and (spec.notion not in named.NOTIONS
                                  or named.NOTIONS[spec.notion].needs_visits))
    return _core.schedule(epochs, spec.warmup, spec.interval, spec.ignore,
                          spec.exchange is not None, needs)


class Placement:
    """The partition of the current epoch, and the importance that it was dealt by."""

    def __init__(self, spec: PlacementSpec, labels: Any = None) -> None:
        self.spec = check_spec(spec)
        self.labels = None if labels is None else as_small_integers(labels, "labels", spec.examples)
        self.epoch = -1
        self.partition: Optional[Partition] = None
        self.dealt_by: Optional[np.ndarray] = None  #: None: at random

    def needs_visits_before(self, epoch: int) -> bool:
        """Whether what happens up to this epoch depends on what was observed."""
        events = schedule_until(self.spec, epoch)
        due = [kind for at, kind in events if self.epoch < at <= epoch]
        by_exchange = self.spec.exchange_source in ("training-loss", "notion")
        return ("heuristic" in due and self.spec.uses_importance
                or "exchange" in due and by_exchange)

    def prepare(self, epoch: int, tracker: Optional[Tracker], losses: Any = None) -> None:
        """Carries out what the schedule says for every epoch up to this one.

        `losses` is the current model's loss of every example, or a function that finds it, where an
        exchange needs that. Epochs that were left out must not have needed observations.
        """
        events = dict(schedule_until(self.spec, epoch))
        for at in range(self.epoch + 1, epoch):
            kind = events.get(at)
            needs = (kind == "heuristic" and self.spec.uses_importance
                     or kind == "exchange" and self.spec.exchange_source != "none")
            if needs:
                raise ConfigError(
                    f"epoch {epoch} comes after epoch {self.epoch}, but at epoch {at} the examples "
                    "are dealt by what was observed before it; call set_epoch for every epoch, or "
                    "load_state_dict")
        for at in range(self.epoch + 1, epoch + 1):
            self._carry_out(at, events.get(at), tracker, losses, events)
        self.epoch = epoch

    def _carry_out(self, epoch: int, kind: Optional[str], tracker: Optional[Tracker], losses: Any,
                   events: Dict[int, str]) -> None:
        spec = self.spec
        if kind == "random":
            self.partition = partition(np.zeros(spec.examples, np.float32), "random", spec.workers,
                                       seed=spec.seed, epoch=epoch)
            self.dealt_by = None
        elif kind == "heuristic":
            importance = self._importance_for_heuristic(tracker)
            self.partition = partition(importance, spec.heuristic, spec.workers, self.partition,
                                       spec.sticky, spec.seed, epoch, self.labels)
            self.dealt_by = importance if spec.uses_importance else None
        elif kind == "exchange" and spec.exchange is not None:
            earlier = sum(1 for at, what in events.items() if what == "exchange" and at < epoch)
            self.partition = exchange(self.partition, spec.exchange, spec.fraction,
                                      self._importance_for_exchange(tracker, losses), spec.seed,
                                      epoch, earlier)

    def _importance_for_heuristic(self, tracker: Optional[Tracker]) -> np.ndarray:
        importance = np.zeros(self.spec.examples, np.float32)
        if tracker is None:
            return importance
        if self.spec.uses_importance:
            self._check_observed(tracker)
            importance = tracker.importance(self.spec.notion)
        tracker.close_window()
        return importance

    def _importance_for_exchange(self, tracker: Optional[Tracker], losses: Any) -> Any:
        source = self.spec.exchange_source
        if source == "none":
            return None
        if source == "inference-loss":
            if losses is None:
                raise ConfigError(f"the exchange {self.spec.exchange} needs the current model's "
                                  "loss of every example: set_epoch(epoch, losses=...)")
            return as_scores(losses() if callable(losses) else losses, "losses")
        if tracker is None:
            raise ConfigError(f"the exchange {self.spec.exchange} needs a tracker")
        self._check_observed(tracker)
        return tracker.importance(LAGGING_LOSS if source == "training-loss" else self.spec.notion)

    def _check_observed(self, tracker: Tracker) -> None:
        known = named.NOTIONS.get(self.spec.notion or "")
        if tracker.visits == 0 and not (known and not known.needs_visits):
            raise ConfigError("nothing was observed: call tracker.observe after each forward pass")

    def visits(self, batch: int, uneven: str, rank: int, processes: int) -> Tuple[np.ndarray, ...]:
        """What one process visits in this epoch: ids, whether each counts, steps' sizes."""
        assert self.partition is not None
        return _core.epoch_visits(self.partition.owners, self.spec.workers, self.dealt_by,
                                  self.spec.seed, self.epoch, self.spec.shuffle, uneven, batch,
                                  rank, processes)
