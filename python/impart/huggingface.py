"""Importance-aware partitioning inside Hugging Face's Trainer. Needs transformers and accelerate.

>>> from impart.huggingface import make_trainer
>>> Trainer = make_trainer()                         # or make_trainer(Seq2SeqTrainer)
>>> trainer = Trainer(model=model, args=args, train_dataset=data,
...                   importance=dict(heuristic="stripes", warmup=2, interval=2))
>>> trainer.train()
>>> trainer.tracker.importance()

Every process trains on the part that it owns; the trainer's checkpoints hold what is known of the
examples, so `resume_from_checkpoint` goes on with the same parts and the same order. Evaluation is
left as it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator, Mapping, Optional, Sequence

from impart import (ConfigError, DataError, ImportanceBatchSampler, ImportanceSampler,
                    IndexedDataset, Tracker)
from impart.run_files import optional_module

transformers = optional_module("transformers", "transformers", "impart.huggingface")
torch = optional_module("torch", "torch", "impart.huggingface")


def make_trainer(base: Optional[type] = None) -> type:
    """A trainer class with importance-aware partitioning.

    Parameters
    ----------
    base
        What to build on: `transformers.Trainer`, which is the default, or a class derived from it.
    """
    base = base or transformers.Trainer
    return type(f"Importance{base.__name__}", (ImportanceTrainerMixin, base), {})


class ImportanceCallback(transformers.TrainerCallback):  # type: ignore[misc, name-defined]
    """Opens epochs, and keeps what is known of the examples in the trainer's checkpoints.

    The mix-in adds it by itself. Alone, it serves a trainer whose loader and loss are your own: give
    it the loader's sampler, whose tracker your loss function calls.
    """

    def __init__(self, sampler: ImportanceSampler) -> None:
        self.sampler = sampler
        self.resume_from: Optional[Path] = None  #: the checkpoint that training goes on from

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Load the state of the checkpoint, if training goes on from one."""
        if self.resume_from is None:
            return
        path = self.resume_from / _state_file(args)
        if not path.exists():
            raise DataError(f"{path}: there is no such file: the checkpoint was made without "
                            "impart, or by another number of processes")
        self.sampler.load_state_dict(torch.load(path, map_location="cpu"))
        self.resume_from = None

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Decide who owns what in this epoch. Collective over the processes."""
        self.sampler.set_epoch(int(state.epoch or 0))

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Add this process's state to the checkpoint that was just written.

        It says that nothing of the epoch was consumed: the Trainer itself skips the batches that it
        has trained on.
        """
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / (_state_file(args) + ".new")
        torch.save(self.sampler.state_dict(consumed=0), unfinished)
        unfinished.replace(folder / _state_file(args))

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Bring the last epoch's visits together, so that every process knows the importance."""
        if self.sampler.tracker is not None:
            self.sampler.tracker.synchronise()


def _state_file(args: Any) -> str:
    return f"importance-{args.process_index}-of-{args.world_size}.pt"


