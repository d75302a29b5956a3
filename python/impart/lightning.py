"""Importance-aware partitioning inside Lightning. Needs lightning or pytorch_lightning.

>>> tracker = impart.Tracker(len(data), ["loss-variance"])
>>> sampler = impart.ImportanceSampler(data, tracker, "stripes", warmup=2, interval=2, epochs=20)
>>> loader = DataLoader(impart.IndexedDataset(data), batch_size=64, sampler=sampler)
>>> trainer = Trainer(callbacks=[ImportanceCallback(tracker, sampler)],
...                   use_distributed_sampler=False, max_epochs=20)

and `training_step` returns, besides the loss, what the tracker is to see:

>>> def training_step(self, batch, batch_idx):
...     index, x, y = batch
...     logits = self(x)
...     return {"loss": F.cross_entropy(logits, y), "index": index, "logits": logits, "targets": y}
"""

from __future__ import annotations

import importlib
from typing import Any, Callable, Mapping, Optional

from impart import ConfigError, DataError, ImportanceSampler, Tracker


def _lightning() -> Any:
    for name in ("lightning.pytorch", "pytorch_lightning"):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if not name.startswith((error.name or "").split(".")[0]):
                raise
    raise ImportError("impart.lightning needs lightning: pip install lightning")


#: Turns what training_step returned, and the batch, into the arguments of Tracker.observe.
Signals = Callable[[Any, Any], Mapping[str, Any]]


class ImportanceCallback(_lightning().Callback):  # type: ignore[misc]
    """Observes every training batch, and keeps tracker and sampler in Lightning's checkpoints.

    Lightning itself calls the sampler's `set_epoch`.

    Parameters
    ----------
    tracker, sampler
        The sampler that the training loader uses, and the tracker it decides by.
    signals
        `signals(outputs, batch)` gives the arguments of `Tracker.observe`, ids too. Default:
        `training_step` returns a dict with `index` and either `logits` and `targets` or
        `example_loss`.
    """

    def __init__(self, tracker: Tracker, sampler: ImportanceSampler,
                 signals: Optional[Signals] = None) -> None:
        self.tracker = tracker
        self.sampler = sampler
        self._signals = signals or signals_of_outputs

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Refuse what would take the sampler away, or make processes wait for each other for ever."""
        if trainer.world_size == 1:
            return
        if trainer._accelerator_connector.use_distributed_sampler:
            raise ConfigError("Lightning would replace the importance sampler: "
                              "use Trainer(use_distributed_sampler=False)")
        if self.sampler.uneven == "weight":
            raise ConfigError("uneven='weight' lets processes take different numbers of steps, and "
                              "Lightning waits for all of them: use 'pad' or 'drop'")

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any,
                           batch_idx: int) -> None:
        """Observe the batch."""
        self.tracker.observe(**self._signals(outputs, batch))

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Bring the last epoch's visits together, so that every process knows the importance."""
        self.tracker.synchronise()

    def state_dict(self) -> dict[str, Any]:
        """The state of all processes. Collective: Lightning calls it in all, and writes one file."""
        mine = {"tracker": self.tracker.state_dict(), "sampler": self.sampler.state_dict()}
        return {"processes": _gather(mine)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take this process's part of a checkpoint."""
        states = state_dict["processes"]
        if len(states) != self.sampler.world_size:
            raise ConfigError(f"the checkpoint is of {len(states)} processes, and there are "
                              f"{self.sampler.world_size}")
        self.tracker.load_state_dict(states[self.sampler.rank]["tracker"])
        self.sampler.load_state_dict(states[self.sampler.rank]["sampler"])


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
    distributed = importlib.import_module("torch").distributed
    if not (distributed.is_available() and distributed.is_initialized()):
        return [value]
    values: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(values, value)
    return values
