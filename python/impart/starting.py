"""Who owns what before anything is known, and how differently that treats the workers."""

from __future__ import annotations

import os
from typing import Any, NamedTuple, Optional

from impart import _core, named
from impart._arrays import as_count, as_seed, as_small_integers, as_workers
from impart._core import ConfigError
from impart.partitioning import Partition

#: A mean class skew so far above chance is worth a warning.
NOTABLE_SKEW = 0.2


class Heterogeneity(NamedTuple):
    """How differently the workers of a partition are treated by class and by size.

    A class skew is the total-variation distance between a worker's mix of classes and that of all
    examples: 0 for the same mix, near 1 for classes that nobody else has.
    """

    class_skew: float  #: the largest of a worker
    mean_class_skew: float  #: over the workers that have examples
    mean_by_chance: float  #: what it would be, about, for random parts of these sizes
    size_spread: float  #: largest part over the mean
    warning: Optional[str]  #: what is known to go wrong with such parts; None if nothing is


def start(name: str, labels: Any = None, workers: int = 1, seed: int = 0, alpha: float = 0.5,
          sizes: str = "free", examples: Optional[int] = None,
          file: Optional[Any] = None) -> Partition:
    """Deal examples to workers as data lies there before training: class by class, site by site.

    The same owners as those of ``impart partition --start`` and of ``partition.start`` in
    ``impart train`` for the same numbers.

    Parameters
    ----------
    name : str
        One of ``impart.starts()``.
    labels : array of int, optional
        The class of each example, for ``by-class`` and ``dirichlet``.
    workers : int
        How many workers there are.
    seed : int
        For random choices.
    alpha : float
        Of ``dirichlet``: small for few classes per worker, large for a mix like that of all.
    sizes : {"free", "even"}
        Of ``dirichlet``: parts of the sizes that are drawn, or of equal ones.
    examples : int, optional
        How many there are; as many as labels if not given.
    file : path, optional
        Of ``file``: owners as .csv with id,worker, .npy or .txt.

    Returns
    -------
    Partition

    Examples
    --------
    >>> import impart
    >>> impart.start("by-class", [1, 0, 1, 0, 0, 1], workers=2).owners.tolist()
    [1, 0, 1, 0, 0, 1]
    >>> impart.start("contiguous", examples=5, workers=2).owners.tolist()
    [0, 0, 1, 1, 1]
    """
    row = named.find(named.STARTS, "start", name)
    if labels is None and examples is None:
        raise ConfigError(f"start {name} needs " +
                          ("labels" if row.uses_labels else "labels, or the number of examples"))
    count = None if examples is None else as_count(examples, "examples", most=2**63 - 1)
    classes = None if labels is None else as_small_integers(labels, "labels", count)
    if count is None:
        assert classes is not None
        count = classes.size
    workers = as_workers(workers)
    owners = _core.start(name, count, workers, as_seed(seed), classes, float(alpha), sizes,
                         None if file is None else os.fspath(file))
    return Partition(owners, workers)


def heterogeneity(partition: Any, labels: Any) -> Heterogeneity:
    """Return how differently a partition treats its workers by class and by size.

    Parameters
    ----------
    partition : Partition or array of int
        The worker, or rank, of each example.
    labels : array of int
        The class of each example.

    Returns
    -------
    Heterogeneity

    Examples
    --------
    >>> import impart
    >>> labels = [0] * 100 + [1] * 100
    >>> found = impart.heterogeneity(impart.start("by-class", labels, workers=2), labels)
    >>> found.class_skew, found.size_spread, found.warning is None
    (0.5, 1.0, False)
    >>> impart.heterogeneity(impart.start("random", labels, workers=2), labels).warning is None
    True
    """
    parts = partition if isinstance(partition, Partition) else Partition(partition)
    classes = as_small_integers(labels, "labels", len(parts))
    largest, mean, by_chance, spread = _core.heterogeneity(parts.owners, parts.workers, classes)
    return Heterogeneity(largest, mean, by_chance, spread, _warning(mean, by_chance))


def _warning(mean: float, by_chance: float) -> Optional[str]:
    if mean < by_chance + NOTABLE_SKEW:
        return None
    return (f"the classes of workers differ (mean class skew {mean:.2f}, {by_chance:.2f} would be "
            "chance): batch norm then normalises each worker's batches with statistics of its own "
            "classes, as DistributedDataParallel does by default, and the model fails on all others; "
            "take torch.nn.SyncBatchNorm, group norm, or exchange examples between epochs")
