#!/usr/bin/env python3
"""reduce: exact gives one hash of the weights however a run is started.

    python3 exactness_test.py path/to/impart

Every model on tiny data, alone and in two processes, with cores taken away, with processes bound
and not, with one and two threads, and with what users may have in their environment. Two models that
share the ways, or with IMPART_MODELS=all every model in every way.
"""

import os
import random
import re
import shutil
import subprocess
import unittest

import training
from training import ENVIRONMENT, IMPART, settings, write_images

# Every way is one of theirs, and both have threads and processes.
FEW_MODELS = {
    "mlp": ["alone", "two threads", "one core", "OMP_NUM_THREADS", "two processes",
            "two processes, not bound"],
    "gpt-tiny": ["alone", "all cores", "one core, two threads", "OPENBLAS_NUM_THREADS",
                 "two processes, two threads"],
}
BASE = {
    "threads": 1,
    "epochs": 1,
    "workers.count": 3,
    "workers.batch": 32,
    "workers.reduce": "exact",
    "importance.ignore": 0,
    "partition.warmup": 1,
    "optimizer.lr": 0.01,
    "checkpoint.every": 0,
}
IMAGES = {"data.name": "idx", "data.root": "images", "data.augment": "none",
          "model.stem": "cifar"}
LANGUAGE = {"data.name": "generated", "data.block": 16, "data.train_examples": 150,
            "data.test_examples": 10, "workers.batch": 16}
CLASSES = {"data.name": "table", "data.root": "reviews", "data.label_column": "label",
           "workers.batch": 16}
# Deep ones see few examples.
LARGE = {"data.limit": 9, "workers.batch": 2}
LARGE_TEXT = {"data.block": 8, "data.train_examples": 6, "data.test_examples": 2,
              "workers.batch": 1}
MODELS = {
    "resnet18": {**IMAGES, **LARGE},
    "resnet34": {**IMAGES, **LARGE},
    "resnet50": {**IMAGES, **LARGE},
    "small-cnn": IMAGES,
    "fast-cnn": {**IMAGES, **LARGE},
    "fast-cnn-wide": {**IMAGES, **LARGE},
    "mlp": IMAGES,
    "gpt-tiny": LANGUAGE,
    "gpt-mini": LANGUAGE,
    "gpt2-small": {**LANGUAGE, **LARGE_TEXT},
    "lstm": LANGUAGE,
    "text-encoder": CLASSES,
    "bag-of-embeddings": CLASSES,
}
USERS = {name: value for name, value in ENVIRONMENT.items() if name != "OMP_NUM_THREADS"}
MPIRUN = ["mpirun", "-n", "2", "--bind-to"]
# What stands before the command, overrides, and the environment.
WAYS = {
    "alone": ([], {}, {}),
    "two threads": ([], {"threads": 2}, {}),
    "all cores": ([], {"threads": 0}, {}),
    "one core": (["taskset", "-c", "0"], {}, {}),
    "one core, two threads": (["taskset", "-c", "0"], {"threads": 2}, {}),
    "OPENBLAS_NUM_THREADS": ([], {}, {"OPENBLAS_NUM_THREADS": "1"}),
    "OMP_NUM_THREADS": ([], {}, {"OMP_NUM_THREADS": "3"}),
    "two processes": ([*MPIRUN, "core"], {}, {}),
    "two processes, two threads": ([*MPIRUN, "core"], {"threads": 2}, {}),
    "two processes, not bound": ([*MPIRUN, "none"], {}, {}),
}


class ExactnessTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        write_images(self.folder / "images", 28, 300, 40)
        self.write_reviews()

    def write_reviews(self):
        draw = random.Random(2)
        os.mkdir(self.folder / "reviews")
        for name, count in [("train.tsv", 150), ("dev.tsv", 20)]:
            words = "the film was long plot actor music awful lovely".split()
            lines = [f"{i % 2}\t{' '.join(draw.choices(words, k=12))}" for i in range(count)]
            text = "\n".join(["label\tsentence", *lines])
            (self.folder / "reviews" / name).write_text(text + "\n")

    def hash_of(self, model, way):
        before, changes, environment = WAYS[way]
        base = {**BASE, **MODELS[model], "model.name": model, **changes}
        done = subprocess.run(
            [*before, IMPART, "train", *settings(base), "output=run", "--overwrite"],
            cwd=self.folder, env={**USERS, **environment}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.run_folder("run").sha()

    def test_the_table_here_has_every_model(self):
        listed = subprocess.run([IMPART, "list", "models"], capture_output=True, text=True).stdout
        names = re.findall(r"^\s*([a-z][a-z0-9-]*)  ", listed, re.M)
        self.assertEqual(names, list(MODELS), listed)

    def test_some_model_goes_every_way(self):
        self.assertEqual(set().union(*FEW_MODELS.values()), set(WAYS))

    def test_one_hash_for_every_way_to_start_a_run(self):
        possible = [way for way, (before, *_) in WAYS.items() if not before or shutil.which(before[0])]
        every = os.environ.get("IMPART_MODELS") == "all"
        for model in MODELS if every else FEW_MODELS:
            ways = [way for way in possible if every or way in FEW_MODELS[model]]
            with self.subTest(model=model):
                hashes = {way: self.hash_of(model, way) for way in ways}
                print(f"{model}: {len(ways)} ways, {len(set(hashes.values()))} hash", flush=True)
                self.assertEqual(len(set(hashes.values())), 1, hashes)


if __name__ == "__main__":
    unittest.main()
