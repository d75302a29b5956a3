#!/usr/bin/env python3
"""Whose statistics normalise: each worker's, those of groups, all workers', or an image's own.

    python3 norms_test.py path/to/impart
"""

import json
import pathlib
import shutil
import subprocess
import unittest

import training
from training import IMPART, settings

# Seven workers whose parts differ in length, so that some have no rows in the last steps.
BASE = {
    "threads": 1,
    "epochs": 2,
    "data.name": "idx",
    "data.root": "small",
    "data.limit": 45,
    "data.augment": "none",
    "model.name": "small-cnn",
    "workers.count": 7,
    "workers.batch": 3,
    "optimizer.lr": 0.05,
    "importance.ignore": 0,
    "importance.images": 0,
    "partition.warmup": 1,
    "partition.interval": 1,
}
EXACT = {**BASE, "workers.reduce": "exact"}
CHANNELS = 224  # of small-cnn's norms


class NormTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        self.make_small_images()

    def finish(self, base, name, processes=None, **changes):
        self.succeed(*settings(base, **changes), f"output={name}", processes=processes)
        return self.run_folder(name)

    def ledger(self, run):
        lines = (run.path / "ledger.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


@unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
class SharedNormTest(NormTest):
    def test_exact_steps_have_one_hash_for_every_number_of_processes(self):
        hashes = {"worker": self.finish(EXACT, "worker").sha()}
        for name, changes in {"shared": {"workers__batch_norm": "shared"},
                              "groups": {"workers__batch_norm": 3},
                              "group norm": {"model__norm": "group"}}.items():
            found = {self.finish(EXACT, f"{name} {n}", n if n > 1 else None, **changes).sha()
                     for n in [1, 2, 4]}
            self.assertEqual(len(found), 1, name)
            hashes[name] = found.pop()
        self.assertEqual(len(set(hashes.values())), 4, hashes)


@unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
class FastSharedNormTest(NormTest):
    def test_fast_steps_differ_in_rounding_only(self):
        for share, several in [("shared", [2, 4]), (3, [4])]:
            alone = self.train_once(*settings(BASE, workers__batch_norm=share))
            losses = alone.column("train_loss") + alone.column("test_loss")
            for processes in several:
                run = self.train_once(*settings(BASE, workers__batch_norm=share), processes=processes)
                found = run.column("train_loss") + run.column("test_loss")
                for a, b in zip(found, losses, strict=True):
                    self.assertAlmostEqual(a, b, delta=1e-3 * b)

    def test_the_ledger_knows_what_statistics_cost(self):
        """Two sums per channel, in doubles, forward and backward, in every step."""
        def bytes_of(run):
            lines = self.ledger(run)
            sent = [process["bytes_statistics"] for line in lines for process in line["processes"]]
            self.assertEqual(sum(sent), run.summary()["bytes_statistics"])
            for line in lines:
                for process in line["processes"]:
                    self.assertLessEqual(process["bytes_statistics"], process["bytes_sent"])
            return sum(sent)

        def run_of(share, processes=2):
            return self.train_once(*settings(BASE, workers__batch_norm=share), processes=processes)

        alone, shared, groups, within = run_of("shared", None), run_of("shared"), run_of(2), run_of(3)
        expected = 2 * alone.last_step() * 2 * (2 * 8 * CHANNELS)  # 2 b (P-1)/P of two processes
        self.assertEqual(bytes_of(alone), 0)
        self.assertEqual(bytes_of(self.finish(BASE, "worker", 2)), 0)
        self.assertEqual(bytes_of(shared), expected)
        self.assertEqual(bytes_of(groups), expected)  # 0 1, 2|3, 4 5, 6: one is cut
        self.assertEqual(bytes_of(within), 0)  # 0 1 2 | 3 4 5, 6

        done = subprocess.run([IMPART, "io", shared.path, groups.path, within.path, "--json"],
                              text=True, capture_output=True, check=True)
        for counted, rows in zip([expected, expected, None], json.loads(done.stdout), strict=True):
            found = [(r["predicted"], r["measured"]) for r in rows["comparisons"]
                     if r["quantity"] == "statistics_bytes"]
            self.assertEqual(found, [(counted, counted)] if counted else [])


class DissimilarityTest(NormTest):
    def test_it_is_recorded_where_it_is_due_and_changes_nothing(self):
        plain = self.finish(EXACT, "plain", epochs=4)
        run = self.finish(EXACT, "measured", epochs=4, importance__dissimilarity=2)
        self.assertEqual(run.sha(), plain.sha())
        found = [record.get("dissimilarity") for record in run.metrics()]
        self.assertEqual([value is not None for value in found], [False, True, False, True])
        self.assertTrue(all(value > 0 for value in found if value))
        self.assertNotIn("dissimilarity", plain.metrics()[1])
        self.assertGreater(run.summary()["seconds_dissimilarity"], 0)
        self.assertEqual(plain.summary()["seconds_dissimilarity"], 0)
        seconds = [process["seconds"]["dissimilarity"]
                   for line in self.ledger(run) for process in line["processes"]]
        self.assertEqual([value > 0 for value in seconds], [False, True, False, True])
        if not shutil.which("mpirun"):
            return
        several = self.finish(EXACT, "several", 3, epochs=4, importance__dissimilarity=2)
        self.assertEqual(several.sha(), plain.sha())
        for a, b in zip(several.metrics(), run.metrics(), strict=True):
            if "dissimilarity" in b:
                self.assertAlmostEqual(a["dissimilarity"] / b["dissimilarity"], 1, delta=1e-9)


class ResumedNormTest(NormTest):
    def test_a_stopped_run_goes_on_as_it_was(self):
        for name, changes in {"groups": {"workers__batch_norm": 3},
                              "group": {"model__norm": "group"}}.items():
            straight = self.finish(EXACT, f"{name} straight", epochs=3, **changes)
            self.finish(EXACT, f"{name} halves", epochs=3, checkpoint__keep=3, **changes)
            halves = self.run_folder(f"{name} halves")
            (halves.path / "DONE").unlink()
            shutil.rmtree(halves.checkpoints()[-1])
            processes = 2 if shutil.which("mpirun") else None
            self.succeed("--resume", f"{name} halves", processes=processes)
            self.assertEqual(halves.sha(), straight.sha(), name)


if __name__ == "__main__":
    unittest.main()
