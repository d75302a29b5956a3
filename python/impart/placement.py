"""Who owns which example over the epochs of a run: the decisions of ``impart train``."""

from __future__ import annotations

import zlib
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np

from impart import _core, named
from impart._arrays import as_count, as_floats, as_ids, as_scores, as_seed, as_small_integers, as_workers
from impart._core import ConfigError
from impart.named import Selection
from impart.partitioning import Partition, deal_by_callable
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
    arrivals_last: bool
    selection: Any = None  #: a name, a function, or a dictionary of the keys of ``selection:``
    start: Any = "random"  #: a name, or who owns what in epoch 0
    alpha: float = 0.5
    sizes: str = "free"
    warmup_shuffle: bool = False
    strength: float = 0.5

    @property
    def uses_importance(self) -> bool:
        """Whether the heuristic looks at importance."""
        return callable(self.heuristic) or named.HEURISTICS[self.heuristic].uses_importance

    @property
    def exchange_source(self) -> str:
        """Where the exchange's importance comes from."""
        return "none" if self.exchange is None else named.EXCHANGES[self.exchange].source

    @property
    def selects(self) -> Selection:
        """The row of the selection; a function of Python looks at the notion."""
        strategy = selection_keys(self)["strategy"]
        if callable(strategy):
            return Selection("function", "", "notion", False, False)
        return named.find(named.SELECTIONS, "selection", strategy)

    @property
    def uses_notion(self) -> bool:
        """Whether any decision looks at the notion's importance."""
        sources = (self.exchange_source, self.selects.source)
        return self.uses_importance or "notion" in sources

    @property
    def needed_notions(self) -> List[str]:
        """The notions that a tracker must keep."""
        notions = [self.notion] if self.uses_notion and self.notion is not None else []
        if "training-loss" in (self.exchange_source, self.selects.source):
            notions.append(LAGGING_LOSS)
        if self.selects.uses_correct:
            notions.append("forgetting")
        return list(dict.fromkeys(notions))

    def describe(self) -> Dict[str, Any]:
        """Plain values that two equal specs have in common."""
        values = self._asdict()
        if callable(self.heuristic):
            values["heuristic"] = _name_of(self.heuristic)
        if not isinstance(self.start, str):
            values["start"] = f"owners {zlib.crc32(self.start.owners.data):08x}"
        if self.selection is not None:
            values["selection"] = {key: _name_of(value) if callable(value) else value
                                   for key, value in selection_keys(self).items()}
        return values


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


_WORDS = {"scope": ("part", "all"), "prune": ("easiest", "hardest"), "growth": ("linear", "root")}
_NUMBERS = ("share", "confidence", "budget", "mix", "threshold", "start", "epsilon")
_COUNTS = ("final", "after", "ramp", "multiple")
#: What a strategy cannot do without, as a share of the run where that is known.
_SHARES = {"prune": ("after", 0.25), "curriculum": ("ramp", 0.5)}


def selection_keys(spec: PlacementSpec) -> Dict[str, Any]:
    """The selection as a dictionary of the keys of the configuration, each checked."""
    asked = spec.selection
    if asked is None:
        return {"strategy": "all"}
    keys = dict(asked) if isinstance(asked, dict) else {"strategy": asked}
    keys.setdefault("strategy", "all")
    for key, value in keys.items():
        if key in _WORDS and value not in _WORDS[key]:
            raise ConfigError(f"selection: {key} is {value!r}; it must be one of "
                              f"{', '.join(_WORDS[key])}")
        if key in _COUNTS:
            keys[key] = as_count(value, f"selection: {key}")
        elif key in _NUMBERS:
            keys[key] = float(value)
        elif key not in _WORDS and key != "strategy":
            raise ConfigError(f"selection: unknown key '{key}'; there are strategy, "
                              f"{', '.join((*_NUMBERS, *_COUNTS, *_WORDS))}")
    key, share = _SHARES.get(str(keys["strategy"]), ("", 0))
    if key and key not in keys:
        if spec.epochs is None:
            raise ConfigError(f"selection: {keys['strategy']} needs {key}, a number of epochs")
        keys[key] = int(share * spec.epochs + 0.5)
    return keys


