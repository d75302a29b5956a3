#!/usr/bin/env python3
"""Runs the examples as a user would.

    PYTHONPATH=build/dev/python python3 examples_test.py
"""

import importlib.util
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples/python"
sys.path.insert(0, str(ROOT / "tests/report"))
from made_runs import make_study  # noqa: E402


class ExampleTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-examples-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def start(self, name, *args, **environment):
        return subprocess.Popen([sys.executable, EXAMPLES / name, *map(str, args)], cwd=self.folder,
                                env={**os.environ, "MPLBACKEND": "Agg", **environment}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finish(self, process):
        self.addCleanup(process.kill)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, err + out)
        return out

    def run_example(self, name, *args, **environment):
        return self.finish(self.start(name, *args, **environment))


class ThreeLines(ExampleTest):
    def test_runs_alone(self):
        out = self.run_example("three_lines.py")
        self.assertEqual(len(re.findall(r"^epoch \d: last loss \d", out, re.M)), 4)
        self.assertRegex(out, r"hardest examples:( \d+){5}")

    def test_runs_on_two_processes_which_then_know_the_same(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        jobs = [self.start("three_lines.py", RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                           MASTER_PORT=str(port)) for rank in range(2)]
        hardest = [self.finish(job).splitlines()[-1] for job in jobs]
        self.assertEqual(hardest[0], hardest[1])


class DataParallel(ExampleTest):
    SMALL = ["--examples", 400, "--epochs", 4, "--warmup", 1, "--interval", 1, "--batch", 16]

    def weights(self, out):
        return re.search(r"after (\d+) steps: weights (\w+)", out).groups()

    def test_learns_the_drawn_images_with_its_defaults(self):
        out = self.run_example("ddp_cifar.py")
        accuracy = [float(value) for value in re.findall(r"accuracy +([\d.]+) %", out)]
        self.assertEqual(len(accuracy), 6)
        self.assertGreater(accuracy[-1], 50)

    def test_goes_on_in_mid_epoch_as_if_it_had_never_stopped_whatever_loaders_drew_ahead(self):
        whole = self.run_example("ddp_cifar.py", *self.SMALL)
        more = [*self.SMALL, "--checkpoints", self.folder / "saved", "--every", 10]
        # Thirteen steps an epoch: the last checkpoint is in the third, after a repartitioning.
        self.run_example("ddp_cifar.py", *more, "--stop-after", 33, "--loader-workers", 2)
        self.assertEqual((self.folder / "saved/LATEST").read_text(), "step-30")
        resumed = self.run_example("ddp_cifar.py", *more, "--resume")
        self.assertEqual(self.weights(resumed), self.weights(whole))

    def test_reads_the_files_of_cifar10(self):
        chance = random.Random(1)
        names = [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]
        for name in names:
            (self.folder / name).write_bytes(b"".join(
                bytes([chance.randrange(10)]) + chance.randbytes(3072) for _ in range(16)))
        out = self.run_example("ddp_cifar.py", "--data", self.folder, "--epochs", 2, "--warmup", 1,
                               "--interval", 1, "--batch", 8, "--heuristic", "blocks")
        self.assertIn("after 10 steps", out)


class Diloco(ExampleTest):
    def end(self, *args):
        """Accuracy, weights of each rank, and bytes of weights."""
        out = self.run_example("diloco.py", *args)
        return (float(re.findall(r"accuracy +([\d.]+) %", out)[-1]),
                re.findall(r"rank \d: weights (\w+)", out), int(re.search(r"(\d+) bytes", out).group(1)))

    def test_learns_and_ends_with_one_model(self):
        accuracy, weights, sent = self.end("--epochs", "4")
        self.assertGreater(accuracy, 50)
        self.assertEqual(len(weights), 2)
        self.assertEqual(len(set(weights)), 1)
        once = self.end("--between", "1000", "--epochs", "1", "--examples", "200")
        self.assertLess(once[2] * 6, sent)


@unittest.skipUnless(importlib.util.find_spec("matplotlib"), "matplotlib is not installed")
class Notebook(ExampleTest):
    def test_draws_its_pictures(self):
        arms = {"vanilla": {"heuristic": "random"}, "stripes": {}, "blocks": {"heuristic": "blocks"}}
        make_study(self.folder / "study", arms, [1, 2], epochs=5, examples=60)
        out = self.run_example("notebook.py", STUDY=str(self.folder / "study"))
        self.assertEqual({path.name for path in (self.folder / "pictures").iterdir()},
                         {"curves.png", "examples.png", "workers.png"})
        self.assertIn("examples changed their worker", out)
        self.assertRegex(out, r"blocks: importance per worker")


if __name__ == "__main__":
    unittest.main()
