"""One process of a small training inside a library: adapter_job.py LIBRARY FOLDER [CHECKPOINT]

Trains for four epochs of 103 examples with batches of 8, checkpoints every five steps in FOLDER, and
leaves what it visited, learned and weighs in FOLDER/visits-RANK.json.
"""

import hashlib
import json
import multiprocessing
import os
import pathlib
import sys
import warnings

import torch
from torch.utils.data import DataLoader, TensorDataset

import impart

EXAMPLES, EPOCHS = 103, 4
RANK, SIZE = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


def listen(tracker, visits):
    """Has every batch that the tracker observes put into `visits`, too."""
    observe = tracker.observe

    def observe_and_note(ids, **signals):
        visits.append([tracker.epoch, [int(i) for i in ids]])
        observe(ids, **signals)
    tracker.observe = observe_and_note


def train_with_huggingface(folder, checkpoint, visits, language=False):
    import transformers
    from impart.huggingface import make_trainer
    draw = torch.Generator().manual_seed(1)
    words = torch.randint(5, 50, (EXAMPLES, 8), generator=draw)
    torch.manual_seed(0)
    if language:
        data = [{"input_ids": row, "labels": row.clone(), "unused": 7} for row in words]
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
            vocab_size=50, n_positions=8, n_embd=16, n_layer=1, n_head=2, bos_token_id=0,
            eos_token_id=0))
    else:
        labels = torch.randint(0, 3, (EXAMPLES,), generator=draw).tolist()
        data = [{"input_ids": row, "labels": label, "unused": 7}
                for row, label in zip(words, labels)]
        model = transformers.BertForSequenceClassification(transformers.BertConfig(
            vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=16, max_position_embeddings=8, num_labels=3))
    args = transformers.TrainingArguments(
        output_dir=str(folder), num_train_epochs=EPOCHS, per_device_train_batch_size=8,
        report_to=[], use_cpu=True, save_steps=5, disable_tqdm=True, dataloader_pin_memory=False,
        ddp_backend="gloo" if SIZE > 1 else None, dataloader_num_workers=2 if language else 0)
    trainer = make_trainer()(model=model, args=args, train_dataset=data, eval_dataset=data[:9],
                             importance={"heuristic": "blocks", "warmup": 2, "interval": 1},
                             notions=["loss-average", "loss-variance"])
    listen(trainer.tracker, visits)
    trainer.train(resume_from_checkpoint=checkpoint)
    trainer.evaluate()
    return trainer.tracker, trainer.model, trainer.importance_sampler.partition


def train_with_lightning(folder, checkpoint, visits):
    try:
        import lightning.pytorch as lightning
    except ImportError:
        import pytorch_lightning as lightning
    from impart.lightning import ImportanceCallback
    draw = torch.Generator().manual_seed(1)
    data = TensorDataset(torch.randn(EXAMPLES, 5, generator=draw),
                         torch.randint(0, 3, (EXAMPLES,), generator=draw))
    torch.manual_seed(0)
    importance = ImportanceCallback(EXAMPLES, "blocks", notions=["loss-average"], warmup=2,
                                    interval=1)

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(5, 3)

        def train_dataloader(self):
            return DataLoader(impart.IndexedDataset(data), batch_size=8,
                              sampler=importance.sampler())

        def training_step(self, batch, _):
            index, inputs, classes = batch
            logits = self.layer(inputs)
            return {"loss": torch.nn.functional.cross_entropy(logits, classes), "index": index,
                    "logits": logits, "targets": classes}

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    listen(importance.tracker, visits)
    module = Module()
    keep = lightning.callbacks.ModelCheckpoint(dirpath=folder, every_n_train_steps=5, save_top_k=-1,
                                               filename="{step}")
    trainer = lightning.Trainer(
        max_epochs=EPOCHS, accelerator="cpu", devices=SIZE, strategy="ddp" if SIZE > 1 else "auto",
        callbacks=[keep, importance], logger=False, enable_progress_bar=False,
        enable_model_summary=False, use_distributed_sampler=False)
    trainer.fit(module, ckpt_path=checkpoint)
    return importance.tracker, module, importance._sampler.partition


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    multiprocessing.set_start_method("forkserver")  # loaders' workers, beside gloo's threads
    library, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    checkpoint = sys.argv[3] if len(sys.argv) > 3 else None
    visits = []
    if library == "lightning":
        learned = train_with_lightning(folder, checkpoint, visits)
    else:
        learned = train_with_huggingface(folder, checkpoint, visits, library == "language")
    tracker, model, partition = learned
    weights = b"".join(value.detach().numpy().tobytes() for value in model.state_dict().values())
    (folder / f"visits-{RANK}.json").write_text(json.dumps({
        "visits": visits, "importance": tracker.importance().tolist(),
        "owners": partition.owners.tolist(), "weights": hashlib.sha256(weights).hexdigest()}))


if __name__ == "__main__":
    main()
