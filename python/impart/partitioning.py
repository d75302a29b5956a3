"""Who owns what: partitions, exchanges and what moves between two of them."""

from __future__ import annotations

import inspect
from typing import Any, Callable, List, NamedTuple, Optional, Union

import numpy as np

from impart import _core, named
from impart._arrays import as_count, as_scores, as_seed, as_small_integers, as_workers
from impart._core import ConfigError, DataError


class Imbalance(NamedTuple):
    """How differently the workers of a partition are treated."""

    sizes: np.ndarray  #: examples of each worker
    sums: np.ndarray  #: importance of each worker
    cv: float  #: coefficient of variation of the workers' mean importance
    ks: float  #: largest Kolmogorov-Smirnov distance of a worker's importance to that of all


class Partition:
    """Who owns what: every example has exactly one worker.

    ``numpy.asarray(partition)`` is its owners.

    Parameters
    ----------
    owners : array of int
        The worker of each example.
    workers : int, optional
        How many there are; the largest owner + 1 if not given.
    importance : array of float, optional
        What ``imbalance`` is measured by.

    Examples
    --------
    >>> import impart
    >>> p = impart.Partition([0, 1, 1, 0], importance=[4.0, 3.0, 2.0, 1.0])
    >>> p
    Partition(examples=4, workers=2)
    >>> [part.tolist() for part in p.parts]
    [[0, 3], [1, 2]]
    >>> p.imbalance.sums.tolist()
    [5.0, 5.0]
    """

    def __init__(self, owners: Any, workers: Optional[int] = None, importance: Any = None) -> None:
        self.owners: np.ndarray = as_small_integers(owners, "owners")
        most = int(self.owners.max()) + 1 if self.owners.size else 1
        self.workers: int = as_workers(most if workers is None else workers)
        if most > self.workers:
            example = int(np.argmax(self.owners >= self.workers))
            raise DataError(f"example {example} belongs to worker {self.owners[example]}, "
                            f"but there are only {self.workers} workers")
        self._importance = None if importance is None else as_scores(importance)
        if self._importance is not None and self._importance.size != self.owners.size:
            raise DataError(f"there are {self._importance.size} scores for {self.owners.size} "
                            "examples")
        self.owners.setflags(write=False)

    @property
    def sizes(self) -> np.ndarray:
        """How many examples each worker owns."""
        return np.bincount(self.owners, minlength=self.workers)

    @property
    def parts(self) -> List[np.ndarray]:
        """The ids of each worker's examples, ascending."""
        return _core.parts(self.owners, self.workers)

    @property
    def imbalance(self) -> Imbalance:
        """How differently the workers are treated, by the importance that decided."""
        return self.measure(self._importance)

    def measure(self, importance: Any) -> Imbalance:
        """Return how differently the workers are treated, by any importance.

        Parameters
        ----------
        importance : array of float
            One number for each example. NaN and infinities count as the largest finite one.
        """
        if importance is None:
            raise ConfigError("this partition knows no importance; call measure(importance)")
        scores = as_scores(importance)
        if scores.size != self.owners.size:
            raise DataError(f"there are {scores.size} scores for {self.owners.size} examples")
        return Imbalance(*_core.imbalance(self.owners, self.workers, scores))

    def class_skew(self, labels: Any) -> float:
        """Return the largest total-variation distance of a worker's class mix to that of all."""
        classes = as_small_integers(labels, "labels", self.owners.size)
        return _core.class_skew(self.owners, self.workers, classes)

    def __len__(self) -> int:
        return int(self.owners.size)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        return self.owners if dtype is None else self.owners.astype(dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Partition):
            return NotImplemented
        return self.workers == other.workers and np.array_equal(self.owners, other.owners)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Partition(examples={len(self)}, workers={self.workers})"


class MovePlan(NamedTuple):
    """What has to travel, sorted by (from_worker, to_worker, example)."""

    examples: np.ndarray
    from_worker: np.ndarray
    to_worker: np.ndarray
    messages: int  #: pairs of workers that send anything


Heuristic = Union[str, Callable[..., Any]]


def _as_partition(value: Any, workers: Optional[int] = None) -> Partition:
    return value if isinstance(value, Partition) else Partition(value, workers)


