"""What the tests of `impart study` have in common."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

IMPART = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else shutil.which("impart")
FAKE_ENGINE = pathlib.Path(__file__).resolve().parent / "fake_engine.py"

SMALL = """
name: small
config: {epochs: 3, importance.ignore: 0, partition.warmup: 1, partition.interval: 1, data.train_examples: 100}
arms:
  vanilla: {baseline: true, partition.heuristic: random}
  stripes: {partition.heuristic: stripes}
  blocks: {partition.heuristic: blocks}
seeds: [5, 6]
output: study
"""


def wait_until(holds, seconds=20):
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if holds():
            return True
        time.sleep(0.005)
    return bool(holds())


class StudyTest(unittest.TestCase):
    """Each test has a folder of its own, which is the working folder of the command."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-study-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.study = self.folder / "study"
        self.behave({})

    def behave(self, behaviour):
        (self.folder / "behaviour.json").write_text(json.dumps(behaviour))

    def write(self, text=SMALL, name="study.yaml"):
        (self.folder / name).write_text(text)
        return name

    def start(self, *args, engine=FAKE_ENGINE, **more):
        process = subprocess.Popen(
            [IMPART, "study", *map(str, args), *(["--engine", str(engine)] if engine else [])],
            cwd=self.folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True, **more)
        self.addCleanup(lambda: (process.poll() is None and process.kill(), process.communicate()))
        return process

    def run_study(self, *args, **more):
        """Exit code, stdout and stderr."""
        process = self.start(*args, **more)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def succeed(self, *args, **more):
        code, out, err = self.run_study(*args, **more)
        self.assertEqual(code, 0, err + out)
        return out, err

    def fail_with(self, code, message, *args, **more):
        found, out, err = self.run_study(*args, **more)
        self.assertEqual(found, code, err + out)
        self.assertIn(message, err)
        return err

    def record(self):
        return json.loads((self.study / "study.json").read_text())

    def status(self):
        out, _ = self.succeed("--status", "--json", "study", engine=None)
        return json.loads(out)

    def states(self):
        return {run["folder"]: run["state"] for run in self.status()["runs"]}

    def calls(self):
        """The engine's calls: folder, "new" or "again", arguments."""
        path = self.study / "calls.txt"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def results(self):
        """The summaries of all finished runs."""
        return {str(path.parent.relative_to(self.study)): path.with_name("summary.json").read_text()
                for path in self.study.glob("runs/**/DONE")}
