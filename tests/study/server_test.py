"""Runs of a study that share processes have the results of runs on their own:

    python3 server_test.py path/to/impart

With IMPART_MEASURE_JOBS set, also measures what that saves. IMPART_STUDY_KILLS (2) says how often a
study of four times as many runs is killed.
"""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import time
import unittest

from studies import IMPART, StudyTest, wait_until

MIXED = """
name: mixed
config:
  epochs: 2
  threads: 2
  data: {train_examples: 60, test_examples: 20}
  workers: {count: 2, batch: 10}
  optimizer: {lr: 0.02}
  importance: {notion: loss-variance, record: [margin], ignore: 0}
  partition: {warmup: 1, interval: 1}
arms:
  mlp: {baseline: true, model.name: mlp}
  exact: {model.name: mlp, workers.reduce: exact}
  local: {model.name: small-cnn, workers.sync: epoch, data.train_examples: 40, data.seed: 9}
seeds: [1, 2]
output: study
"""
LONG = (MIXED.replace("mlp: {", "mlp: {epochs: 40, ").replace("seeds: [1, 2]", "seeds: [1]")
        .replace("threads: 2", "threads: 1"))


def results_of(folder):
    """What a run leaves behind, but for times."""
    def lines(name):
        records = [json.loads(line) for line in (folder / name).read_text().splitlines()]
        return [without_times(record) for record in records]
    summary = json.loads((folder / "summary.json").read_text())
    return {"summary": without_times(summary), "metrics": lines("metrics.jsonl"),
            "ledger": [(line["workers"], line["skipped"]) for line in lines("ledger.jsonl")],
            "importance": (folder / "importance.csv").read_bytes(),
            "deciding": (folder / "importance.npy").read_bytes()}


def without_times(record):
    return {name: value for name, value in record.items()
            if not name.startswith("seconds") and name not in ("crc32", "load_average")}