def check_spec(spec: PlacementSpec) -> PlacementSpec:
    """The spec with its numbers checked; ConfigError if something is wrong."""
    if not callable(spec.heuristic):
        named.find(named.HEURISTICS, "heuristic", spec.heuristic)
    if spec.exchange is not None:
        named.find(named.EXCHANGES, "exchange", spec.exchange)
    spec.selects  # finds what is wrong with it
    if isinstance(spec.start, str):
        start = named.find(named.STARTS, "start", spec.start)
        if start.needs_file:
            raise ConfigError("start='file' has no file here; give the owners themselves")
    if not 0 <= spec.fraction <= 1:
        raise ConfigError(f"fraction is {spec.fraction}; it must be between 0 and 1")
    if spec.shuffle not in ("per-worker", "shared"):
        raise ConfigError(f"shuffle is {spec.shuffle!r}; it must be 'per-worker' or 'shared'")
    return spec._replace(
        examples=as_count(spec.examples, "the number of examples", most=2**63 - 1),
        workers=as_workers(spec.workers), seed=as_seed(spec.seed),
        warmup=as_count(spec.warmup, "warmup"), interval=as_count(spec.interval, "interval"),
        ignore=as_count(spec.ignore, "ignore"),
        epochs=None if spec.epochs is None else as_count(spec.epochs, "epochs", least=1))


def as_start(start: Any, workers: int) -> Union[str, Partition]:
    """A name, or owners as a partition."""
    if isinstance(start, str):
        return start
    owners = start.owners if isinstance(start, Partition) else start
    return Partition(owners, workers)


def _core_spec(spec: PlacementSpec) -> _core.PlacementSpec:
    """The same for the core, to which functions are no names."""
    values = spec._asdict()
    del values["examples"]
    if not isinstance(spec.start, str):
        values["start"] = "file"  # what a file would hold is given
    if callable(spec.heuristic):
        values["heuristic"] = None
    values["selection"] = {key: value for key, value in selection_keys(spec).items()
                           if not callable(value)}
    core = _core.PlacementSpec()
    for name, value in values.items():
        setattr(core, name, value)
    return core


