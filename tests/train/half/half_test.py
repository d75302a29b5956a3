#!/usr/bin/env python3
"""precision: bf16 on the CPU: whole runs, as users start them, or the sentence that refuses them.

    python3 half_test.py path/to/impart
"""

import json
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import training  # noqa: E402
from training import IMPART, SHORT, settings, wait_until  # noqa: E402

PRESETS = pathlib.Path(__file__).resolve().parents[3] / "presets"


def cpu_has_bfloat16():
    """As the system says; tests/core/processor_test.cpp asks whether we say the same."""
    try:
        flags = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags


CAN = cpu_has_bfloat16()
WITHOUT = "this CPU does not multiply bfloat16"
HALF = {**SHORT, "precision": "bf16", "device": "cpu", "model.name": "small-cnn", "data.train_examples": 320}
GPT = {**{key: value for key, value in SHORT.items() if not key.startswith("data.")},
       "precision": "bf16", "device": "cpu", "epochs": 2, "data.name": "generated", "data.block": 16,
       "data.train_examples": 96, "data.test_examples": 8, "model.name": "gpt-tiny", "model.dropout": 0.1,
       "optimizer.lr": 0.01, "importance.ignore": 0, "partition.warmup": 1, "partition.interval": 1}


class RefusalTest(training.TrainingTest):
    def test_a_configuration_may_be_for_another_machine(self):
        self.succeed(*settings(HALF), "--dry-run")

    def test_tf32_is_for_gpus(self):
        self.fail_with(2, "precision: tf32 is for NVIDIA GPUs; on the CPU take bf16 or fp32",
                       *settings(HALF, precision="tf32"), "output=run")

    @unittest.skipIf(CAN, "this CPU multiplies bfloat16; tests/config/rules_test.cpp judges others")
    def test_a_cpu_without_it_says_so(self):
        self.fail_with(2, "this machine's CPU does not multiply bfloat16", *settings(HALF), "output=run")
        self.assertFalse((self.folder / "run").exists())


@unittest.skipUnless(CAN, WITHOUT)
class HalfRunTest(training.TrainingTest):
    def test_learns(self):
        """Floats reach 63 % with this (docs/results/engine.md)."""
        self.succeed(PRESETS / "quick.yaml", "epochs=6", "data.train_examples=3000", "data.test_examples=500",
                     "data.augment=none", "workers.batch=8", "optimizer.name=adamw", "optimizer.lr=0.005",
                     "optimizer.weight_decay=0.01", "threads=1", "precision=bf16", "device=cpu", "output=run")
        self.assertGreater(self.run_folder("run").summary()["best_accuracy"], 50)

    def test_one_hash_with_one_process_and_two(self):
        for kind, base in [("images", HALF), ("norms", {**HALF, "workers.batch_norm": "shared"}), ("text", GPT)]:
            with self.subTest(kind=kind):
                base = {**base, "workers.reduce": "exact", "epochs": 2}
                self.succeed(*settings(base), f"output={kind}-1")
                self.succeed(*settings(base), f"output={kind}-2", processes=2)
                self.assertEqual(self.run_folder(f"{kind}-1").sha(), self.run_folder(f"{kind}-2").sha())

    def test_two_processes_that_reduce_fast_stay_close(self):
        base = {**HALF, "epochs": 2}
        self.succeed(*settings(base), "output=one")
        self.succeed(*settings(base), "output=two", processes=2)
        for one, two in zip(self.run_folder("one").column("train_loss"), self.run_folder("two").column("train_loss")):
            self.assertAlmostEqual(one, two, delta=0.02 * one)

    def test_goes_on_as_if_it_had_not_been_stopped(self):
        self.succeed(*settings(HALF), "output=whole")
        stopped = self.run_folder("stopped")
        started = self.start(*settings(HALF), "output=stopped")
        self.assertTrue(wait_until(lambda: stopped.lines() >= 2 or started.is_over(), 60))
        started.signal(signal.SIGTERM)
        self.assertEqual(started.wait(), 85, started.texts()[1])
        self.succeed("--resume", "stopped")
        self.assert_same_outcome(stopped.outcome(), self.run_folder("whole").outcome())

    def test_what_was_trained_is_evaluated_in_floats(self):
        self.succeed(*settings(HALF), "output=run")
        done = subprocess.run([IMPART, "evaluate", "run", "device=cpu", "--json"], cwd=self.folder,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        found, last = json.loads(done.stdout), self.run_folder("run").metrics()[-1]
        self.assertAlmostEqual(found["loss"], last["test_loss"], delta=0.02 * last["test_loss"])

    def test_every_kind_of_model_trains(self):
        short = {"epochs": 1, "data.train_examples": 32, "data.test_examples": 8}
        for name, norm in [("resnet18", "batch"), ("resnet18", "group"), ("fast-cnn", "batch"), ("mlp", "batch")]:
            with self.subTest(model=name, norm=norm):
                base = {**HALF, "model.name": name, "model.norm": norm, **short, "importance.ignore": 0, "partition.warmup": 1}
                self.succeed(*settings(base), f"output={name}-{norm}")
        for name in ["gpt-tiny", "lstm"]:
            with self.subTest(model=name):
                self.succeed(*settings({**GPT, "model.name": name}), f"output={name}")


if __name__ == "__main__":
    unittest.main()