def partition(importance: Any, heuristic: Heuristic = "stripes", workers: int = 1,
              previous: Any = None, sticky: bool = False, seed: int = 0, epoch: int = 0,
              labels: Any = None, strength: float = 0.5) -> Partition:
    """Deal examples to workers by their importance.

    The same owners as those of ``impart partition`` for the same numbers. The interpreter's lock is
    free meanwhile.

    Parameters
    ----------
    importance : array of float
        One number for each example, larger for harder. float32 and float64 are taken as they are;
        NaN and infinities rank as the largest finite one.
    heuristic : str or callable
        One of ``impart.heuristics()``, or a function ``f(importance, workers, ...)`` that returns
        the worker of each example. Of ``seed``, ``epoch``, ``labels`` and ``previous`` it gets
        those that it has parameters for.
    workers : int
        How many workers there are.
    previous : Partition or array of int, optional
        Who owned what before.
    sticky : bool
        Move no more away from `previous` than the heuristic needs.
    seed, epoch : int
        For random choices; each epoch draws anew.
    labels : array of int, optional
        The class of each example, for ``class-stripes``.
    strength : float
        How much importance counts against chance, 0 to 1, for ``graded-blocks``.

    Returns
    -------
    Partition

    Examples
    --------
    >>> import impart
    >>> importance = [0.9, 0.1, 0.8, 0.2]
    >>> impart.partition(importance, "stripes", workers=2).owners.tolist()
    [0, 1, 1, 0]
    >>> impart.partition(importance, "blocks", workers=2).owners.tolist()
    [0, 1, 0, 1]

    A heuristic of one's own:

    >>> def odd_and_even(importance, workers):
    ...     return [i % workers for i in range(len(importance))]
    >>> impart.partition(importance, odd_and_even, workers=2).owners.tolist()
    [0, 1, 0, 1]
    """
    scores = as_scores(importance)
    workers = as_workers(workers)
    seed, epoch = as_seed(seed), as_count(epoch, "epoch")
    before = None if previous is None else _as_partition(previous)
    classes = None if labels is None else as_small_integers(labels, "labels", scores.size)
    if before is not None and len(before) != scores.size:
        raise DataError(f"the previous partition is of {len(before)} examples, the importance of "
                        f"{scores.size}")
    if callable(heuristic):
        return deal_by_callable(heuristic, scores, workers, seed=seed, epoch=epoch,
                                labels=classes, previous=before)
    if sticky and before is None:
        raise ConfigError("sticky needs previous: the partition to stay near to")
    stuck = before if sticky else None
    owners = _core.partition(scores, heuristic, workers, seed, epoch, classes,
                             None if stuck is None else stuck.owners,
                             0 if stuck is None else stuck.workers, float(strength))
    return Partition(owners, workers, scores)


def deal_by_callable(heuristic: Callable[..., Any], scores: np.ndarray, workers: int,
                     **options: Any) -> Partition:
    """What a function deals, checked; it gets those of the options that it has parameters for."""
    parameters = inspect.signature(heuristic).parameters.values()
    takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    names = {p.name for p in parameters}
    given = {key: value for key, value in options.items() if takes_all or key in names}
    name = getattr(heuristic, "__name__", repr(heuristic))
    owners = heuristic(scores, workers, **given)
    if isinstance(owners, Partition):
        owners = owners.owners
    try:
        dealt = Partition(as_small_integers(owners, "owners", scores.size), workers, scores)
    except (DataError, ConfigError) as error:
        raise DataError(f"the heuristic {name}: {error}") from error
    return dealt


def exchange(partition: Any, strategy: str, fraction: float = 0.1, importance: Any = None,
             seed: int = 0, epoch: int = 0, earlier_exchanges: int = 0) -> Partition:
    """Move a share of the examples to other workers: one in, one out.

    Parameters
    ----------
    partition : Partition or array of int
        Who owns what now.
    strategy : str
        One of ``impart.exchanges()``.
    fraction : float
        Which share of its part a worker gives away, 0 to 1.
    importance : array of float, optional
        One number for each example; only ``partial`` does without.
    seed, epoch : int
        For random choices; each epoch draws anew.
    earlier_exchanges : int
        How many exchanges of the run came before; what rounding left over from them is made up for.

    Returns
    -------
    Partition

    Examples
    --------
    >>> import impart
    >>> before = impart.Partition([0, 0, 0, 0, 1, 1, 1, 1])
    >>> after = impart.exchange(before, "partial", fraction=0.5)
    >>> after.sizes.tolist(), after == before
    ([4, 4], False)
    """
    current = _as_partition(partition)
    row = named.find(named.EXCHANGES, "exchange", strategy)
    if importance is None and row.source != "none":
        raise ConfigError(f"the exchange {strategy} needs importance")
    scores = np.zeros(len(current), np.float32) if importance is None else as_scores(importance)
    owners = _core.exchange(current.owners, current.workers, strategy, scores, float(fraction),
                            as_seed(seed), as_count(epoch, "epoch"),
                            as_count(earlier_exchanges, "earlier_exchanges"))
    return Partition(owners, current.workers, None if importance is None else scores)


def move_plan(old: Any, new: Any) -> MovePlan:
    """Return what has to travel from one partition to another.

    Parameters
    ----------
    old, new : Partition or array of int

    Returns
    -------
    MovePlan

    Examples
    --------
    >>> import impart
    >>> plan = impart.move_plan([0, 0, 1], [0, 1, 1])
    >>> plan.examples.tolist(), plan.from_worker.tolist(), plan.to_worker.tolist()
    ([1], [0], [1])
    """
    before, after = _as_partition(old), _as_partition(new)
    return MovePlan(*_core.move_plan(before.owners, before.workers, after.owners, after.workers))
