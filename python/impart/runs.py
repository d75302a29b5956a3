"""Runs and studies of `impart train` and `impart study` as pandas tables.

>>> run = impart.read_run("runs/quick")
>>> run.metrics.plot(x="epoch", y="test_accuracy")
>>> study = impart.read_study("studies/quick")
>>> study.runs.groupby("arm").best_accuracy.agg(["mean", "std"])
"""

from __future__ import annotations

import difflib
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable, Optional, Union

import numpy as np

from impart import ConfigError, DataError
from impart.run_files import (flatten, frame, pandas, read_array, read_bytes, read_columns,
                              read_log, read_object, read_owners, read_records, read_yaml,
                              with_new_names)

if TYPE_CHECKING:
    import pandas as pd

PathLike = Union[str, "os.PathLike[str]"]

_RUN_FILES = ("run.lock", "config.yaml", "summary.json", "metrics.jsonl", "env.json", "DONE",
              "FAILED", "PREEMPTED")
_STATUS_OF_MARKER = {"DONE": "done", "FAILED": "failed", "PREEMPTED": "preempted"}


def read_run(folder: PathLike) -> Run:
    """One run directory. Files are read when they are asked for, each once.

    Parameters
    ----------
    folder
        The `output` of an `impart train`, which may still be running.

    Raises
    ------
    DataError
        If there is no such folder, or nothing in it is of a run.

    Examples
    --------
    >>> import impart
    >>> impart.read_run("runs/a").metrics.test_accuracy.max()  # doctest: +SKIP
    """
    path = _existing_folder(folder)
    if not any((path / name).exists() for name in _RUN_FILES):
        if (path / "study.json").exists():
            raise DataError(f"{path}: a study, not a run: use read_study")
        raise DataError(f"{path}: not a run directory: nothing in it is of a run")
    return Run(path)


def read_study(folder: PathLike) -> Study:
    """A study directory, with all runs that have been made so far.

    Raises
    ------
    DataError
        If there is no such folder, or no study in it.

    Examples
    --------
    >>> import impart
    >>> impart.read_study("studies/a").runs.groupby("arm").best_accuracy.mean()  # doctest: +SKIP
    """
    path = _existing_folder(folder)
    if not (path / "study.json").exists():
        hint = "; it is a run: use read_run" if (path / "metrics.jsonl").exists() else ""
        raise DataError(f"{path}: not a study directory: has no study.json{hint}")
    return Study(path)


def _existing_folder(folder: PathLike) -> Path:
    path = Path(folder)
    if not path.is_dir():
        raise DataError(f"{path}: there is no such folder")
    return path


class Run:
    """What one training left behind. Made by `read_run`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder  #: where it is

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}, {self.status})"

    @property
    def status(self) -> str:
        """`done`, `failed`, `preempted`, or `unfinished`: it is running, or was killed."""
        found = [status for marker, status in _STATUS_OF_MARKER.items()
                 if (self.folder / marker).exists()]
        if len(found) > 1:
            raise DataError(f"{self.folder}: both {' and '.join(found)}")
        return found[0] if found else "unfinished"

    @property
    def reason(self) -> str:
        """Why the run failed; empty if it did not."""
        marker = self.folder / "FAILED"
        return read_bytes(marker).decode(errors="replace").strip() if marker.exists() else ""

    @cached_property
    def config(self) -> dict[str, Any]:
        """The complete configuration, nested as in config.yaml. Needs PyYAML."""
        return read_yaml(self._file("config.yaml"))

    @cached_property
    def environment(self) -> dict[str, Any]:
        """Commit, compiler, processor, versions."""
        return read_object(self._file("env.json"))

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Results, seconds by phase, moves, bytes. Empty until the run has ended."""
        path = self.folder / "summary.json"
        return read_object(path) if path.exists() else {}

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """One row per epoch, from 0 on; see docs/formats.md for the columns.

        The members of `placement` are columns of their own, `placement_event`, `placement_moved`
        and so on; in epochs without an event they are NaN, as is what was NaN or infinite.
        """
        path = self.folder / "metrics.jsonl"
        records = read_log(path) if path.exists() else []
        table = frame([flatten(record) for record in records], ["epoch"])
        return table.drop(columns="placement", errors="ignore")

    @cached_property
    def _ledger_records(self) -> list[dict[str, Any]]:
        path = self.folder / "ledger.jsonl"
        return read_log(path) if path.exists() else []

    @cached_property
    def ledger(self) -> pd.DataFrame:
        """What storage cost, a row per epoch and worker: bytes, flows, sends, examples moved."""
        rows = [{"epoch": record["epoch"], **with_new_names(worker)}
                for record in self._ledger_records for worker in record.get("workers", [])]
        return frame(rows, ["epoch", "worker"])

    @cached_property
    def phases(self) -> pd.DataFrame:
        """Where time went, a row per epoch and process: `seconds_forward`, …, and what it sent."""
        rows = [{"epoch": record["epoch"], **flatten(with_new_names(process))}
                for record in self._ledger_records for process in record.get("processes", [])]
        return frame(rows, ["epoch", "rank"])

    @cached_property
    def importance(self) -> pd.DataFrame:
        """One row per example (index `id`): `visits` and a column per notion, larger is harder.

        It speaks of the last window of the run: the last interval, unless `importance.window` is
        `run`. DataError until the run has ended.
        """
        table = read_columns(self._file("importance.csv"))
        notions = [name for name in table.columns if name != "visits"]
        return table.astype({name: np.float32 for name in notions})

    @cached_property
    def history(self) -> np.ndarray:
        """Every loss, (examples, epochs), NaN without a visit; with `importance.history`."""
        return read_array(self._file("history.npy"), 2)

    @cached_property
    def partitions(self) -> dict[int, np.ndarray]:
        """The worker of every example (uint32), by the epoch from which it holds.

        Empty unless the run was asked to record it, with `partition.save`.
        """
        paths = (self.folder / "partitions").glob("epoch-*.csv")
        by_epoch = {int(path.stem[6:]): path for path in paths if path.stem[6:].isdigit()}
        return {epoch: read_owners(by_epoch[epoch]) for epoch in sorted(by_epoch)}

    @cached_property
    def texts(self) -> pd.DataFrame:
        """The hardest and easiest texts by each notion; empty for runs without text."""
        path = self.folder / "texts.jsonl"
        records = read_records(path, key="id") if path.exists() else []
        return frame(records, ["notion", "end", "rank", "id", "importance"])

    def _file(self, name: str) -> Path:
        path = self.folder / name
        if not path.exists():
            reason = "did not record it" if self.status == "done" else f"is {self.status}"
            raise DataError(f"{path}: there is no such file: the run {reason}")
        return path


