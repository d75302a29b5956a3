#!/usr/bin/env python3
"""Whole runs on text: language models and classifiers take the same path as images.

    python3 language_test.py path/to/impart

With IMPART_DATA, real text too. IMPART_KILLS (1) says how often runs are killed and resumed.
"""

import csv
import json
import math
import os
import pathlib
import random
import shutil
import signal
import unittest

import training
from learning_test import spearman
from training import settings, wait_until

PRESETS = pathlib.Path(__file__).resolve().parents[2] / "presets"
KILLS = int(os.environ.get("IMPART_KILLS", "1"))
GPT = {
    "threads": 1,
    "epochs": 4,
    "data.name": "generated",
    "data.train_examples": 64,
    "data.test_examples": 16,
    "data.block": 8,
    "model.name": "gpt-tiny",
    "model.dropout": 0.1,
    "workers.count": 4,
    "workers.batch": 4,
    "optimizer.name": "adamw",
    "optimizer.lr": 0.002,
    "optimizer.clip_norm": 1,
    "importance.notion": "loss-average",
    "importance.ignore": 1,
    "partition.warmup": 2,
    "partition.interval": 1,
    "partition.save": "true",
    "checkpoint.every": 1,
}
EXACT = {**GPT, "workers.reduce": "exact"}
CLASSES = {
    **GPT,
    "data.name": "table",
    "data.root": "reviews",
    "data.label_column": "label",
    "data.tokenizer": "bpe",
    "data.vocabulary": 300,
    "model.name": "text-encoder",
}


def texts(run):
    return [json.loads(line) for line in (run.path / "texts.jsonl").read_text().splitlines()]


class LanguageTest(training.TrainingTest):
    def finish(self, base, name, processes=None, **changes):
        self.succeed(*settings(base, **changes), f"output={name}", processes=processes)
        return self.run_folder(name)

    def write_reviews(self):
        """Texts whose class a single word tells; the last two lines lie."""
        draw = random.Random(3)
        rows = []
        for i in range(120):
            label = i % 2
            words = draw.choices(["the", "film", "was", "long", "plot", "actor", "music"], k=7)
            words.insert(draw.randrange(7), ["awful", "lovely"][label])
            rows.append((label, " ".join(words)))
        rows += [(0, "lovely lovely film was lovely"), (1, "awful awful plot was awful")]
        (self.folder / "reviews").mkdir()
        for name, part in [("train.tsv", rows), ("dev.tsv", rows[:40])]:
            lines = ["label\tsentence", *(f"{label}\t{text}" for label, text in part)]
            (self.folder / "reviews" / name).write_text("\n".join(lines) + "\n")


