#!/usr/bin/env python3
"""Examples held out of training, and random streams with seeds of their own.

    /usr/bin/python3 validation_test.py path/to/impart
"""

import json
import signal
import subprocess
import unittest

import training
from training import IMPART, SHORT, on_small_images, settings, wait_until

IMAGES = {**SHORT, "epochs": 2, "partition.warmup": 1, "partition.interval": 1, "importance.ignore": 0}
SMALL = on_small_images(IMAGES)
HELD_OUT = {**IMAGES, "data.validation": 0.25}
LANGUAGE = {
    "threads": 1, "epochs": 1, "data.name": "generated", "data.train_examples": 60, "data.test_examples": 20,
    "data.block": 16, "model.name": "gpt-tiny", "workers.count": 2, "workers.batch": 8, "importance.ignore": 0,
    "partition.warmup": 1, "partition.interval": 1, "optimizer.lr": 0.001,
}


def first_partition(run):
    return next(iter(run.partitions().values()))


class HeldOutTest(training.TrainingTest):
    def evaluate(self, *args):
        done = subprocess.run([IMPART, "evaluate", *args, "--json"], cwd=self.folder, text=True,
                              capture_output=True, env=training.ENVIRONMENT, check=True)
        return json.loads(done.stdout)

    def test_is_what_a_run_is_judged_by_and_the_test_set_is_not_touched(self):
        out, err = self.succeed(*settings(HELD_OUT), "output=a")
        self.assertIn("  validation ", err)
        self.assertNotIn("  test ", err)
        self.assertIn("best validation accuracy", out)
        run = self.run_folder("a")
        summary = run.summary()
        held_out = summary["validation_examples"]
        self.assertAlmostEqual(held_out, 160, delta=5)  # classes are rounded one by one
        self.assertEqual(summary["examples"], 640 - held_out)
        self.assertIn(f"{held_out} of 640 training examples are held out", err)
        self.assertEqual(len(first_partition(run).splitlines()) - 1, 640 - held_out)
        # Another test set changes nothing, another seed holds out the same.
        self.succeed(*settings(HELD_OUT, data__test_examples=50), "output=b")
        self.assertEqual(self.run_folder("b").metrics(), run.metrics())
        self.assertEqual(self.run_folder("b").sha(), run.sha())
        self.succeed(*settings(HELD_OUT, epochs=1, seed=2, data__validation="25%"), "output=c")
        self.assertEqual((self.folder / "c/labels.npy").read_bytes(), (self.folder / "a/labels.npy").read_bytes())
        # A trained model is evaluated as it was in its run, or on the test set if that is asked for.
        again = self.evaluate("a")
        self.assertEqual((again["evaluated_on"], again["predictions"]), ("validation", held_out))
        self.assertAlmostEqual(again["accuracy"], summary["final_accuracy"], 6)
        tested = self.evaluate("a", "data.validation=none")
        self.assertEqual((tested["evaluated_on"], tested["predictions"]), ("test", 100))

    def test_is_the_same_for_every_store_and_after_a_kill(self):
        self.make_small_images()
        base = {**SMALL, "data.validation": 0.25, "workers.batch": 2}
        self.succeed(*settings(base), "output=a")
        expected = self.run_folder("a")
        self.succeed(*settings(base, store__kind="partitioned"), "output=parts")
        self.assertEqual(self.run_folder("parts").sha(), expected.sha())
        self.assertEqual(self.run_folder("parts").column("test_accuracy"), expected.column("test_accuracy"))
        process = self.start(*settings(base), "output=killed")
        wait_until(lambda: self.run_folder("killed").lines() > 0 or process.is_over(), 60)
        process.signal(signal.SIGKILL)
        process.wait()
        self.succeed("--resume", "killed")
        self.assert_same_outcome(self.run_folder("killed").outcome_from_files(), expected.outcome_from_files())

    def test_of_a_language_is_blocks(self):
        _, err = self.succeed(*settings(LANGUAGE, data__validation=0.2), "output=a")
        summary = self.run_folder("a").summary()
        held_out = summary["validation_examples"]
        self.assertAlmostEqual(held_out / (held_out + summary["examples"]), 0.2, 1)
        self.assertIn("validation loss", err)
        self.fail_with(2, "share tokens", *settings(LANGUAGE, data__validation=0.2, data__stride=8), "output=b")

    def test_leaves_something_on_both_sides(self):
        for share in ["0", "1", "1.5", "nan", "-0.1", "0%", "100%", "few"]:
            err = self.fail_with(2, "data.validation", *settings(IMAGES, data__validation=share))
            self.assertIn("10%", err)
        err = self.fail_with(2, "none would be held out", *settings(IMAGES, data__validation=0.001))
        self.assertIn("of class '", err)
        self.fail_with(2, "none would be left to train on", *settings(IMAGES, data__validation=0.999))
        err = self.fail_with(2, "there are 400 workers, but only ",
                             *settings(IMAGES, data__validation=0.5, workers__count=400))
        self.assertRegex(err, "only 3[12][0-9] training examples")
        self.assertFalse((self.folder / "runs").exists())


class StreamsTest(training.TrainingTest):
    """Each of the three streams may have a seed of its own."""

    STREAMS = {"seed.init": 1, "seed.order": 1, "seed.augment": 1}

    def setUp(self):
        super().setUp()
        self.make_small_images()

    def run_with(self, name, **changes):
        self.succeed(*settings(SMALL, **changes), f"output={name}")
        return self.run_folder(name)

    def test_together_are_all_that_is_random(self):
        seed_one = self.run_with("one", seed=1)
        fixed = self.run_with("fixed", seed=9, **{key.replace(".", "__"): 1 for key in self.STREAMS})
        self.assertEqual(fixed.sha(), seed_one.sha())
        self.assertEqual(fixed.metrics(), seed_one.metrics())
        for free in self.STREAMS:
            others = {key.replace(".", "__"): 1 for key in self.STREAMS if key != free}
            run = self.run_with(f"free-{free}", seed=9, **others)
            self.assertNotEqual(run.sha(), seed_one.sha(), f"{free} follows seed")
            same_start = first_partition(run) == first_partition(seed_one)
            self.assertEqual(same_start, free != "seed.order", free)

    def test_of_initial_weights_fixes_them_whatever_the_seed(self):
        # Steps that are too small to change a number leave the weights as they started.
        still = {"optimizer__lr": 1e-30, "optimizer__weight_decay": 0, "epochs": 1}
        runs = [self.run_with(f"run{seed}-{init}", seed=seed, seed__init=init, **still).sha()
                for seed, init in [(1, 5), (2, 5), (1, "seed"), (5, "seed")]]
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(runs[0], runs[2])
        self.assertEqual(runs[0], runs[3])

    def test_are_named_in_files_as_on_the_command_line(self):
        (self.folder / "run.yaml").write_text("seed: 3\nseed.order: 7\n")
        out, _ = self.succeed("run.yaml", "seed.init=4", "--dry-run")
        self.assertRegex(out, "seed: 3\nseed.init: 4\nseed.order: 7\nseed.augment: seed\n")
        self.fail_with(2, "did you mean 'seed.init'", "seed.inti=4", "--dry-run")
        self.fail_with(2, "seed.init", "seed.init=x", "--dry-run")


if __name__ == "__main__":
    unittest.main()