class Placement:
    """The partition of the current epoch, decided by the core from what a tracker observed."""

    def __init__(self, spec: PlacementSpec, labels: Any = None) -> None:
        self.spec = check_spec(spec)
        self.labels = None if labels is None else as_small_integers(labels, "labels", spec.examples)
        self.epoch = -1
        self.partition: Optional[Partition] = None
        given = None if isinstance(self.spec.start, str) else self.spec.start.owners
        self._ownership = _core.Ownership(_core_spec(self.spec), self.spec.examples, self.labels,
                                          given)

    def needs_visits_before(self, epoch: int) -> bool:
        """Whether what happens up to this epoch depends on what was observed."""
        due = self._ownership.looks_at(self.epoch + 1, epoch + 1)
        if self.spec.selects.source != "none" and epoch > 0:
            return True
        return "notion" in due or "training-loss" in due

    def prepare(self, epoch: int, tracker: Optional[Tracker], losses: Any = None) -> None:
        """Carries out what the schedule says for every epoch up to this one.

        `losses` is the current model's loss of every example, or a function that finds it, where an
        exchange needs that. Epochs that were left out must not have needed observations.
        """
        if self.spec.epochs is not None and epoch >= self.spec.epochs:
            raise ConfigError(f"epoch {epoch} of a run of {self.spec.epochs} epochs")
        skipped = self._ownership.looks_at(self.epoch + 1, epoch)
        for at, source in enumerate(skipped, self.epoch + 1):
            if source != "none":
                raise ConfigError(
                    f"epoch {epoch} comes after epoch {self.epoch}, but at epoch {at} the examples "
                    "are dealt by what was observed before it; call set_epoch for every epoch, or "
                    "load_state_dict")
        answers = _Answers(self, tracker, losses)
        for at in range(self.epoch + 1, epoch + 1):
            self._carry_out(at, answers)
        self._ownership.select(epoch, answers)
        self.epoch = epoch

    def _carry_out(self, epoch: int, answers: _Answers) -> None:
        change = self._ownership.prepare_epoch(epoch, answers)
        if change is None:
            return
        kind, importance = change
        if importance is None and kind != "exchange":
            importance = np.zeros(self.spec.examples, np.float32)
        self.partition = Partition(self._ownership.state()[0], self.spec.workers, importance)

    def visits(self, batch: int, uneven: str, rank: int, processes: int) -> Tuple[np.ndarray, ...]:
        """What one process visits in this epoch: ids, whether each counts, steps' sizes."""
        return self._ownership.visits(self.epoch, uneven, batch, rank, processes)

    def weights(self) -> np.ndarray:
        """Of all examples in this epoch; empty: all are 1."""
        return self._ownership.selection()[2]

    def hidden(self, workers: range) -> np.ndarray:
        """What these workers own and do not visit in this epoch."""
        assert self.partition is not None
        visits, sizes, *_ = self._ownership.selection()
        ends = np.cumsum(sizes)
        hidden = []
        for worker in workers:
            visited = visits[ends[worker] - sizes[worker]:ends[worker]]
            hidden.append(np.setdiff1d(self.partition.parts[worker], visited))
        return np.concatenate(hidden)

    def selection_state(self) -> Tuple[np.ndarray, ...]:
        """What ``restore_selection`` needs: visits, sizes, weights, going, gone."""
        return self._ownership.selection()

    def restore_selection(self, visits: np.ndarray, sizes: np.ndarray, weights: np.ndarray,
                          going: np.ndarray) -> None:
        """The selection of the epoch under way, after ``restore``."""
        if sizes.size:
            self._ownership.restore_selection(visits, sizes, weights, going)

    def state(self) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Owners, the importance that they were dealt by, and which have just arrived."""
        return self._ownership.state()

    def restore(self, epoch: int, partition: Partition, dealt_by: np.ndarray,
                arrivals: np.ndarray, gone: Optional[np.ndarray] = None) -> None:
        """Go on from a state."""
        self._ownership.restore(partition.owners, dealt_by, arrivals,
                                np.zeros(0, np.uint64) if gone is None else gone)
        self.epoch, self.partition = epoch, partition

    def __getstate__(self) -> Tuple[Any, ...]:
        return (self.spec, self.labels, self.epoch, self.partition, self.state()[1:],
                self.selection_state())

    def __setstate__(self, saved: Tuple[Any, ...]) -> None:
        spec, labels, epoch, partition, rest, selection = saved
        Placement.__init__(self, spec, labels)
        if partition is not None:
            dealt_by, arrivals = rest
            self.restore(epoch, partition, dealt_by, arrivals, selection[-1])
            self.restore_selection(*selection[:-1])


class _Answers:
    """What the core asks for while it prepares an epoch."""

    def __init__(self, placement: Placement, tracker: Optional[Tracker], losses: Any) -> None:
        self._placement = placement
        self._spec = placement.spec
        self._tracker = tracker
        self._losses = losses

    def close_window(self) -> np.ndarray:
        """The importance that a heuristic deals by; zeros if it looks at none."""
        importance = np.zeros(self._spec.examples, np.float32)
        if self._tracker is None:
            return importance
        if self._spec.uses_importance:
            importance = self.notion()
        self._tracker.close_window()
        return importance

    def notion(self) -> np.ndarray:
        """The importance in the window under way."""
        return self._observed(self._spec.notion)

    def training_loss(self) -> np.ndarray:
        """The losses at the last visits."""
        return self._observed(LAGGING_LOSS)

    def inference_loss(self) -> np.ndarray:
        """The losses of the current model."""
        losses = self._losses
        if losses is None:
            raise ConfigError(f"the exchange {self._spec.exchange} needs the current model's "
                              "loss of every example: set_epoch(epoch, losses=...)")
        return as_scores(losses() if callable(losses) else losses, "losses")

    def deal(self, importance: np.ndarray, epoch: int) -> np.ndarray:
        """What a heuristic of Python says."""
        assert callable(self._spec.heuristic)
        placement = self._placement
        return deal_by_callable(self._spec.heuristic, importance, self._spec.workers,
                                seed=self._spec.seed, epoch=epoch, labels=placement.labels,
                                previous=placement.partition).owners

    def known_notion(self) -> np.ndarray:
        """The importance in the window under way; infinite where nothing is known."""
        return self._known(self._spec.notion)

    def known_training_loss(self) -> np.ndarray:
        """The losses at the last visits; infinite where there was none."""
        return self._known(LAGGING_LOSS)

    def last_correct(self) -> np.ndarray:
        """Whether the last visits were right."""
        if self._tracker is None:
            return np.zeros(self._spec.examples, np.uint8)
        return self._tracker.last_correct()

    def choose(self, ids: np.ndarray, scores: np.ndarray, worker: int,
               epoch: int) -> Tuple[np.ndarray, Optional[np.ndarray]]:
        """What a selection of Python says for one worker."""
        answer = selection_keys(self._spec)["strategy"](ids, scores, worker=worker, epoch=epoch,
                                                        seed=self._spec.seed)
        chosen, weights = answer if isinstance(answer, tuple) else (answer, None)
        visits = as_ids(chosen)
        if weights is None:
            return visits.astype(np.uint64), None
        values = as_floats(weights, "weights")
        if values.shape != visits.shape:
            raise ConfigError(f"the selection gave {values.size} weights for {visits.size} visits")
        return visits.astype(np.uint64), values

    def _known(self, notion: Optional[str]) -> np.ndarray:
        if self._tracker is None:
            return np.full(self._spec.examples, np.inf, np.float32)
        return self._tracker.known_importance(notion)

    def _observed(self, notion: Optional[str]) -> np.ndarray:
        if self._tracker is None:
            raise ConfigError(f"the exchange {self._spec.exchange} needs a tracker")
        known = named.NOTIONS.get(self._spec.notion or "")
        if self._tracker.visits == 0 and not (known and not known.needs_visits):
            raise ConfigError("nothing was observed: call tracker.observe after each forward pass")
        return self._tracker.importance(notion)
