"""A study that is killed again and again comes to the same end: kill_test.py path/to/impart

Moments are drawn from IMPART_TEST_SEED, or from a fixed seed.
"""

import collections
import os
import random
import time
import unittest

from studies import StudyTest

DRAW = random.Random(int(os.environ.get("IMPART_TEST_SEED", "1")))
KILLS = 20
STUDY = """
name: killed
config: {epochs: 3, importance.ignore: 0, partition.warmup: 1, partition.interval: 1}
arms: {vanilla: {baseline: true, partition.heuristic: random}}
grid: {partition.heuristic: [stripes, blocks, snake], optimizer.lr: [0.1, 0.2]}
seeds: {count: 4, master: 7}
jobs: 2
output: study
"""


class Kills(StudyTest):
    def test_twenty_kills_at_random_moments_change_nothing(self):
        name = self.write(STUDY)
        self.succeed(name, "output=unbroken")
        self.study = self.folder / "unbroken"
        expected = self.results()
        self.assertEqual(len(expected), 28)

        self.study = self.folder / "study"
        self.behave({"*": {"epoch_seconds": 0.08}})
        finished = {}
        for _ in range(KILLS):
            process = self.start(name)
            self.wait_for_a_sign_of_life()
            time.sleep(DRAW.uniform(0, 0.4))
            process.kill()
            process.communicate()
            calls = collections.Counter(call[0] for call in self.calls())
            for folder, count in finished.items():
                self.assertEqual(calls[folder], count, f"{folder} was finished and started again")
            finished = {folder: calls[folder] for folder in self.results()}
        self.behave({})
        self.succeed(name)
        self.assertEqual(self.results(), expected)
        self.assertEqual(set(self.states().values()), {"done"})
        calls = collections.Counter(call[0] for call in self.calls())
        self.assertLessEqual(max(calls.values()), KILLS + 1)
        self.assertGreater(sum(calls.values()), len(expected), "no run was ever interrupted")

    def wait_for_a_sign_of_life(self):
        """Sometimes until it has the lock, sometimes until it starts a run, sometimes not at all."""
        kind = DRAW.randrange(3)
        lock = self.study / "study.lock"
        before = lock.stat().st_mtime_ns if lock.exists() else 0
        calls = len(self.calls())
        limit = time.monotonic() + (0.3 if kind == 0 else 20)
        while time.monotonic() < limit:
            if kind == 1 and lock.exists() and lock.stat().st_mtime_ns != before:
                return
            if kind == 2 and len(self.calls()) > calls:
                return
            time.sleep(0.002)


if __name__ == "__main__":
    unittest.main()
