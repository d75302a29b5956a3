"""Runs and studies under a real Slurm: python3 slurm_test.py path/to/impart

IMPART_CLUSTER=all stops a run ten times more, and once by --signal, which Slurm sends within a minute.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "support"))

from slurm_cluster import SlurmCluster  # noqa: E402

IMPART = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else shutil.which("impart")
SCRIPTS = TESTS.parent / "presets" / "slurm"
FAKE_ENGINE = TESTS / "study" / "fake_engine.py"
ALL = os.environ.get("IMPART_CLUSTER") == "all"

# Sums in a fixed order; parts in memory, with examples that change workers before every epoch; checkpoints only when
# it is told to stop.
RUN = ["quick", "threads=1", "data.train_examples=320", "data.test_examples=50", "model.name=mlp", "workers.batch=8",
       "workers.reduce=exact", "store.kind=partitioned", "importance.ignore=0", "partition.warmup=1",
       "partition.interval=1", "checkpoint.every=100"]
# Parts of very different sizes, in folders; some examples change workers between epochs.
UNEVEN = ["workers.count=4", "workers.uneven=weight", "partition.start=dirichlet", "partition.sizes=free", "partition.alpha=0.3",
          "partition.warmup=0", "partition.interval=0", "partition.heuristic=random", "exchange.strategy=partial",
          "exchange.fraction=0.3", "optimizer.lr=0.02"]
STUDY = """
name: real
config:
  epochs: 80
  data: {train_examples: 200, test_examples: 50}
  model: {name: mlp}
  workers: {count: 2, batch: 10}
  partition: {warmup: 1, interval: 2}
  importance: {ignore: 0}
  checkpoint: {every: 100}
  device: cpu
arms:
  vanilla: {baseline: true, partition.heuristic: random}
  stripes: {partition.heuristic: stripes}
seeds: [1]
output: study
"""
PRETENDED = """
name: pretended
config: {epochs: 3, importance.ignore: 0, partition.warmup: 1, partition.interval: 1}
arms:
  vanilla: {baseline: true, partition.heuristic: random}
  stripes: {partition.heuristic: stripes}
  blocks: {partition.heuristic: blocks}
