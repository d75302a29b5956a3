"""Data sets that say which example they give."""

from __future__ import annotations

from typing import Any, List, Sequence


class IndexedDataset:
    """A data set whose examples come with their index, which a tracker needs.

    A tuple or list ``(x, y)`` becomes ``(index, x, y)``, a dict gets the key ``"index"``, anything
    else becomes ``(index, example)``.

    Parameters
    ----------
    dataset : map-style data set
        Has ``__getitem__`` and ``__len__``; ``__getitems__`` is used where there is one.

    Examples
    --------
    >>> import impart
    >>> impart.IndexedDataset([("x", 7), ("y", 8)])[1]
    (1, 'y', 8)
    """

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        return self._with_index(int(index), self.dataset[index])

    def __getitems__(self, indices: Sequence[int]) -> List[Any]:
        fetch = getattr(self.dataset, "__getitems__", None)
        examples = fetch(indices) if fetch else [self.dataset[index] for index in indices]
        return [self._with_index(int(i), example) for i, example in zip(indices, examples)]

    @staticmethod
    def _with_index(index: int, example: Any) -> Any:
        if isinstance(example, dict):
            if "index" in example:
                raise KeyError("the examples have a key 'index' already")
            return {"index": index, **example}
        if isinstance(example, (tuple, list)):
            return (index, *example)
        return (index, example)
