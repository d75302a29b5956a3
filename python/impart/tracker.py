"""What training learns about every example."""

from __future__ import annotations

import threading
import weakref
from typing import Any, Dict, List, Optional

import numpy as np

from impart import _core
from impart._arrays import (as_count, as_scores, as_seed, check_values, from_bytes, is_on_device,
                            to_bytes)
from impart._core import ConfigError, DataError
from impart._distributed import gather_segments, rank_and_size
from impart._notions import evaluate, needs_of, split_notions
from impart._waiting import WaitingVisits


class Tracker:
    """Learns how important every example is from what training computes anyway.

    A call of ``observe`` per step; ``importance`` when a decision is due. Memory: 8 to 40 bytes per
    example, by notion, and 8 + 4 bytes per signal for each visit of the epoch under way.

    With torch.distributed every rank observes what it trains on, and ``synchronise`` brings the
    visits together: afterwards all ranks have the same table, bit for bit. ``ImportanceSampler``
    calls it at every ``set_epoch``.

    Parameters
    ----------
    num_examples : int
        Ids are 0 to num_examples - 1.
    notions : list of str or callable, or dict of callables
        Names of ``impart.notions()``. A function gets a dict of arrays (see ``statistics``) and
        returns one number per example, larger for harder, NaN for unknown; its attribute ``needs``
        names the notions whose state it looks at (loss-variance, loss-last and loss-ema if it has
        none). The first is the one that ``importance()`` gives.
    ignore : int
        Visits in earlier epochs than this do not count for windows.
    window : {"interval", "run"}
        Whether importance comes from the visits since the last ``close_window`` or from all.
    ema_weight : float
        Of a new loss in ``loss-ema``.
    seed : int
        Of the notion ``random``.
    truth : array of float, optional
        How hard the examples are, for the notion ``truth``.
    history : bool
        Keep every loss, 4 bytes per example and epoch.

    Examples
    --------
    >>> import impart
    >>> tracker = impart.Tracker(3, ["loss-last"])
    >>> tracker.observe([0, 2, 1], loss=[0.5, 2.0, 1.0])
    >>> tracker.importance().tolist()
    [0.5, 1.0, 2.0]
    """

    def __init__(self, num_examples: int, notions: Any = ("loss-variance",), *, ignore: int = 0,
                 window: str = "interval", ema_weight: float = 0.3, seed: int = 0,
                 truth: Any = None, history: bool = False) -> None:
        if window not in ("interval", "run"):
            raise ConfigError(f"window is {window!r}; it must be 'interval' or 'run'")
        names, self._functions = split_notions(notions)
        self._spec: Dict[str, Any] = {
            "num_examples": as_count(num_examples, "num_examples", most=2**63 - 1),
            "notions": names, "functions": list(self._functions), "window": window,
            "ignore": as_count(ignore, "ignore"), "ema_weight": float(ema_weight),
            "seed": as_seed(seed), "history": bool(history), "needs": needs_of(self._functions)}
        difficulty = None if truth is None else as_scores(truth, "truth").astype(np.float32)
        self._table = _core.Table(self.num_examples, names, self._spec["needs"], self.ignore,
                                  window == "run", self._spec["ema_weight"], self._spec["seed"],
                                  difficulty, self._spec["history"])
        self._waiting = WaitingVisits(self.num_examples, self._table.needs, self._table.signals)
        self._previous: Dict[str, np.ndarray] = {}
        self._visits = 0
        self._lock = threading.RLock()
        self._listener: Optional[weakref.ref] = None

    @property
    def num_examples(self) -> int:
        """How many examples there are."""
        return self._spec["num_examples"]

    @property
    def notions(self) -> List[str]:
        """The names of its notions; the one that decides comes first."""
        return self._spec["notions"] + self._spec["functions"]

    @property
    def ignore(self) -> int:
        """The first epoch whose visits count for windows."""
        return self._spec["ignore"]

    @property
    def visits(self) -> int:
        """How many visits this process knows of, since the start of the run."""
        return self._visits

    @property
    def non_finite_visits(self) -> int:
        """How many visits had a NaN or infinite signal."""
        return self._readable_table().non_finite_visits

    @property
    def epoch(self) -> int:
        """The epoch that visits are counted for, from 0; set it before each."""
        return self._waiting.epoch

    @epoch.setter
    def epoch(self, epoch: int) -> None:
        self.start_epoch(epoch)

    def start_epoch(self, epoch: int) -> None:
        """Say that the visits from now on are of this epoch.

        Parameters
        ----------
        epoch : int
            Counted from 0.
        """
        epoch = as_count(epoch, "epoch")
        with self._lock:
            if epoch == self.epoch:
                return
            self._waiting.start_epoch(epoch)
            if rank_and_size()[1] == 1:
                self._count_waiting()

    def observe(self, ids: Any, *, logits: Any = None, targets: Any = None, loss: Any = None,
                features: Any = None, allow_duplicates: bool = False) -> None:
        """Note one visit of each example of a batch, after its forward pass.

        Takes NumPy arrays and tensors. On the CPU the core computes the signals at once, without
        the interpreter's lock. On a GPU a few kernels compute them there, and nothing waits: they
        are fetched when they are needed, which is also when wrong ids are found.

        Parameters
        ----------
        ids : array of int, [batch]
        logits : array of float, [batch, classes] or [batch, tokens, classes], optional
        targets : array of int, [batch] or [batch, tokens], optional
            True classes; in token blocks -100 does not count. With `logits`, signals are computed
            as ``impart train`` does; those of a block are means over its tokens.
        loss : array of float, [batch], optional
            The loss of each example. Enough for the notions of the loss; with `logits`, too, it
            stands in for their cross entropy.
        features : array of float, optional
            The last layer's input, for ``grad-norm``.
        allow_duplicates : bool
            Whether an id may be there twice: two visits.

        Raises
        ------
        DataError
            If shapes, types or ids are wrong, or a notion needs what is not given. Nothing of the
            batch is noted then.
        """
        check_values(ids=ids, logits=logits, targets=targets, loss=loss, features=features)
        on_device = is_on_device(logits) or is_on_device(loss)
        with self._lock:
            add = self._waiting.add_on_device if on_device else self._waiting.add_here
            count = add(ids, logits, targets, loss, features, allow_duplicates)
            self._visits += count
            if self._waiting.make_room() and rank_and_size()[1] == 1:
                self._waiting.close_segment()
                self._count_waiting()
        sampler = self._listener() if self._listener is not None else None
        if sampler is not None:
            sampler.advance(count)

    def _count_waiting(self) -> None:
        for epoch, ids, values in self._waiting.segments:
            self._table.observe(epoch, ids, values)
        self._waiting.segments = []

    def _readable_table(self) -> Any:
        """A table with all visits that this process knows of."""
        with self._lock:
            self._waiting.close_segment()
            if not self._waiting.segments:
                return self._table
            if rank_and_size()[1] == 1:
                self._count_waiting()
                return self._table
            table = self._table.copy()
            for epoch, ids, values in self._waiting.segments:
                table.observe(epoch, ids, values)
            return table

    def importance(self, notion: Optional[str] = None) -> np.ndarray:
        """Return the importance of every example, larger for harder.

        From all visits that this process knows of: its own, and those of other ranks up to the last
        ``synchronise``. An example about which the window says nothing keeps its importance of the
        last window, or has the mean of the others. One with a NaN or infinite signal has the
        largest of the others.

        Parameters
        ----------
        notion : str, optional
            One of this tracker's; its first if not given.

        Returns
        -------
        numpy.ndarray
            float32, [num_examples].
        """
        notion = self.notions[0] if notion is None else notion
        table = self._readable_table()
        if notion in self._functions:
            return _core.fill(self._known(notion, table.all_statistics()))
        if notion not in self.notions:
            raise ConfigError(f"this tracker does not keep the notion '{notion}'; it has "
                              f"{', '.join(self.notions)}")
        return table.importance(notion)

    def known_importance(self, notion: Optional[str] = None) -> np.ndarray:
        """Return the importance for decisions that must not guess.

        Infinite for examples of which nothing is known, or that had a NaN or infinite signal in the
        window; otherwise as ``importance``.

        Parameters
        ----------
        notion : str, optional
            One of this tracker's; its first if not given.

        Returns
        -------
        numpy.ndarray
            float32, [num_examples].
        """
        notion = self.notions[0] if notion is None else notion
        table = self._readable_table()
        if notion not in self._functions:
            return table.known_importance(notion)
        statistics = table.all_statistics()
        known = self._known(notion, statistics)
        unknown = np.isnan(known) | (statistics["non_finite"] > 0)
        return np.where(unknown, np.float32(np.inf), known).astype(np.float32)

    def last_correct(self) -> np.ndarray:
        """Return whether each example's last visit was right: uint8, [num_examples].

        The tracker must keep the notion ``forgetting``.
        """
        if "forgetting" not in self.notions:
            raise ConfigError("whether visits were right is kept with the notion 'forgetting'; this "
                              f"tracker has {', '.join(self.notions)}")
        return self._readable_table().last_correct()

    def _known(self, name: str, statistics: Dict[str, np.ndarray]) -> np.ndarray:
        return evaluate(name, self._functions[name], statistics, self._previous.get(name))

    def statistics(self, id: Optional[int] = None) -> Dict[str, Any]:
        """Return what is known of one example, or of all.

        Of the window: visits, non_finite, loss_mean, loss_m2 (sum of squared differences from the
        mean), probability_mean, probability_m2, correct_mean, margin_mean, entropy_mean,
        error_norm_mean, gradient_bound_mean. Of the run: run_visits, run_losses, loss_last,
        loss_ema, forgotten, ever_correct. And truth. Only those that the notions need are there.

        Parameters
        ----------
        id : int, optional
            Without it, each value is an array over all examples.

        Returns
        -------
        dict
        """
        table = self._readable_table()
        if id is None:
            return table.all_statistics()
        if not 0 <= as_count(id, "id", least=-2**63, most=2**63 - 1) < self.num_examples:
            raise DataError(f"example id {id} is out of range: there are {self.num_examples} "
                            "examples")
        return table.statistics(int(id))

    def losses_by_epoch(self) -> np.ndarray:
        """Return every loss, [num_examples, epochs], NaN where there was no visit.

        Needs ``history=True``.
        """
        if not self._spec["history"]:
            raise ConfigError("this tracker keeps no history; make it with history=True")
        return self._readable_table().history()

    def close_window(self) -> None:
        """End the window: remember its importance, and forget its visits (window "interval")."""
        with self._lock:
            self._waiting.close_segment()
            if self._waiting.segments and rank_and_size()[1] > 1:
                raise ConfigError("visits of this rank wait for the others: call synchronise() on "
                                  "all ranks before close_window()")
            self._count_waiting()
            if self._functions:
                statistics = self._table.all_statistics()
                self._previous = {name: self._known(name, statistics) for name in self._functions}
            self._table.close_window()

    def merge(self, other: Optional["Tracker"] = None, *, group: Any = None) -> None:
        """Add the visits that another tracker has seen; without one, synchronise.

        Parameters
        ----------
        other : Tracker, optional
            Of the same examples and notions, in the same window. The two must have seen different
            visits.
        group : optional
            See ``synchronise``.
        """
        if other is None:
            self.synchronise(group)
            return
        if not isinstance(other, Tracker):
            raise ConfigError(f"cannot merge {type(other).__name__} into a tracker")
        if other is self:
            raise ConfigError("a tracker cannot be merged into itself")
        table = other._readable_table()
        with self._lock:
            self._waiting.close_segment()
            self._count_waiting()
            self._table.merge(table)
            self._visits += other.visits

    def synchronise(self, group: Any = None, *, check: int = 0) -> None:
        """Bring the visits of all ranks together: every rank calls it.

        Afterwards all ranks have the same table, bit for bit, as if one process had seen all
        visits: those of an epoch rank by rank, as ``impart train`` orders them. Costs one exchange
        of 12 + 4 bytes per signal for every visit since the last call. Without torch.distributed it
        only counts this process's visits.

        Parameters
        ----------
        group : torch.distributed.ProcessGroup, optional
            Any backend; the default group if not given.
        check : int
            A number that must be the same on all ranks.
        """
        with self._lock:
            self._waiting.close_segment()
            if rank_and_size(group)[1] > 1:
                waiting = self._waiting
                mine = sum(segment.ids.size for segment in waiting.segments)
                waiting.segments = gather_segments(waiting.segments, len(self._table.signals),
                                                   group, check)
                self._visits += sum(segment.ids.size for segment in waiting.segments) - mine
            self._count_waiting()

    def state_dict(self) -> Dict[str, Any]:
        """Return all that a tracker knows, as plain values that ``torch.save`` takes.

        With several ranks: what has been synchronised is the same on all of them, but visits since
        then are this rank's own. Save one state per rank, or synchronise first.
        """
        with self._lock:
            self._waiting.close_segment()
            rank, size = rank_and_size()
            return {"format": 1, "spec": dict(self._spec), "table": self._table.to_bytes(),
                    "visits": self._visits, **self._waiting.state(),
                    "previous": {k: to_bytes(v) for k, v in self._previous.items()},
                    "rank": rank, "world_size": size}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Go on from a saved state.

        Parameters
        ----------
        state : dict
            From ``state_dict`` of a tracker with the same parameters. ConfigError if it is not.
        """
        if not isinstance(state, dict) or state.get("format") != 1:
            raise DataError("this is not the state of a tracker")
        for key, value in self._spec.items():
            if state["spec"].get(key) != value:
                raise ConfigError(f"the saved tracker has {key} {state['spec'].get(key)!r}, this "
                                  f"one {value!r}")
        if state["waiting"] and (state["rank"], state["world_size"]) != rank_and_size():
            raise ConfigError(
                f"the saved tracker has visits of rank {state['rank']} of {state['world_size']} "
                "that the others do not know: save one state per rank, or synchronise before "
                "state_dict()")
        table = _core.Table.from_bytes(state["table"])
        with self._lock:
            self._table = table
            self._waiting.restore(state)
            self._visits = int(state["visits"])
            self._previous = {k: from_bytes(v, np.float32) for k, v in state["previous"].items()}

    def __repr__(self) -> str:
        return f"Tracker(num_examples={self.num_examples}, notions={self.notions})"
