"""Batches of an ImportanceSampler, for torch's DataLoader."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional, Tuple

import numpy as np

from impart._arrays import as_count
from impart._core import ConfigError
from impart.sampler import ImportanceSampler


class ImportanceBatchSampler:
    """Gives each rank its batches: those of ``impart train`` for its workers.

    For ``DataLoader(dataset, batch_sampler=...)``. A rank with several workers gets a batch of each
    in every step.

    Parameters
    ----------
    sampler : ImportanceSampler
    batch_size : int
        Of one worker.
    drop_last : bool
        Leave out a last step that is not full.

    Examples
    --------
    >>> import impart
    >>> sampler = impart.ImportanceSampler(8, heuristic="random", workers=2, uneven="weight")
    >>> batches = impart.ImportanceBatchSampler(sampler, batch_size=2)
    >>> batches.set_epoch(0)
    >>> [len(batch) for batch in batches]
    [4, 4]
    """

    def __init__(self, sampler: ImportanceSampler, batch_size: int, drop_last: bool = False) -> None:
        if not isinstance(sampler, ImportanceSampler):
            raise ConfigError(f"a batch sampler needs an ImportanceSampler, not "
                              f"{type(sampler).__name__}")
        self.sampler = sampler
        self.batch_size = as_count(batch_size, "batch_size", least=1)
        self.drop_last = bool(drop_last)
        sampler._batch = self.batch_size
        sampler._visits = None

    def set_epoch(self, epoch: int, **options: Any) -> None:
        """Place the examples of an epoch: see ``ImportanceSampler.set_epoch``."""
        self.sampler.set_epoch(epoch, **options)

    def __iter__(self) -> Iterator[List[int]]:
        ids, sizes, start = self.sampler._draw()
        for first, last in self._steps(sizes, start):
            yield ids[first:last].tolist()

    def __len__(self) -> int:
        """How many batches this rank has in the epoch; after a resume, what is left."""
        _, _, sizes = self.sampler._epoch_visits()
        return len(self._steps(sizes, self.sampler._start))

    def _steps(self, sizes: np.ndarray, start: int) -> List[Tuple[int, int]]:
        """Where the steps from `start` on begin and end."""
        ends = np.cumsum(sizes, dtype=np.int64).tolist()
        if start not in (0, *ends):
            raise ConfigError(f"{start} examples were consumed, which is not the end of a batch of "
                              f"{self.batch_size}")
        full = int(sizes[0]) if len(sizes) else 0
        steps = zip([0, *ends], ends)
        return [(first, last) for first, last in steps if first >= start and last > first
                and not (self.drop_last and last - first < full)]

    def state_dict(self, consumed: Optional[int] = None) -> Dict[str, Any]:
        """Return the sampler's state: see ``ImportanceSampler.state_dict``."""
        return self.sampler.state_dict(consumed)

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Go on from a saved state: see ``ImportanceSampler.load_state_dict``."""
        self.sampler.load_state_dict(state)
