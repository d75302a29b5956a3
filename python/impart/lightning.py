"""Importance-aware partitioning inside Lightning. Needs lightning or pytorch_lightning.

>>> importance = ImportanceCallback(len(data), "stripes", warmup=2, interval=2)
>>> trainer = Trainer(max_epochs=20, callbacks=[importance], use_distributed_sampler=False)

The module makes its loader with the callback's sampler, and `training_step` returns, besides the
loss, what the tracker is to see:

>>> def train_dataloader(self):
...     return DataLoader(impart.IndexedDataset(data), batch_size=64, sampler=importance.sampler())
>>> def training_step(self, batch, batch_idx):
...     index, x, y = batch
...     logits = self(x)
...     return {"loss": F.cross_entropy(logits, y), "index": index, "logits": logits, "targets": y}

Lightning's checkpoints hold what is known of the examples and the position in the epoch, so
`trainer.fit(…, ckpt_path=…)` goes on with the same parts and the very next batch.
"""

from __future__ import annotations

import importlib
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence

from impart import ConfigError, DataError, ImportanceSampler, Tracker
from impart.run_files import optional_module


def _lightning() -> Any:
    for name in ("lightning.pytorch", "pytorch_lightning"):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if not name.startswith((error.name or "?").split(".")[0]):
                raise  # it is there, but something that it needs is not
    raise ImportError("impart.lightning needs lightning: pip install lightning")


torch = optional_module("torch", "torch", "impart.lightning")

#: Turns what training_step returned, and the batch, into the arguments of Tracker.observe.
Signals = Callable[[Any, Any], Mapping[str, Any]]


class ImportanceCallback(_lightning().Callback):  # type: ignore[misc]
    """Makes the sampler, observes every training batch, and keeps both in the checkpoints.

    Parameters
    ----------
    examples
        Size of the training set.
    heuristic
        How to deal them.
    notions
        What the tracker keeps; the first decides.
    tracker
        Instead of `notions`: a Tracker of your own.
    signals
        `signals(outputs, batch)` gives the arguments of `Tracker.observe`, ids too. Default:
        `training_step` returns a dict with `index` and either `logits` and `targets` or
        `example_loss`.
    options
        Of `ImportanceSampler`: `warmup`, `interval`, `seed`, … `epochs` is the trainer's if it is
        not given, and `uneven` is `pad`, because all processes must take equally many steps.
    """

    def __init__(self, examples: int, heuristic: Any = "stripes", *,
                 notions: Sequence[Any] = ("loss-variance",), tracker: Optional[Tracker] = None,
                 signals: Optional[Signals] = None, **options: Any) -> None:
        self.tracker = tracker if tracker is not None else Tracker(
            examples, list(notions), ignore=options.pop("ignore", 0), seed=options.get("seed", 0))
        self._options = {"heuristic": heuristic, **options}
        self._signals = signals or signals_of_outputs
        self._sampler: Optional[ImportanceSampler] = None
        self._saved: Optional[Mapping[str, Any]] = None

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Learn the number of epochs; refuse what would take the sampler away."""
        several = trainer.world_size > 1
        if several and trainer._accelerator_connector.use_distributed_sampler:
            raise ConfigError("Lightning would replace the importance sampler: "
                              "use Trainer(use_distributed_sampler=False)")
        if several and self._options.get("uneven") == "weight":
            raise ConfigError("uneven='weight' lets processes take different numbers of steps, and "
                              "Lightning waits for all of them: use 'pad' or 'drop'")
        if trainer.max_epochs is not None and trainer.max_epochs > 0 and trainer.max_steps < 0:
            self._options.setdefault("epochs", trainer.max_epochs)

    def sampler(self) -> LoaderSampler:
        """What the training loader draws from. Call it in `train_dataloader`.

        Only there does a process know its rank. Further calls give the same sampler.
        """
        if self._sampler is None:
            self._sampler = ImportanceSampler(self.tracker.num_examples, self.tracker,
                                              **self._options)
        if self._saved is not None:
            self._load(self._saved)
        return LoaderSampler(self._sampler)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any,
                           batch_idx: int) -> None:
        """Observe the batch."""
        self.tracker.observe(**self._signals(outputs, batch))

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Bring the last epoch's visits together, so that every process knows the importance."""
        self.tracker.synchronise()

    def state_dict(self) -> dict[str, Any]:
        """The state of all processes. Collective: all call it, and Lightning writes one file."""
        if self._sampler is None:
            return {}
        return {"processes": _gather(self._sampler.state_dict())}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a checkpoint's state, now or when the sampler is made."""
        self._saved = state_dict or None
        if self._sampler is not None and self._saved is not None:
            self._load(self._saved)

    def _load(self, saved: Mapping[str, Any]) -> None:
        assert self._sampler is not None
        states = saved["processes"]
        if len(states) != self._sampler.world_size:
            raise ConfigError(f"the checkpoint is of {len(states)} processes, and now there are "
                              f"{self._sampler.world_size}")
        self._sampler.load_state_dict(states[self._sampler.rank])
        self._saved = None


class LoaderSampler(torch.utils.data.Sampler):  # type: ignore[misc, name-defined]
    """An ImportanceSampler whose length is that of the whole epoch, also where one is resumed.

    Lightning counts the batches of an epoch from its start, those before a checkpoint, too.
    """

    def __init__(self, sampler: ImportanceSampler) -> None:
        self._sampler = sampler

    def set_epoch(self, epoch: int) -> None:
        """Decide who owns what in this epoch; Lightning calls it."""
        self._sampler.set_epoch(epoch)

    def __iter__(self) -> Iterator[int]:
        yield from self._sampler  # drawn at the first example, whoever asks for an iterator

    def __len__(self) -> int:
        return len(self._sampler) + self._sampler._start


def signals_of_outputs(outputs: Any, batch: Any) -> dict[str, Any]:
    """The arguments of `Tracker.observe` from the dict that `training_step` returned."""
    if not isinstance(outputs, Mapping) or "index" not in outputs:
        raise DataError("training_step must return a dict with 'index' and either 'logits' and "
                        "'targets' or 'example_loss'; or give ImportanceCallback your own signals")
    names = {"logits": "logits", "targets": "targets", "example_loss": "loss"}
    found = {name: outputs[key].detach() for key, name in names.items() if key in outputs}
    return {"ids": outputs["index"], **found}


def _gather(value: Any) -> list[Any]:
    """The values of all processes, by rank."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return [value]
    values: list[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(values, value)
    return values