class ResultsTest(LanguageTest):
    def test_a_language_model_has_perplexity_and_bits_per_byte(self):
        enough = {**GPT, "data.train_examples": 96, "data.test_examples": 24, "data.block": 12}
        run = self.finish(enough, "run", importance__token_losses="true",
                          importance__record="[forgetting,truth]", importance__texts=5)
        summary = run.summary()
        self.assertNotIn("best_accuracy", summary)
        for record in run.metrics():
            self.assertAlmostEqual(record["test_perplexity"], math.exp(record["test_loss"]), places=6)
            # A letter of the built-in corpus is a byte and a token.
            self.assertAlmostEqual(record["test_bits_per_byte"], record["test_loss"] / math.log(2),
                                   places=6)
        perplexities = run.column("test_perplexity")
        self.assertEqual(summary["best_perplexity"], min(perplexities))
        self.assertEqual(summary["final_perplexity"], perplexities[-1])
        self.assertEqual(summary["best_epoch"], perplexities.index(min(perplexities)))
        self.assertLess(perplexities[-1], perplexities[0])

        found = texts(run)
        self.assertEqual({text["notion"] for text in found}, {"loss-average", "forgetting", "truth"})
        hardest = [t for t in found if t["notion"] == "loss-average" and t["end"] == "hardest"]
        self.assertEqual([t["rank"] for t in hardest], [1, 2, 3, 4, 5])
        with open(run.path / "importance.csv") as file:
            importance = [float(row["loss-average"]) for row in csv.DictReader(file)]
        self.assertAlmostEqual(hardest[0]["importance"], max(importance), places=5)
        self.assertEqual(len(hardest[0]["text"]), 13)
        self.assertEqual(len(hardest[0]["tokens"]), 12)
        self.assertEqual("".join(piece for piece, _ in hardest[0]["tokens"]),
                         hardest[0]["text"][1:])

    def test_a_run_that_leaves_the_numbers_can_be_resumed(self):
        base = {**GPT, "optimizer.lr": 1e9, "optimizer.clip_norm": 0, "epochs": 3,
                "train.stop_on_nan": "false"}
        expected = self.finish(base, "run")
        self.assertIsNone(expected.summary()["final_perplexity"])  # NaN has no other form in JSON
        shutil.rmtree(expected.checkpoints()[-1])
        (expected.path / "DONE").unlink()
        _, err = self.succeed("--resume", "run")
        self.assertIn("resuming from", err)

    def test_texts_that_are_mislabelled_are_the_hardest(self):
        self.write_reviews()
        run = self.finish(CLASSES, "run", epochs=12, data__block=16, model__dropout=0,
                          importance__texts=2)
        self.assertGreater(run.summary()["best_accuracy"], 90)
        self.assertNotIn("best_perplexity", run.summary())
        hardest = [t for t in texts(run) if t["end"] == "hardest"]
        self.assertEqual({t["text"] for t in hardest},
                         {"lovely lovely film was lovely", "awful awful plot was awful"})
        self.assertEqual({(t["label"], t["text"].split()[0]) for t in hardest},
                         {("0", "lovely"), ("1", "awful")})
        for text in hardest:
            data = (self.folder / "reviews/train.tsv").read_bytes()
            start = text["offset"]
            self.assertEqual(data[start:start + len(text["text"])].decode(), text["text"])

    def test_the_importance_of_generated_text_agrees_with_its_difficulty(self):
        # A fifth of its blocks, twice as long: what is shuffled still shows.
        fewer = ["data.train_examples=400", "data.test_examples=20", "data.block=64", "workers.batch=4"]
        started = self.start(PRESETS / "lm/generated.yaml", "output=run", "threads=1", *fewer)
        self.assertEqual(started.wait(600), 0, started.texts()[1])
        run = self.run_folder("run")
        with open(run.path / "importance.csv") as file:
            rows = list(csv.DictReader(file))
        loss = [float(row["loss-average"]) for row in rows]
        truth = [float(row["truth"]) for row in rows]
        correlation = spearman(loss, truth)
        shuffled = {i for i, value in enumerate(truth) if value == 1}
        ranking = sorted(range(len(loss)), key=lambda i: -loss[i])
        top = ranking[:len(shuffled)]
        share = len(shuffled.intersection(top)) / len(shuffled)
        print(f"Spearman of loss-average and truth {correlation:.3f}; {100 * share:.1f} % of the "
              f"{len(shuffled)} hardest are shuffled blocks")
        self.assertGreater(correlation, 0.5)
        self.assertGreater(share, 0.9)


class SameRunTest(LanguageTest):
    def test_killed_and_resumed(self):
        draw = random.Random(1)
        for base in [GPT, {**GPT, "workers.sync": 3}]:
            base = {**base, "epochs": 5}
            expected = self.finish(base, "unbroken")
            for _ in range(KILLS):
                run = self.run_folder("run")
                job = self.start(*settings(base), "output=run")
                lines = draw.randrange(1, 4)
                self.assertTrue(wait_until(lambda: run.lines() >= lines or job.is_over(), 60))
                job.signal(signal.SIGKILL)
                job.wait()
                self.succeed("--resume", "run")
                self.assert_same_outcome(run.outcome(), expected.outcome())
                shutil.rmtree(run.path)
            shutil.rmtree(expected.path)

    @unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
    def test_any_number_of_processes_gives_the_same_weights(self):
        expected = self.finish(EXACT, "one", processes=1)
        for processes in [2, 4]:
            run = self.finish(EXACT, f"many-{processes}", processes=processes)
            self.assertEqual(run.sha(), expected.sha())
            self.assertEqual(run.partitions(), expected.partitions())
            self.assertEqual((run.path / "importance.csv").read_bytes(),
                             (expected.path / "importance.csv").read_bytes())

    def test_tokens_that_live_with_their_workers(self):
        self.write_reviews()
        exchange = {"partition.heuristic": "random", "partition.interval": 0,
                    "partition.warmup": 0, "exchange.strategy": "is-pair"}
        several = [2] if shutil.which("mpirun") else []
        for base, counts in [({**EXACT, **exchange}, [None, *several]),
                             ({**CLASSES, "workers.reduce": "exact"}, several or [None])]:
            expected = self.finish(base, "replicated")
            for processes in counts:
                run = self.finish(base, "parts", processes, store__kind="partitioned")
                self.assertEqual(run.sha(), expected.sha())
                self.assertEqual(run.partitions(), expected.partitions())
                shutil.rmtree(run.path)
            shutil.rmtree(expected.path)

    def test_tokenizers_and_models(self):
        (self.folder / "book.txt").write_text("It was the best of times — it was the worst. " * 15)
        base = {**GPT, "data.name": "text", "data.root": "book.txt", "epochs": 3}
        seen = set()
        for tokenizer, model in [("byte", "gpt-tiny"), ("char", "gpt-tiny"), ("bpe", "lstm")]:
            run = self.finish(base, tokenizer, data__tokenizer=tokenizer, model__name=model,
                              data__vocabulary=280)
            self.assertLess(run.column("test_loss")[-1], run.column("test_loss")[0])
            seen.add(run.sha())
        # The tokenizer of a run can be used for the next one.
        again = self.finish(base, "again", data__tokenizer="bpe", model__name="lstm",
                            data__vocabulary_file="bpe/tokenizer.txt")
        self.assertEqual(again.sha(), run.sha())
        self.assertEqual(len(seen), 3)


