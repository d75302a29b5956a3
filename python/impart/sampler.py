"""A sampler for torch's DataLoader that deals examples to ranks by importance."""

from __future__ import annotations

import warnings
import weakref
import zlib
from typing import Any, Callable, Dict, Iterator, Optional, Tuple, Union

import numpy as np

from impart import named
from impart._arrays import as_count, as_ids, as_workers, from_bytes, to_bytes
from impart._core import ConfigError, DataError
from impart._distributed import rank_and_size
from impart.partitioning import Partition
from impart.placement import Placement, PlacementSpec, as_start
from impart.tracker import Tracker

try:
    from torch.utils.data import Sampler as _Sampler
except ImportError:
    _Sampler = object  # type: ignore[assignment,misc]

_CHUNK = 1 << 16  # ids that become Python's integers at once


class ImportanceSampler(_Sampler):
    """Gives each rank its examples of an epoch, dealt by importance.

    The same partitions and orders as ``impart train`` for the same seed, schedule and signals:
    random partitions during the warm-up, then a new one by the heuristic every `interval` epochs,
    and in every epoch each worker's examples in a new random order. Call ``set_epoch`` before each
    epoch. Over all ranks each example comes exactly once with ``uneven="weight"``.

    Parameters
    ----------
    dataset_or_len : sized or int
        The data set, or how many examples it has.
    tracker : Tracker, optional
        What observes the training. If decisions need one and none is given, the sampler makes one:
        ``sampler.tracker``. It belongs to the sampler: ``set_epoch`` sets its epoch, synchronises
        it over the ranks and closes its windows.
    heuristic : str or callable
        One of ``impart.heuristics()``, or a function: see ``impart.partition``.
    warmup, interval : int
        Epochs at the start with a random partition each, and epochs between two repartitionings by
        the heuristic; interval 0: never again.
    ignore : int, optional
        The first epochs whose signals do not count; the tracker's if not given.
    epochs : int, optional
        Of the whole run. As in ``impart train`` the last interval then absorbs epochs that do not
        fill another one. Without it every `interval` epochs begin a new one, for ever.
    workers : int, optional
        Logical workers; one per rank if not given. With more, each rank has several, as processes
        of ``impart train`` do, and their examples come in turn.
    rank, world_size : int, optional
        From torch.distributed if not given; 0 of 1 without it.
    seed : int
        The same on all ranks.
    uneven : {"pad", "drop", "weight"}
        Parts differ by up to one example. "pad" repeats a first example where one is missing
        (the repeated visit is not observed), "drop" leaves out a last one: all ranks have equally
        many, as DistributedDataParallel needs. "weight" gives every example exactly once, and ranks
        differ by one.
    notion : str, optional
        Which notion of the tracker decides; its first if not given.
    sticky : bool
        Move as few examples as the heuristic allows.
    exchange : str, optional
        One of ``impart.exchanges()``: move `fraction` of each part before every epoch after the
        warm-up that does not repartition.
    fraction : float
        Of an exchange.
    labels : array of int, optional
        The class of each example, for ``class-stripes``.
    shuffle : {"per-worker", "shared"}
        Whether each worker shuffles on its own or all by the same permutation.
    selection : str, callable or dict, optional
        What of its part a worker visits in an epoch: one of ``impart.selections()``, a dictionary
        of the keys of ``selection:`` in a configuration (``{"strategy": "infobatch", "share":
        0.5}``), or a function ``f(ids, scores, worker=, epoch=, seed=)`` that gives the ids of one
        worker's visits, or (ids, weights). ``weights`` has the weights of a batch, ``hidden`` what
        is left out.
    arrivals_last : bool
        In every epoch visit what has just moved to a worker after what it had before.
    group : torch.distributed.ProcessGroup, optional
        Over which the tracker is synchronised.
    start : str, Partition or array of int
        Who owns what in epoch 0: one of ``impart.starts()``, or the worker of each example. What is
        not random stays through the warm-up.
    alpha, sizes
        Of the start ``dirichlet``: see ``impart.start``.
    warmup_shuffle : bool
        Warm up with random partitions after a start that is not random, too.
    strength : float
        Of the heuristic ``graded-blocks``: how much importance counts against chance, 0 to 1.

    Warns
    -----
    UserWarning
        If there is one worker: then nothing can be dealt.

    Examples
    --------
    Two workers on one rank; with torch.distributed each rank would have its own:

    >>> import impart
    >>> sampler = impart.ImportanceSampler(6, heuristic="stripes", warmup=1, interval=1, workers=2)
    >>> sampler.set_epoch(0)
    >>> sorted(sampler)
    [0, 1, 2, 3, 4, 5]
    >>> sampler.tracker.observe(range(6), loss=[0.1, 0.9, 0.2, 0.8, 0.3, 0.7])
    >>> sampler.set_epoch(1)
    >>> sampler.partition.sizes.tolist()
    [3, 3]
    """

    def __init__(self, dataset_or_len: Any, tracker: Optional[Tracker] = None,
                 heuristic: Union[str, Callable[..., Any]] = "stripes", *, warmup: int = 3,
                 interval: int = 3, ignore: Optional[int] = None, epochs: Optional[int] = None,
                 workers: Optional[int] = None, rank: Optional[int] = None,
                 world_size: Optional[int] = None, seed: int = 0, uneven: str = "pad",
                 notion: Optional[str] = None, sticky: bool = False,
                 exchange: Optional[str] = None, fraction: float = 0.1, labels: Any = None,
                 shuffle: str = "per-worker", arrivals_last: bool = False,
                 selection: Any = None, group: Any = None, start: Any = "random",
                 alpha: float = 0.5, sizes: str = "free", warmup_shuffle: bool = False,
                 strength: float = 0.5) -> None:
        if uneven not in ("pad", "drop", "weight"):
            raise ConfigError(f"uneven is {uneven!r}; it must be 'pad', 'drop' or 'weight'")
        here, everyone = rank_and_size(group)
        self.world_size = as_count(everyone if world_size is None else world_size, "world_size", 1)
        self.rank = as_count(here if rank is None else rank, "rank", most=self.world_size - 1)
        workers = self.world_size if workers is None else as_workers(workers)
        if workers < self.world_size:
            raise ConfigError(f"{self.world_size} ranks for {workers} workers: every rank has at "
                              "least one")
        examples = len(dataset_or_len) if hasattr(dataset_or_len, "__len__") else dataset_or_len
        self.uneven = uneven
        spec = PlacementSpec(
            examples=examples, workers=workers, heuristic=heuristic, notion=notion, warmup=warmup,
            interval=interval, ignore=_ignored(ignore, tracker), epochs=epochs, seed=seed,
            sticky=bool(sticky), exchange=None if exchange == "none" else exchange,
            fraction=float(fraction), shuffle=shuffle, arrivals_last=bool(arrivals_last),
            selection=selection, start=as_start(start, workers), alpha=float(alpha), sizes=sizes,
            warmup_shuffle=bool(warmup_shuffle), strength=float(strength))
        self._placement = Placement(_with_notion(spec, tracker), labels)
        self.tracker = tracker if tracker is not None else _make_tracker(self._placement.spec)
        self._check(labels)
        if workers == 1:
            warnings.warn("one rank and one worker: it has all examples, whatever their importance; "
                          "start several ranks (torchrun), or give workers=N", stacklevel=2)
        if self.tracker is not None:
            self.tracker._listener = weakref.ref(self)  # what is observed has been consumed
        self._group = group
        self._batch = 1
        self._set_epoch = -1  # as it was set; the same on all ranks, whatever each has asked for
        self._start = 0  # examples of the epoch that came before the state was saved
        self._consumed = 0
        self._counted = self.tracker is not None
        self._drawn = False
        self._visits: Optional[Tuple[np.ndarray, ...]] = None

    def _check(self, labels: Any) -> None:
        spec = self._placement.spec
        if self.uneven == "pad" and spec.examples < spec.workers:
            raise ConfigError(f"{spec.examples} examples for {spec.workers} workers: padding has "
                              "nothing to repeat; take fewer workers, or uneven='weight'")
        named_heuristic = None if callable(spec.heuristic) else named.HEURISTICS[spec.heuristic]
        if named_heuristic and named_heuristic.uses_labels and labels is None:
            raise ConfigError(f"{spec.heuristic} needs labels")
        if isinstance(spec.start, str) and named.STARTS[spec.start].uses_labels and labels is None:
            raise ConfigError(f"start {spec.start} needs labels")
        if not isinstance(spec.start, str) and len(spec.start) != spec.examples:
            raise ConfigError(f"the start is of {len(spec.start)} examples, the sampler for "
                              f"{spec.examples}")
        if self.tracker is None:
            return
        if self.tracker.num_examples != spec.examples:
            raise ConfigError(f"the tracker is for {self.tracker.num_examples} examples, the "
                              f"sampler for {spec.examples}")
        for name in spec.needed_notions:
            if name not in self.tracker.notions:
                raise ConfigError(f"the tracker does not keep the notion '{name}'; it has "
                                  f"{', '.join(self.tracker.notions)}")

    @property
    def epoch(self) -> int:
        """The current epoch; -1 before the first."""
        return self._placement.epoch

    @property
    def next_epoch(self) -> int:
        """The epoch to go on with: the current one, or the next if all of it was consumed."""
        done = self.epoch >= 0 and self._consumed >= self._epoch_visits()[0].size
        return max(0, self.epoch) + (1 if done else 0)

    @property
    def partition(self) -> Partition:
        """Who owns what in this epoch, the same on all ranks."""
        self._prepare_first()
        assert self._placement.partition is not None
        return self._placement.partition

    def weights(self, ids: Any) -> np.ndarray:
        """Return the weights of a batch's examples in this epoch, as float32.

        A step's loss is ``(weights * losses).sum() / len(ids)``: the gradient then is, on average,
        what the selection promises.

        Parameters
        ----------
        ids : array of int
            Of the examples.

        Examples
        --------
        >>> import impart
        >>> sampler = impart.ImportanceSampler(8, heuristic="random", workers=2, uneven="weight",
        ...                                    selection={"strategy": "random", "share": 0.5})
        >>> sampler.set_epoch(0)
        >>> ids = list(sampler)
        >>> len(ids), sampler.weights(ids).sum()
        (4, 8.0)
        """
        self._prepare_first()
        rows = as_ids(ids)
        weights = self._placement.weights()
        return weights[rows] if weights.size else np.ones(rows.size, np.float32)

    @property
    def hidden(self) -> np.ndarray:
        """What this rank's workers own and do not visit in this epoch.

        ``kakurenbo`` wants these to have a forward pass at the end of the epoch: observe it before
        the next ``set_epoch``.
        """
        self._prepare_first()
        workers, size = self._placement.spec.workers, self.world_size
        first, last = self.rank * workers // size, (self.rank + 1) * workers // size
        return self._placement.hidden(range(first, last))

    def set_epoch(self, epoch: int, *, losses: Any = None, synchronise: bool = True) -> None:
        """Place the examples of an epoch. With several ranks, every rank calls it.

        Synchronises the tracker, repartitions or exchanges if that is due, and tells the tracker
        the epoch. For the epoch that a state was loaded in, it keeps the position; for the current
        epoch after it was iterated, it starts it over.

        Parameters
        ----------
        epoch : int
            Counted from 0, one after the other.
        losses : array of float or callable, optional
            The current model's loss of every example, the same on all ranks, or a function that
            finds it: for the exchanges ``is`` and ``is-pair``.
        synchronise : bool
            False if the tracker has been given the visits of all ranks in another way.
        """
        epoch = as_count(epoch, "epoch")
        if epoch < self.epoch:
            raise ConfigError(f"epoch {epoch} after epoch {self.epoch}: partitions follow from "
                              "those before; make a new sampler, or load_state_dict")
        if epoch == self._set_epoch:
            if self._drawn:
                self._begin_epoch()
            return
        if self.tracker is not None and synchronise:
            self._synchronise(epoch)
        self._placement.prepare(epoch, self.tracker, losses)
        self._set_epoch = epoch
        self._begin_epoch()
        if self.tracker is not None:
            self.tracker.start_epoch(epoch)

    def _synchronise(self, epoch: int) -> None:
        assert self.tracker is not None
        alone = rank_and_size(self._group)[1] == 1
        if alone and self.world_size > 1 and self._placement.needs_visits_before(epoch):
            raise ConfigError(
                f"rank {self.rank} of {self.world_size} without torch.distributed: the others' "
                "visits are not known here; initialise a process group, or give the tracker all "
                "visits and call set_epoch(epoch, synchronise=False)")
        self.tracker.synchronise(self._group, check=self._fingerprint())

    def _fingerprint(self) -> int:
        """A number that is the same on ranks that agree."""
        spec = repr(sorted(self._placement.spec.describe().items()))
        value = zlib.crc32(f"{spec} {self.uneven} {self._set_epoch}".encode())
        if self._set_epoch >= 0 and self._placement.partition is not None:
            value = zlib.crc32(self._placement.partition.owners.data, value)
        return value

    def _begin_epoch(self) -> None:
        self._start = self._consumed = 0
        self._drawn = False
        self._visits = None

    def _prepare_first(self) -> None:
        """Nothing has to be known for epoch 0."""
        if self.epoch < 0:
            self._placement.prepare(0, None)

    def _epoch_visits(self) -> Tuple[np.ndarray, ...]:
        self._prepare_first()
        if self._visits is None:
            smallest = int(self.partition.sizes.min())
            if self.uneven == "pad" and smallest == 0:
                raise DataError("a worker has no examples, and padding nothing to repeat")
            self._visits = self._placement.visits(self._batch, self.uneven, self.rank,
                                                  self.world_size)
            if self.tracker is not None:
                self.tracker._waiting.first_only = not self._visits[1].all()
        return self._visits

    def _draw(self) -> Tuple[np.ndarray, np.ndarray, int]:
        """The epoch's ids, its steps' sizes, and where to begin: once per epoch."""
        if self._drawn:
            raise ConfigError(f"epoch {self.epoch} was iterated already: call set_epoch before "
                              "each epoch")
        ids, _, sizes = self._epoch_visits()
        self._drawn = True
        return ids, sizes, self._start

    def __iter__(self) -> Iterator[int]:
        # The epoch is drawn with its first example: a DataLoader asks twice for an iterator.
        ids, _, start = self._draw()
        for at in range(start, ids.size, _CHUNK):
            yield from ids[at:at + _CHUNK].tolist()

    def __len__(self) -> int:
        """How many examples of the epoch this rank iterates over; after a resume, what is left."""
        return int(self._epoch_visits()[0].size) - self._start

    def advance(self, count: int) -> None:
        """Say that the training loop has consumed so many examples more.

        ``Tracker.observe`` says so itself; without a tracker, call it once per step. It is what
        ``state_dict`` goes by, since a DataLoader draws ahead of the loop.
        """
        self._consumed += as_count(count, "count")
        self._counted = True

    def state_dict(self, consumed: Optional[int] = None) -> Dict[str, Any]:
        """Return the position and the tracker's state, as plain values.

        Parameters
        ----------
        consumed : int, optional
            How many examples of the epoch this rank's training loop has consumed. If not given,
            what ``observe`` or ``advance`` counted; not what the DataLoader drew.
        """
        self._prepare_first()
        length = int(self._epoch_visits()[0].size)
        if consumed is None:
            if self._drawn and not self._counted:
                raise ConfigError("nobody counted what was consumed: call sampler.advance(len(ids))"
                                  " in each step, or state_dict(consumed=...)")
            # What was hidden may have been observed, too, at the end of the epoch.
            consumed = min(self._consumed, length) if self.hidden.size else self._consumed
        if not 0 <= consumed <= length:
            raise ConfigError(f"{consumed} examples were consumed of an epoch of {length}")
        owners, dealt_by, arrivals = self._placement.state()
        return {"format": 2, "spec": self._placement.spec.describe(), "uneven": self.uneven,
                "world_size": self.world_size, "epoch": self.epoch, "consumed": int(consumed),
                "batch": self._batch, "owners": to_bytes(owners),
                "dealt_by": to_bytes(dealt_by), "arrivals": to_bytes(arrivals),
                "selection": [to_bytes(array) for array in self._placement.selection_state()],
                "tracker": None if self.tracker is None else self.tracker.state_dict()}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Go on from a saved state: the next iteration gives what is left of its epoch.

        Parameters
        ----------
        state : dict
            From ``state_dict`` of a sampler with the same parameters and number of ranks.
            ConfigError if it is not.
        """
        known = isinstance(state, dict) and state.get("format") in (1, 2) and "owners" in state
        if not known:
            raise DataError("this is not the state of a sampler")
        if state["world_size"] != self.world_size:
            raise ConfigError(f"the state was saved by {state['world_size']} ranks, and now there "
                              f"are {self.world_size}")
        mine = {**self._placement.spec.describe(), "uneven": self.uneven}
        # Older states knew no arrivals, no selections, or no starts.
        saved = {"arrivals_last": False, "selection": None, "start": "random", **state["spec"],
                 "uneven": state["uneven"]}
        for key, value in saved.items():
            if mine.get(key) != value:
                raise ConfigError(f"the saved sampler has {key} {value!r}, this one "
                                  f"{mine.get(key)!r}")
        if (state["tracker"] is None) != (self.tracker is None):
            raise ConfigError("only one of the saved sampler and this one has a tracker")
        workers = self._placement.spec.workers
        if self._batch != state["batch"] and workers > self.world_size:
            raise ConfigError(f"the state was saved with batches of {state['batch']} per worker, "
                              f"and now they are of {self._batch}")
        owners = Partition(from_bytes(state["owners"], np.uint32), workers)
        types = [np.uint64, np.uint64, np.float32, np.uint64, np.uint64]
        selection = [from_bytes(saved_array, kind) for saved_array, kind
                     in zip(state.get("selection") or [None] * len(types), types)]
        if self.tracker is not None:
            self.tracker.load_state_dict(state["tracker"])
        self._placement.restore(int(state["epoch"]), owners,
                                from_bytes(state["dealt_by"], np.float32),
                                from_bytes(state.get("arrivals"), np.uint64), selection.pop())
        self._placement.restore_selection(*selection)
        self._set_epoch = self.epoch
        self._begin_epoch()
        length = int(self._epoch_visits()[0].size)
        self._start = self._consumed = min(int(state["consumed"]), length)


def _ignored(ignore: Optional[int], tracker: Optional[Tracker]) -> int:
    if tracker is None:
        return 0 if ignore is None else ignore
    if ignore is not None and ignore != tracker.ignore:
        raise ConfigError(f"the sampler ignores {ignore} epochs, its tracker {tracker.ignore}")
    return tracker.ignore


def _with_notion(spec: PlacementSpec, tracker: Optional[Tracker]) -> PlacementSpec:
    if spec.notion is not None:
        return spec
    return spec._replace(notion="loss-variance" if tracker is None else tracker.notions[0])


def _make_tracker(spec: PlacementSpec) -> Optional[Tracker]:
    """The tracker that the decisions need; None if they need none."""
    notions = spec.needed_notions
    if not notions:
        return None
    return Tracker(spec.examples, notions, ignore=spec.ignore, seed=spec.seed)