seeds: [5, 6]
output: study
"""

cluster = None


def setUpModule():
    global cluster
    cluster = SlurmCluster(nodes=2, cpus=4)
    cluster.environment["PATH"] = f"{os.path.dirname(IMPART)}:{cluster.environment['PATH']}"
    if cluster.reason:
        cluster.remove()
        raise unittest.SkipTest(cluster.reason)


def tearDownModule():
    if cluster.reason is None:
        cluster.remove()


class SlurmTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.addCleanup(self.cancel)
        self.study = self.folder / "study"

    def cancel(self):
        cluster.run("scancel", "--me")
        cluster.wait_for(cluster.is_empty, 10)

    def run_here(self, *command, code=0):
        done = cluster.run(*command, cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def impart(self, *arguments, code=0):
        return self.run_here(IMPART, *arguments, code=code)

    def wait_for(self, holds, seconds=30):
        self.assertTrue(cluster.wait_for(holds, seconds), f"{cluster.jobs()}\n{self.logs()}")

    def logs(self):
        """Their ends."""
        return "\n".join(f"{path}:\n{path.read_text()[-1000:]}" for path in self.folder.rglob("*.txt"))

    def summary(self, folder):
        return json.loads((self.folder / folder / "summary.json").read_text())

    def epochs(self, folder):
        path = self.folder / folder / "metrics.jsonl"
        return path.read_text().count("\n") if path.exists() else 0


class Runs(SlurmTest):
    def test_tasks_on_two_nodes_train_what_one_process_does(self):
        self.run_here("srun", "--mpi=pmix", "--nodes=2", "--ntasks=2", IMPART, "train", *RUN, "epochs=3", "output=apart")
        self.impart("train", *RUN, "epochs=3", "output=together")
        apart, together = self.summary("apart"), self.summary("together")
        self.assertEqual((apart["processes"], together["processes"]), (2, 1))
        self.assertGreater(apart["examples_moved"], 0)
        self.assertEqual(apart["weights_sha256"], together["weights_sha256"])

    def test_srun_without_mpi_is_refused(self):
        done = self.run_here("srun", "--mpi=none", "--ntasks=2", IMPART, "train", *RUN, "output=none", code=2)
        self.assertIn("use srun --mpi=pmix", done.stderr)


class Stops(SlurmTest):
    """What is told to stop is queued again, and ends as if nothing had been."""

    def test_a_run_and_a_task_of_an_array(self):  # in one test: Slurm lets both wait for 6 s
        (self.folder / "study.yaml").write_text(STUDY)
        self.impart("train", *RUN, "epochs=24", "output=unbroken")
        self.impart("study", "study.yaml", "output=unbroken-study", "--jobs", 2)
        array = self.submit_array()
        self.stop_run("run", after=1)
        self.wait_for(lambda: self.epochs("study/runs/stripes/1") >= 1)
        cluster.run("scancel", "--signal=USR1", f"{array}_1")
        self.assert_ends_as_unbroken("run")
        self.assert_study_is_as_unbroken()

    @unittest.skipUnless(ALL, "IMPART_CLUSTER=all")
    def test_a_run_with_parts_of_different_sizes(self):
        self.impart("train", *RUN, "epochs=24", *UNEVEN, "store.path=whole", "output=unbroken")
        self.stop_run("run", *UNEVEN, "store.path=parts", after=2)
        self.assert_ends_as_unbroken("run")
        self.assertEqual((self.summary("run")["processes"], self.summary("unbroken")["processes"]), (2, 1))
        spread = [placement["size_spread"] for placement in self.placements("run")]
        self.assertGreater(len(spread), 20)
        self.assertGreater(min(spread), 1.2)
        self.assertGreater(self.summary("run")["examples_moved"], 0)

    @unittest.skipUnless(ALL, "IMPART_CLUSTER=all")
    def test_a_run_ten_times(self):
        self.impart("train", *RUN, "epochs=24", "output=unbroken")
        for i in range(10):
            self.stop_run(f"run{i}", after=1 + i)
            self.assert_ends_as_unbroken(f"run{i}")

    @unittest.skipUnless(ALL, "IMPART_CLUSTER=all: Slurm looks at the time every 30 s")
    def test_the_signal_before_the_time_limit_is_enough(self):
        self.impart("train", *RUN, "epochs=200", "checkpoint.every=1", "output=unbroken")
        self.submit_run("run", "epochs=200", "checkpoint.every=1", options=["--time=1", "--signal=USR1@45"])
        self.assert_ends_as_unbroken("run")

    def submit_run(self, folder, *more, options=()):
        return cluster.submit("--ntasks=2", "--nodes=2", "--cpus-per-task=1", "--time=10", *options,
                              f"--output={self.folder}/{folder}.txt", SCRIPTS / "preemption.sbatch", folder, *RUN,
                              "epochs=24", *more, cwd=self.folder)

    def stop_run(self, folder, *more, after):
        job = self.submit_run(folder, *more)
        self.wait_for(lambda: self.epochs(folder) >= after)
        cluster.run("scancel", "--signal=USR1", job)

    def assert_ends_as_unbroken(self, folder):
        self.wait_for(cluster.is_empty, 400)
        log = (self.folder / f"{folder}.txt").read_text()
        self.assertTrue((self.folder / folder / "DONE").exists(), log)
        self.assertIn("stopped and checkpointed", log)
        self.assertEqual(self.summary(folder)["weights_sha256"], self.summary("unbroken")["weights_sha256"])

    def placements(self, folder):
        lines = (self.folder / folder / "metrics.jsonl").read_text().splitlines()
        return [line["placement"] for line in map(json.loads, lines) if "placement" in line]

    def submit_array(self):
        indices = self.impart("study", "study.yaml", "--array", "--dry-run").stdout.strip()
        self.assertEqual(indices, "0-1")
        return cluster.submit(f"--array={indices}%2", "--cpus-per-task=1", f"--output={self.folder}/%a.txt",
                              SCRIPTS / "study-array.sbatch", "study.yaml", cwd=self.folder)

    def assert_study_is_as_unbroken(self):
        self.assertIn("stopped after", (self.folder / "1.txt").read_text())
        status = json.loads(self.impart("study", "--status", "study", "--json").stdout)
        self.assertEqual([run["state"] for run in status["runs"]], ["done", "done"], self.logs())
        for run in status["runs"]:
            unbroken, broken = (self.summary(f"{study}/{run['folder']}") for study in ("unbroken-study", "study"))
            self.assertEqual(unbroken["weights_sha256"], broken["weights_sha256"], run["folder"])
        self.assertEqual(self.impart("study", "study.yaml", "--array", "--dry-run").stdout, "")
        self.impart("report", "study")


class Tasks(SlurmTest):
    def test_a_job_of_a_study_may_have_several_tasks(self):
        (self.folder / "study.yaml").write_text(STUDY)
        short = ["study", "study.yaml", "epochs=4", "workers.reduce=exact"]
        self.impart(*short, "output=here", "--jobs", 2)
        self.impart(*short, "--launcher", "slurm", "--sbatch", "--ntasks=2 --nodes=2 --cpus-per-task=1")
        for folder in ("runs/vanilla/1", "runs/stripes/1"):
            here, apart = self.summary(f"here/{folder}"), self.summary(f"study/{folder}")
            self.assertEqual((here["processes"], apart["processes"]), (1, 2))
            self.assertEqual(here["weights_sha256"], apart["weights_sha256"])


class Launched(SlurmTest):
    """With an engine that only pretends, so that runs take as long as they are told to."""

    def setUp(self):
        super().setUp()
        (self.folder / "study.yaml").write_text(PRETENDED)
        self.behave({})

    def behave(self, behaviour):
        (self.folder / "behaviour.json").write_text(json.dumps(behaviour))

    COMMAND = [IMPART, "study", "study.yaml", "--launcher", "slurm", "--engine", FAKE_ENGINE, "--sbatch",
               "--ntasks=1 --time=10"]

    def start(self, *more):
        process = subprocess.Popen([*self.COMMAND, *more], cwd=self.folder, env=cluster.environment, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: (process.poll() is None and process.kill(), process.communicate()))
        return process

    def calls(self):
        path = self.study / "calls.txt"
        return path.read_text().splitlines() if path.exists() else []

    def test_a_study_that_is_killed_finds_its_jobs_again(self):
        self.behave({"*": {"epoch_seconds": 0.5}})
        first = self.start("--jobs", "4")
        self.wait_for(lambda: len(cluster.jobs()) == 4)
        first.kill()
        first.communicate()
        submitted = cluster.jobs()
        done = self.run_here(*self.COMMAND, "--jobs", "4")
        self.assertRegex(done.stderr, "[34] runs are under way since an earlier start")
        self.assertEqual(len(self.calls()), 6, "a run was submitted twice, or never")
        self.assertTrue(all("new" in call for call in self.calls()))
        self.assertEqual(len(submitted), 4)
        self.assertIn("6 of 6 runs done", done.stdout)

    def test_ctrl_c_leaves_the_jobs_and_says_which(self):
        self.behave({"*": {"epoch_seconds": 1}})
        process = self.start("--jobs", "2")
        self.wait_for(lambda: len(cluster.jobs()) == 2)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 85, err + out)
        ids = sorted(job for job, _ in cluster.jobs().values())
        self.assertIn(f"2 jobs stay queued or running, and the same command follows them again", err)
        self.assertIn(f"scancel {' '.join(ids)}", err)
        cluster.run("scancel", *ids)
        self.wait_for(cluster.is_empty)
        self.behave({})
        self.run_here(*self.COMMAND)
        self.assertEqual(len(list(self.study.glob("runs/*/*/DONE"))), 6)

    def test_a_run_that_fails_is_named_with_its_log_and_one_that_is_cancelled_stays_open(self):
        self.behave({"blocks": {"fail": "no luck"}, "stripes": {"epoch_seconds": 600}})
        process = self.start()
        self.wait_for(lambda: len(list(self.study.glob("runs/*/*/FAILED"))) == 2)
        for name, (job, _) in cluster.jobs().items():
            if name.startswith("stripes/"):
                cluster.run("scancel", job)
        out, err = process.communicate(timeout=40)
        self.assertEqual(process.returncode, 85, err + out)
        self.assertIn("blocks seed 5: failed: no luck; log: study/runs/blocks/5/log.txt", out)
        self.assertIn("no luck", (self.study / "runs/blocks/5/log.txt").read_text())
        self.assertIn("2 of 6 runs done, 2 failed", out)

    def test_what_sbatch_refuses_is_said(self):
        done = self.run_here(*self.COMMAND[:-1], "--partition=nowhere", code=74)
        self.assertIn("sbatch: ", done.stderr)
        self.assertIn("nvalid partition", done.stderr)


if __name__ == "__main__":
    unittest.main()