class BadInputTest(LanguageTest):
    def refuse(self, code, message, base, **changes):
        err = self.fail_with(code, message, *settings(base, **changes), "output=run")
        self.assertTrue(err.startswith("impart: "), err)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertFalse((self.folder / "run").exists(), "bad input must not leave a run")

    def test_models_and_data_that_do_not_fit(self):
        self.write_reviews()
        self.refuse(2, "model.name: small-cnn is for images, but data.name: generated is language",
                    GPT, model__name="small-cnn", model__dropout=0)
        self.refuse(2, "model.name: gpt-tiny is for language, but data.name: shapes is images",
                    GPT, data__name="shapes")
        self.refuse(2, "model.name: gpt-tiny is for language, but data.name: table is texts with",
                    CLASSES, model__name="gpt-tiny")
        self.refuse(2, "data.label_column names the column", CLASSES, data__label_column="")
        self.refuse(2, "store.files", GPT, store__files="true")
        self.refuse(2, "model.dropout", training.SHORT, model__dropout=0.1)

    def test_files_of_tokens(self):
        tokens = self.folder / "tokens"
        tokens.mkdir()
        base = {**GPT, "data.name": "tokens", "data.root": "tokens", "data.vocabulary": 50}
        good = b"".join(int(i % 50).to_bytes(2, "little") for i in range(480))
        (tokens / "val.bin").write_bytes(good)
        (tokens / "train.bin").write_bytes(good[:400] + (50).to_bytes(2, "little") + good)
        self.refuse(65, "tokens/train.bin: byte 400: ", base)
        (tokens / "train.bin").write_bytes(good + b"x")
        self.refuse(65, "tokens/train.bin: ", base)
        (tokens / "train.bin").write_bytes(good)
        self.finish(base, "fine")

    def test_text(self):
        base = {**GPT, "data.name": "text", "data.root": "book.txt"}
        self.refuse(65, "book.txt", base)
        (self.folder / "book.txt").write_bytes(b"")
        self.refuse(65, "book.txt", base)
        text = b"a plain sentence, again and again. " * 12
        (self.folder / "book.txt").write_bytes(text[:300] + b"\xff" + text[300:])
        self.refuse(65, "book.txt: byte 300: ", base, data__tokenizer="char")
        for tokenizer in ["byte", "bpe"]:  # any bytes are fine
            self.finish(base, tokenizer, data__tokenizer=tokenizer, data__vocabulary=300, epochs=3)

    def test_tables(self):
        self.write_reviews()
        table = self.folder / "reviews/train.tsv"
        lines = table.read_text().splitlines()
        lines[6] = "1"
        table.write_text("\n".join(lines) + "\n")
        self.refuse(65, "reviews/train.tsv:7: ", CLASSES)
        self.refuse(65, "reviews/train.tsv", CLASSES, data__text_column="words")


@unittest.skipUnless(os.environ.get("IMPART_DATA"), "IMPART_DATA names no folder with text")
class RealTextTest(LanguageTest):
    def test_a_short_run_on_shakespeare_learns(self):
        self.succeed(PRESETS / "lm/shakespeare-char.yaml", "output=run", "epochs=4",
                     f"data.root={os.environ['IMPART_DATA']}/tinyshakespeare", "data.limit=2000")
        self.assertLess(self.run_folder("run").summary()["best_perplexity"], math.exp(2.6))


if __name__ == "__main__":
    unittest.main()