def writer_of(folder):
    """The process that has written a run."""
    lock = folder / "run.lock"
    text = lock.read_text().split() if lock.exists() else []
    return int(text[-1]) if text and text[-1].isdigit() else 0


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Shared(StudyTest):
    @classmethod
    def setUpClass(cls):
        test = cls("setUp")
        test.setUp()
        cls.home = test
        name = test.write(MIXED)
        _, cls.said = test.succeed(name, "--jobs", 1, "output=served", engine=None)
        test.succeed(name, "--jobs", 2, "--processes", "output=apart", engine=None)
        cls.runs = sorted(path.parent.relative_to(test.folder / "served")
                          for path in (test.folder / "served").glob("runs/**/DONE"))

    @classmethod
    def tearDownClass(cls):
        cls.home.doCleanups()

    def test_they_have_the_results_of_processes_of_their_own(self):
        self.assertEqual(len(self.runs), 6)
        for run in self.runs:
            self.assertEqual(results_of(self.home.folder / "served" / run),
                             results_of(self.home.folder / "apart" / run), run)

    def test_they_have_the_results_of_impart_train(self):
        for run in self.runs[::4]:
            alone = self.folder / "alone"
            subprocess.run([IMPART, "train", self.home.folder / "served" / run / "config.yaml",
                            f"output={alone}", "--overwrite"],
                           check=True, capture_output=True)
            self.assertEqual(results_of(self.home.folder / "served" / run), results_of(alone), run)

    def test_one_process_has_them_all_and_logs_are_kept_apart(self):
        self.assertEqual(len({writer_of(self.home.folder / "served" / run) for run in self.runs}), 1)
        self.assertEqual(len({writer_of(self.home.folder / "apart" / run) for run in self.runs}), 6)
        for run in self.runs:
            log, apart = ((self.home.folder / study / run / "log.txt").read_text()
                          for study in ("served", "apart"))
            self.assertIn("epoch   2/2", log)
            self.assertEqual(len(log.splitlines()), len(apart.splitlines()), log + apart)

    def test_a_server_answers_every_order(self):
        folders = [self.folder / name for name in ("first", "second", "empty")]
        for folder, run in zip(folders, [*self.runs[:2], None]):
            folder.mkdir()
            if run:
                shutil.copy(self.home.folder / "served" / run / "config.yaml", folder)
        orders = [json.dumps({"run": i, "folder": str(folder), "threads": 2})
                  for i, folder in enumerate(folders)]
        done = subprocess.run([IMPART, "serve", "--streams", "2"], input="\n".join(orders) + "\n",
                              text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertIn("cards", answers[0])
        self.assertEqual({answer["run"] for answer in answers if "started" in answer}, {0, 1, 2})
        self.assertEqual({answer["run"]: answer["code"] for answer in answers if "code" in answer},
                         {0: 0, 1: 0, 2: 65})
        for folder, run in zip(folders, self.runs[:2]):
            self.assertEqual(results_of(folder), results_of(self.home.folder / "served" / run))
        self.assertIn("it has no config.yaml", (folders[2] / "log.txt").read_text())

    def test_a_server_refuses_what_is_no_order(self):
        done = subprocess.run([IMPART, "serve"], input="go\n", text=True, capture_output=True,
                              check=False)
        self.assertEqual(done.returncode, 65)
        self.assertIn("'go' is no order", done.stderr)

    def test_the_servers_have_nothing_to_say(self):
        self.assertFalse((self.home.folder / "served" / "servers.log").exists())
        self.assertNotIn("processes of their own", self.said)


class Broken(StudyTest):
    def count_done(self):
        return len(list(self.study.glob("runs/**/DONE")))

    def start_long(self, *args):
        """A study whose first run is under way, and the process that has it."""
        process = self.start(self.write(LONG), "--jobs", 1, *args, engine=None)
        first = self.study / "runs/mlp/1"
        self.assertTrue(wait_until(lambda: (first / "metrics.jsonl").exists(), 60))
        return process, writer_of(first)

    def test_if_a_server_dies_its_runs_start_again_as_processes(self):
        process, server = self.start_long()
        os.kill(server, signal.SIGKILL)
        _, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(err.count("processes of their own"), 1, err)
        self.assertEqual(set(self.states().values()), {"done"})
        shutil.move(self.study, self.folder / "broken")
        self.succeed("study.yaml", "--jobs", 2, engine=None)
        for run in self.record()["runs"]:
            self.assertEqual(results_of(self.folder / "broken" / run["folder"]),
                             results_of(self.study / run["folder"]), run["folder"])

    def test_a_server_that_is_told_to_stop_stops_its_run_and_the_study_goes_on(self):
        process, server = self.start_long()
        os.kill(server, signal.SIGUSR1)
        _, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 85, err)
        states = self.states()
        self.assertEqual(states.pop("runs/mlp/1"), "stopped")
        self.assertEqual(set(states.values()), {"done"})

    def test_a_study_that_is_killed_leaves_no_server_behind(self):
        process, server = self.start_long()
        process.kill()
        process.communicate()
        self.assertTrue(wait_until(lambda: not os.path.exists(f"/proc/{server}"), 30))
        self.succeed("study.yaml", "--jobs", 2, engine=None)
        self.assertEqual(set(self.states().values()), {"done"})

    def test_a_study_that_is_killed_again_and_again_has_the_results_of_the_unbroken_one(self):
        kills = int(os.environ.get("IMPART_STUDY_KILLS", "2"))
        seeds = list(range(1, (4 * kills + 2) // 3 + 1))  # of three arms
        name = self.write(MIXED.replace("seeds: [1, 2]", f"seeds: {seeds}"))
        self.succeed(name, "--jobs", 2, "output=unbroken", engine=None)
        draw, done = random.Random(1), 0
        for _ in range(kills):
            process = self.start(name, "--jobs", 2, engine=None)
            more = done + draw.randrange(4)  # finished runs, and then some moment
            wait_until(lambda: process.poll() is not None or self.count_done() >= more, 60)
            time.sleep(draw.uniform(0, 0.6))
            process.kill()
            process.communicate()
            done = self.count_done()
        print(f"{done} of {3 * len(seeds)} runs were done after {kills} kills")
        self.assertLess(done, 3 * len(seeds), "nothing was left to do after the last kill")
        self.succeed(name, "--jobs", 2, engine=None)
        self.assertEqual(len(self.record()["runs"]), 3 * len(seeds))
        for run in self.record()["runs"]:
            self.assertEqual(results_of(self.study / run["folder"]),
                             results_of(self.folder / "unbroken" / run["folder"]), run["folder"])

    def test_a_run_that_fails_costs_only_itself(self):
        bad = MIXED.replace("arms:\n", "arms:\n  bad: {data.name: cifar10, data.root: /nowhere}\n"
                                       "  wild: {model.name: mlp, optimizer.lr: 1e20}\n")
        err = self.fail_with(1, "/nowhere", self.write(bad.replace("[1, 2]", "[1]")), "--jobs", 1,
                             engine=None)
        self.assertNotIn("processes of their own", err)
        states = self.states()
        self.assertEqual([run for run, state in states.items() if state == "failed"],
                         ["runs/bad/1", "runs/wild/1"])
        self.assertEqual(list(states.values()).count("done"), 3)

    @unittest.skipUnless(os.environ.get("IMPART_MEASURE_JOBS"), "needs a quiet machine")
    def test_twenty_tiny_runs_take_less_time(self):
        tiny = MIXED[:MIXED.index("arms:")] + """arms: {mlp: {baseline: true, model.name: mlp}}
seeds: {count: 20, master: 1}
output: study
"""
        took = {}
        for mode in ([], ["--processes"]) * 2:
            start, cpu = time.monotonic(), cpu_of_children()
            self.succeed(self.write(tiny), "--jobs", 1, *mode, engine=None)
            took.setdefault(" ".join(mode) or "served", []).append(
                (time.monotonic() - start, cpu_of_children() - cpu))
            shutil.rmtree(self.study)
        for mode, times in took.items():
            print(mode, [f"{seconds / 20:.2f} s, {cpu / 20:.2f} s of CPU a run"
                         for seconds, cpu in times])
        self.assertLess(min(took["served"]), min(took["--processes"]))


if __name__ == "__main__":
    unittest.main()