class Study:
    """Runs of several arms over the same seeds. Made by `read_study`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder  #: where it is
        self.record = _checked_record(folder / "study.json")  #: study.json, see docs/studies.md
        self._runs = [Run(folder / run["folder"]) for run in self.record["runs"]]

    def __repr__(self) -> str:
        count = len(self.record["runs"])
        return f"Study({self.name!r}, {len(self.record['arms'])} arms, {count} runs)"

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.record.get("name", self.folder.name))

    @property
    def baseline(self) -> Optional[str]:
        """The arm the others are compared with, if there is one."""
        return self.record.get("baseline")

    @property
    def metric(self) -> str:
        """The number of summary.json that arms are judged by."""
        return str(self.record.get("metric", "best_accuracy"))

    @cached_property
    def arms(self) -> pd.DataFrame:
        """One row per arm (index `arm`), one column per key that differs between arms, as text."""
        rows = [{"arm": arm["name"], **arm.get("settings", {})} for arm in self.record["arms"]]
        return frame(rows, ["arm"]).set_index("arm")

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per run: `arm`, `seed`, `purpose`, `status`, `path`, `reason`, its summary.

        `status` is that of `Run`, or `waiting` (not begun), or `changed`: the folder holds a run of
        another configuration. Numbers are NaN unless it is `done`.
        """
        rows = [{**(_numbers(run.summary) if status == "done" else {}),
                 "arm": entry["arm"], "seed": entry["seed"], "purpose": _purpose(entry),
                 "status": status, "path": str(run.folder),
                 "reason": run.reason if status == "failed" else ""}
                for run, entry, status in self._made()]
        return frame(rows, ["arm", "seed", "purpose", "status", "path", "reason"])

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """All epochs of all runs: `arm`, `seed`, `purpose`, `status`, and what a Run has."""
        pd = pandas()
        first = ["arm", "seed", "purpose", "status", "epoch"]
        tables = [run.metrics.assign(arm=entry["arm"], seed=entry["seed"],
                                     purpose=_purpose(entry), status=status)
                  for run, entry, status in self._made() if status not in ("waiting", "changed")]
        tables = [table for table in tables if len(table)]
        if not tables:
            return pd.DataFrame(columns=first)
        table = pd.concat(tables, ignore_index=True)
        return table[[*first, *(name for name in table.columns if name not in first)]]

    def run(self, arm: str, seed: int) -> Run:
        """The run of that arm and seed: of the grid or the confirmation, not of a search's rungs.

        Raises
        ------
        ConfigError
            If the study has no such run; names what there is.
        """
        _check_choice("arm", arm, [entry["name"] for entry in self.record["arms"]])
        by_seed = {entry["seed"]: run for run, entry in zip(self._runs, self.record["runs"])
                   if entry["arm"] == arm and _purpose(entry) != "search"}
        if seed in by_seed:
            return by_seed[seed]
        seeds = ", ".join(map(str, by_seed)) or "none yet"
        raise ConfigError(f"{self.folder}: arm '{arm}' has no run with seed {seed}, but {seeds}")

    def _made(self) -> Iterable[tuple[Run, dict[str, Any], str]]:
        for run, entry in zip(self._runs, self.record["runs"]):
            yield run, entry, self._status(run, entry)

    @staticmethod
    def _status(run: Run, entry: dict[str, Any]) -> str:
        if not (run.folder / "config.yaml").exists():
            return "waiting"
        status = run.status
        fits = run.summary.get("config_hash") == entry.get("config_hash")
        return "changed" if status == "done" and not fits else status


def _checked_record(path: Path) -> dict[str, Any]:
    record = read_object(path)
    if record.get("format") != 1:
        raise DataError(f"{path}: format {record.get('format')} instead of 1")
    for member, members in (("arms", ("name",)), ("runs", ("arm", "seed", "folder"))):
        rows = record.get(member)
        if not isinstance(rows, list):
            raise DataError(f'{path}: has no list "{member}"')
        for index, row in enumerate(rows):
            missing = [name for name in members if not isinstance(row, dict) or name not in row]
            if missing:
                raise DataError(f'{path}: {member}[{index}] has no "{missing[0]}"')
    return record


def _purpose(run: dict[str, Any]) -> str:
    return str(run.get("purpose", "grid"))


def _numbers(summary: dict[str, Any]) -> dict[str, float]:
    return {name: np.nan if value is None else value for name, value in summary.items()
            if value is None or isinstance(value, (int, float))}


def _check_choice(kind: str, name: str, allowed: list[str]) -> None:
    if name in allowed:
        return
    near = difflib.get_close_matches(name, allowed, 1)
    hint = f", did you mean '{near[0]}'?" if near else f": there are {', '.join(allowed)}"
    raise ConfigError(f"unknown {kind} '{name}'{hint}")
