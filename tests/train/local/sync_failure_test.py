#!/usr/bin/env python3
"""Jobs of workers that train apart, one of whose processes goes wrong while models become one.

    python3 sync_failure_test.py path/to/impart path/to/libend_in_sum.so

The moment is certain: end_in_sum.cpp counts the sums that have as many numbers as the model. IMPART_KILLS (2)
says at how many moments, IMPART_TEST_SEED (1) draws them.
"""

import os
import pathlib
import random
import shutil
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import training
from training import SHORT, on_small_images, settings

LIBRARY = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
KILLS = int(os.environ.get("IMPART_KILLS", "2"))
DRAW = random.Random(int(os.environ.get("IMPART_TEST_SEED", "1")))
SYNCS = 11  # in an epoch of 32 steps
BASE = on_small_images({**SHORT, "epochs": 4, "data.train_examples": 498, "workers.sync": 3,
                        "workers.outer": "nesterov", "comm.timeout": 2})
DELAYED = {**BASE, "workers.outer_overlap": "true"}


@unittest.skipUnless(LIBRARY and shutil.which("mpirun"), "needs mpirun and a library to preload")
class SyncFailureTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        self.make_small_images()

    def break_off(self, base, unbroken, number):
        """In a sync of an epoch after the first, in one of two processes. How the job ended, and who did it."""
        rank = DRAW.randrange(2)
        chosen = {"LD_PRELOAD": LIBRARY, "IMPART_END_RANK": rank, "IMPART_END_SIGNAL": int(number),
                  "IMPART_END_COUNT": unbroken.summary()["parameters"],
                  "IMPART_END_AT": DRAW.randint(SYNCS + 1, SYNCS * base["epochs"])}
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        job = self.start(*settings(base), "output=run", processes=2,
                         options=[option for name, value in chosen.items() for option in ("-x", f"{name}={value}")])
        code = job.wait(60)
        print(f"{number.name} in sync {chosen['IMPART_END_AT']} of process {rank}: {code}", flush=True)
        self.assertIn(f"process {rank} of 2 was lost", job.texts()[1])
        return code

    def check(self, base, number, code):
        unbroken = self.train_once(*settings(base), processes=2)
        self.assertEqual(unbroken.column("syncs"), [SYNCS] * base["epochs"])
        for _ in range(KILLS):
            self.assertEqual(self.break_off(base, unbroken, number), code)
            run = self.run_folder("run")
            self.assertNotIn("DONE", run.markers())
            self.succeed("--resume", "run", processes=2)
            self.assertEqual(run.sha(), unbroken.sha())

    def test_who_stands_still_in_a_sync_is_lost_and_the_others_end_with_75(self):
        self.check(BASE, signal.SIGSTOP, 75)

    def test_who_stands_still_while_a_sum_travels(self):
        self.check(DELAYED, signal.SIGSTOP, 75)

    # The others end with 75 here, too, but mpirun with the signal of the one that was killed.
    def test_who_is_killed_in_a_sync(self):
        self.check(BASE, signal.SIGKILL, 128 + signal.SIGKILL)

    def test_who_is_killed_while_a_sum_travels(self):
        self.check(DELAYED, signal.SIGKILL, 128 + signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
