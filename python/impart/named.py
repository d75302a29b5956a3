"""What can be chosen by name: notions, starts, heuristics, exchanges, selections and outer rules."""

from __future__ import annotations

import difflib
from typing import Dict, List, NamedTuple, Tuple, TypeVar

from impart import _core

Row = TypeVar("Row")


class Notion(NamedTuple):
    """How the history of an example becomes its importance."""

    name: str
    description: str
    signals: Tuple[str, ...]  #: what each visit has to bring
    needs_visits: bool  #: False: it is known before the first visit


class Start(NamedTuple):
    """A rule for who owns what in the first epoch."""

    name: str
    description: str
    uses_labels: bool
    needs_file: bool


class Heuristic(NamedTuple):
    """A rule that deals examples to workers."""

    name: str
    description: str
    uses_importance: bool
    uses_labels: bool


class Exchange(NamedTuple):
    """A rule that moves a share of the examples between two epochs."""

    name: str
    description: str
    #: "none", "inference-loss" (of the current model), "training-loss" (``loss-last``) or "notion"
    source: str


class Selection(NamedTuple):
    """A rule for what of its part a worker visits in an epoch, and with which weight."""

    name: str
    description: str
    #: "none", "training-loss" (``loss-last``) or "notion"
    source: str
    uses_correct: bool  #: whether it looks at whether the last visit was right
    refreshes: bool  #: what it hides should have a forward pass at the end of the epoch


class Outer(NamedTuple):
    """A rule for how the mean of the workers' weights becomes the next common weights."""

    name: str
    description: str
    lr: float  #: as published
    momentum: float  #: as published


def notions() -> List[Notion]:
    """Return the notions of importance that a tracker can keep.

    Returns
    -------
    list of Notion

    Examples
    --------
    >>> import impart
    >>> "loss-variance" in [notion.name for notion in impart.notions()]
    True
    """
    return [Notion(name, text, tuple(signals), needs)
            for name, text, signals, needs in _core.notions()]


def starts() -> List[Start]:
    """Return the starts: who owns what in the first epoch.

    Returns
    -------
    list of Start

    Examples
    --------
    >>> import impart
    >>> [row.name for row in impart.starts() if row.uses_labels]
    ['by-class', 'dirichlet']
    """
    return [Start(*row) for row in _core.starts()]


def heuristics() -> List[Heuristic]:
    """Return the heuristics that deal examples to workers.

    Returns
    -------
    list of Heuristic

    Examples
    --------
    >>> import impart
    >>> [row.name for row in impart.heuristics() if row.uses_labels]
    ['class-stripes']
    """
    return [Heuristic(*row) for row in _core.heuristics()]


def exchanges() -> List[Exchange]:
    """Return the exchanges that move a share of the examples.

    Returns
    -------
    list of Exchange

    Examples
    --------
    >>> import impart
    >>> [row.name for row in impart.exchanges() if row.source == "none"]
    ['partial']
    """
    return [Exchange(*row) for row in _core.exchanges()]


def selections() -> List[Selection]:
    """Return the selections: what of its part a worker visits in an epoch.

    Returns
    -------
    list of Selection

    Examples
    --------
    >>> import impart
    >>> [row.name for row in impart.selections() if row.refreshes]
    ['kakurenbo']
    """
    return [Selection(*row) for row in _core.selections()]


def outers() -> List[Outer]:
    """Return the outer rules of :func:`outer_step`.

    Returns
    -------
    list of Outer

    Examples
    --------
    >>> import impart
    >>> [row.name for row in impart.outers()]
    ['average', 'nesterov', 'slowmo']
    """
    return [Outer(*row) for row in _core.outers()]


NOTIONS = {row.name: row for row in notions()}
STARTS = {row.name: row for row in starts()}
HEURISTICS = {row.name: row for row in heuristics()}
EXCHANGES = {row.name: row for row in exchanges()}
SELECTIONS = {row.name: row for row in selections()}
OUTERS = {row.name: row for row in outers()}


def find(table: Dict[str, Row], kind: str, name: str) -> Row:
    """The row of that name; ConfigError with what there is."""
    if isinstance(name, str) and name in table:
        return table[name]
    near = difflib.get_close_matches(str(name), table, n=1)
    hint = f"did you mean '{near[0]}'?" if near else "there are " + ", ".join(table)
    raise _core.ConfigError(f"unknown {kind} '{name}'; {hint}")