class ImportanceTrainerMixin:
    """Puts a sampler, a tracker and the callback into a Trainer; see `make_trainer`.

    Parameters
    ----------
    importance
        Arguments of `ImportanceSampler` (`heuristic`, `warmup`, `interval`, …); for what is not
        given: `epochs` is `num_train_epochs`, `seed` is `data_seed` or `seed`, `rank` and
        `world_size` are the trainer's, and `uneven` is `pad`, because all processes must take the
        same number of steps.
    tracker
        What learns the importance; default: a Tracker of `notions`.
    notions
        What the default tracker keeps; the first decides.
    """

    # Of the Trainer that it is mixed into:
    args: Any
    model: Any
    train_dataset: Any
    data_collator: Any
    add_callback: Any
    _train_batch_size: int
    _remove_unused_columns: Any
    _get_collator_with_removed_columns: Any

    def __init__(self, *args: Any, importance: Optional[Mapping[str, Any]] = None,
                 tracker: Optional[Tracker] = None,
                 notions: Sequence[str] = ("loss-variance",), **more: Any) -> None:
        super().__init__(*args, **more)
        data = self.train_dataset
        if data is None or not hasattr(data, "__len__"):
            raise ConfigError("importance needs a train_dataset with a length: every example has "
                              "an id")
        options = {**_options_of(self.args), **(importance or {})}
        if options["world_size"] > 1 and options["uneven"] == "weight":
            raise ConfigError("uneven='weight' lets processes take different numbers of steps, and "
                              "the Trainer waits for all of them: use 'pad' or 'drop'")
        if tracker is None:
            tracker = Tracker(len(data), list(notions), ignore=options.pop("ignore", 0),
                              seed=options["seed"])
        self.tracker = tracker  #: what is known of the examples
        self.importance_sampler = ImportanceSampler(data, tracker, **options)
        self.importance_callback = ImportanceCallback(self.importance_sampler)
        self.add_callback(self.importance_callback)

    def train(self, resume_from_checkpoint: Any = None, *args: Any, **more: Any) -> Any:
        """Train as the base class does; a checkpoint to resume from has importance, too."""
        folder = resume_from_checkpoint
        if folder is True:
            output = self.args.output_dir
            folder = transformers.trainer_utils.get_last_checkpoint(output)
        self.importance_callback.resume_from = Path(folder) if folder else None
        return super().train(resume_from_checkpoint, *args, **more)  # type: ignore[misc]

    def get_train_dataloader(self) -> Any:
        """A loader of this process's own examples: accelerate has nothing left to share out."""
        from accelerate.data_loader import prepare_data_loader
        args = self.args
        data, collate = self._columns_of_the_model()
        batches = _Batches(ImportanceBatchSampler(self.importance_sampler, self._train_batch_size,
                                                  drop_last=args.dataloader_drop_last))
        loader = torch.utils.data.DataLoader(
            IndexedDataset(data), batch_sampler=batches, collate_fn=_CollateWithIndex(collate),
            num_workers=args.dataloader_num_workers, pin_memory=args.dataloader_pin_memory,
            persistent_workers=args.dataloader_persistent_workers,
            prefetch_factor=args.dataloader_prefetch_factor, worker_init_fn=_seed_worker)
        return prepare_data_loader(loader, num_processes=1, process_index=0, put_on_device=False)

    def _columns_of_the_model(self) -> tuple[Any, Any]:
        """The data set and collator without the columns that the model does not take."""
        data, collate = self.train_dataset, self.data_collator
        if hasattr(data, "remove_columns"):  # a datasets.Dataset
            return self._remove_unused_columns(data, "training"), collate
        return data, self._get_collator_with_removed_columns(collate, "training")

    def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False,
                     **more: Any) -> Any:
        """The loss as the base class computes it; training examples are observed on the way."""
        ids = inputs.pop("index", None)
        labels = inputs.get("labels")
        loss, outputs = super().compute_loss(  # type: ignore[misc]
            model, inputs, return_outputs=True, **more)
        if ids is not None and model.training:
            self.tracker.observe(ids, **self.importance_signals(outputs, labels))
        return (loss, outputs) if return_outputs else loss

    def importance_signals(self, outputs: Any, labels: Any) -> dict[str, Any]:
        """What `Tracker.observe` is told of a batch besides its ids. Override it for other tasks.

        Logits of classes or of tokens, and their targets; of a model that predicts the next token,
        those one place further on. Anything else is a ConfigError.
        """
        logits: Any = outputs.get("logits") if isinstance(outputs, dict) else outputs[1]
        shape = None if logits is None else tuple(logits.shape)
        if shape is None or labels is None or labels.is_floating_point() or \
                tuple(labels.shape) != shape[:-1]:
            raise ConfigError(f"cannot tell the loss of each example from logits of shape {shape} "
                              "and these labels: override importance_signals")
        logits = logits.detach()
        if labels.dim() == 2 and predicts_next_token(self.model):
            return {"logits": logits[:, :-1], "targets": labels[:, 1:]}
        return {"logits": logits, "targets": labels}


def predicts_next_token(model: Any) -> bool:
    """Whether the labels of this model are its inputs, to be compared one place further on."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    model = model.get_base_model() if hasattr(model, "get_base_model") else model  # of peft
    name = type(model).__name__
    if name.endswith("ForConditionalGeneration"):
        return not getattr(model.config, "is_encoder_decoder", False)
    return name in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values()


class _Batches:
    """This process's batches, without `set_epoch`: the callback calls it, others need not."""

    def __init__(self, batches: ImportanceBatchSampler) -> None:
        self._batches = batches
        self.batch_size = batches.batch_size
        self.drop_last = batches.drop_last

    def __iter__(self) -> Iterator[list[int]]:
        yield from self._batches  # drawn at the first batch: a loader with processes asks twice

    def __len__(self) -> int:
        return len(self._batches)


class _CollateWithIndex:
    """Collates examples as before, and adds their ids as "index"."""

    def __init__(self, collate: Any) -> None:
        self._collate = collate

    def __call__(self, examples: Sequence[Any]) -> Any:
        ids = [example["index"] for example in examples]
        batch = self._collate([{name: value for name, value in example.items() if name != "index"}
                               for example in examples])
        batch["index"] = torch.as_tensor(ids, dtype=torch.int64)
        return batch


def _seed_worker(_: int) -> None:
    """Seeds all generators of a loader's process from the one that PyTorch gave it."""
    transformers.set_seed(torch.initial_seed() % 2**32)


def _options_of(args: Any) -> dict[str, Any]:
    """What the trainer's arguments say about the sampler."""
    if getattr(args, "group_by_length", False) or \
            getattr(args, "train_sampling_strategy", "random") != "random":
        raise ConfigError("the order of examples is the importance sampler's: leave "
                          "train_sampling_strategy (group_by_length) at its default")
    whole = args.max_steps <= 0 and float(args.num_train_epochs).is_integer()
    return {"epochs": int(args.num_train_epochs) if whole else None,
            "seed": args.seed if args.data_seed is None else args.data_seed,
            "rank": args.process_index, "world_size": args.world_size, "uneven": "pad"}
