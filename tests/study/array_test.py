"""`impart study --array` with an engine that only pretends: python3 array_test.py path/to/impart"""

import os
import signal
import unittest

from studies import SMALL, StudyTest, wait_until


class Arrays(StudyTest):
    def test_a_task_has_one_run_and_all_tasks_are_the_study(self):
        name = self.write()
        for index in range(6):
            out, _ = self.succeed(name, "--array", env={**os.environ, "SLURM_ARRAY_TASK_ID": str(index)})
            self.assertIn(f"run {index}: ", out)
        record = self.record()
        self.assertEqual([call[0] for call in self.calls()], [run["folder"] for run in record["runs"]])
        self.assertEqual(set(self.states().values()), {"done"})
        out, _ = self.succeed(name)
        self.assertIn("6 of 6 runs done", out)
        self.assertEqual(len(self.calls()), 6)

    def test_fewer_tasks_deal_the_runs(self):
        name = self.write()
        self.succeed(name, "--array=1/4")
        self.assertEqual([call[0] for call in self.calls()], ["runs/stripes/5", "runs/blocks/6"])

    def test_tasks_side_by_side_do_not_disturb_each_other(self):
        self.behave({"*": {"epoch_seconds": 0.1}})
        name = self.write()
        tasks = [self.start(name, f"--array={i}") for i in range(6)]
        for task in tasks:
            out, err = task.communicate(timeout=60)
            self.assertEqual(task.returncode, 0, err + out)
        self.assertEqual(sorted(call[1] for call in self.calls()), 6 * ["new"])
        self.assertEqual(set(self.states().values()), {"done"})

    def test_a_run_belongs_to_one_task_and_the_study_to_its_tasks(self):
        self.behave({"*": {"epoch_seconds": 60}})
        name = self.write()
        first = self.start(name, "--array=2")
        self.assertTrue(wait_until(self.calls))
        self.fail_with(2, "study/runs/blocks/5: the run is being run by process", name, "--array=2")
        self.fail_with(2, "study: the study is being run by process", name)
        first.send_signal(signal.SIGUSR1)
        out, _ = first.communicate(timeout=30)
        self.assertEqual(first.returncode, 85)
        self.assertIn("the same command goes on where it was", out)
        self.behave({})
        self.succeed(name, "--array=2")
        self.assertEqual([call[:2] for call in self.calls()], [["runs/blocks/5", "new"], ["runs/blocks/5", "new"]])

    def test_a_task_waits_for_a_killed_one(self):
        self.behave({"*": {"epoch_seconds": 0.5}})
        name = self.write()
        first = self.start(name, "--array=0")
        self.assertTrue(wait_until(lambda: list(self.study.glob("runs/vanilla/5/metrics.jsonl"))))
        first.kill()
        first.communicate(timeout=30)  # its lock is free once it is gone, which takes a while on a busy machine
        self.succeed(name, "--array=0")
        self.assertEqual([call[1] for call in self.calls()], ["new", "again"])

    def test_what_is_left_to_do_is_a_range_for_sbatch(self):
        name = self.write()
        out, _ = self.succeed(name, "--dry-run")
        self.assertIn("as a job array: --array=0-5\n", out)
        self.assertEqual(self.succeed(name, "--array", "--dry-run")[0], "0-5\n")
        self.assertFalse(self.study.exists())
        self.behave({"blocks": {"fail": "no luck"}})
        self.succeed(name, "--array=1")
        code, out, _ = self.run_study(name, "--array=2")
        self.assertEqual(code, 1)
        self.assertIn("its log: study/runs/blocks/5/log.txt", out)
        self.assertEqual(self.succeed(name, "--array", "--dry-run")[0], "0,3-5\n")
        self.assertEqual(self.succeed(name, "--array", "--dry-run", "--retry")[0], "0,2-5\n")
        self.behave({})
        self.succeed(name, "--retry")
        out, err = self.succeed(name, "--array", "--dry-run")
        self.assertEqual((out, err), ("", "nothing is left to do\n"))

    def test_what_cannot_be_an_array_is_refused(self):
        name = self.write()
        environment = {key: value for key, value in os.environ.items() if key != "SLURM_ARRAY_TASK_ID"}
        self.fail_with(2, "SLURM_ARRAY_TASK_ID is not set; submit it with sbatch --array=RANGE", name, "--array",
                       env=environment)
        self.fail_with(2, "there is no run 6: the study has 6 runs, 0 to 5", name, "--array=6")
        self.fail_with(2, "--array=x: give the index of a run", name, "--array=x")
        self.fail_with(2, "--array takes its index with '=': --array=3/10", name, "--array", "3/10")
        self.fail_with(2, "--results is written by one process", name, "--array=0", "--results", "r.csv")
        self.fail_with(2, "--launcher slurm submits jobs itself", name, "--array=0", "--launcher", "slurm")
        grows = self.write(SMALL.replace("[5, 6]", "{until: 0.1, at_most: 20}"), "grows.yaml")
        self.fail_with(2, "--launcher slurm submits them as they become known", grows, "--array=0")
        self.assertFalse(self.study.exists())


if __name__ == "__main__":
    unittest.main()
