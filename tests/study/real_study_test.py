"""One small study with the real engine: real_study_test.py path/to/impart

With IMPART_MEASURE_JOBS set, also measures how much faster --jobs 2 is than --jobs 1.
"""

import json
import os
import signal
import time
import unittest

from studies import StudyTest, wait_until

STUDY = """
name: real
config:
  epochs: 3
  data: {train_examples: 200, test_examples: 50}
  model: {name: mlp}
  workers: {count: 2, batch: 10}
  optimizer: {lr: 0.02}
  partition: {warmup: 2, interval: 1}
arms:
  vanilla: {baseline: true, partition.heuristic: random, partition.warmup: 0}
  stripes: {partition.heuristic: stripes}
seeds: [1, 2]
output: study
"""


class RealStudies(StudyTest):
    def test_a_study_stopped_in_the_middle_has_the_results_of_an_unbroken_one(self):
        name = self.write(STUDY)
        out, _ = self.succeed(name, "--jobs", 2, "output=unbroken", engine=None)
        self.assertIn("4 of 4 runs done", out)

        process = self.start(name, "--jobs", 2, engine=None)
        begun = self.study / "runs/vanilla/1/metrics.jsonl"
        self.assertTrue(wait_until(lambda: begun.exists() and begun.stat().st_size > 0, 60))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertIn(process.returncode, (0, 85))
        self.succeed(name, "--jobs", 2, engine=None)
        for run in self.record()["runs"]:
            broken, whole = (
                json.loads((self.folder / study / run["folder"] / "summary.json").read_text())
                for study in ("study", "unbroken"))
            self.assertEqual(broken["weights_sha256"], whole["weights_sha256"], run["folder"])
            self.assertEqual(broken["config_hash"], run["config_hash"])

    def test_a_run_that_diverges_has_failed_and_the_others_go_on(self):
        wild = STUDY.replace("arms:\n", "arms:\n  wild: {optimizer.lr: 1e20}\n")
        name = self.write(wild.replace("[1, 2]", "[1]"))
        self.fail_with(1, "diverged: the training loss is not finite since epoch", name, "--jobs",
                       2, engine=None)
        self.assertTrue((self.study / "runs/stripes/1/DONE").exists())

    @unittest.skipUnless(os.environ.get("IMPART_MEASURE_JOBS"), "needs a quiet machine")
    def test_two_jobs_are_faster_than_one(self):
        name = self.write(STUDY)
        seconds = {}
        for jobs in (1, 2):
            start = time.monotonic()
            self.succeed(name, "--jobs", jobs, f"output=jobs{jobs}", "epochs=10",
                         "data.train_examples=4000", "threads=1", engine=None)
            seconds[jobs] = time.monotonic() - start
        print(f"--jobs 1: {seconds[1]:.1f} s, --jobs 2: {seconds[2]:.1f} s, "
              f"ratio {seconds[1] / seconds[2]:.2f}")
        self.assertGreaterEqual(seconds[1] / seconds[2], 1.6)


if __name__ == "__main__":
    unittest.main()
