#!/usr/bin/env python3
"""presets/slurm/ with programs that stand for Slurm's: python3 slurm_test.py path/to/impart"""

import os
import pathlib
import shutil
import subprocess
import unittest

from commands import CommandTest

SCRIPTS = sorted((pathlib.Path(__file__).resolve().parents[2] / "presets" / "slurm").glob("*.sbatch"))
# Takes flags for itself, and runs the rest once.
SRUN = '#!/bin/bash\nwhile [[ $1 == -* ]]; do shift; done\nexec "$@"\n'
# Keeps what it was called with, and does as it is told.
IMPART = '#!/bin/bash\nprintf "%s\\n" "$*" >> calls\neval "$BEHAVIOUR"\n'
SCONTROL = '#!/bin/bash\necho "$@" >> requeued\n'


class SlurmTest(CommandTest):
    def setUp(self):
        super().setUp()
        (self.folder / "bin").mkdir()
        for name, text in {"srun": SRUN, "impart": IMPART, "scontrol": SCONTROL}.items():
            (self.folder / "bin" / name).write_text(text)
            (self.folder / "bin" / name).chmod(0o755)

    def batch(self, name, *args, behaviour="exit 0"):
        """Runs a script as a batch job; what impart was called with, and the exit code."""
        script = next(path for path in SCRIPTS if path.stem == name)
        environment = {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "BEHAVIOUR": behaviour,
                       "SLURM_JOB_ID": "17",
                       "SLURM_ARRAY_JOB_ID": "16", "SLURM_ARRAY_TASK_ID": "3",
                       "SLURM_CPUS_PER_TASK": "8", "SLURM_TMPDIR": str(self.folder / "tmp")}
        done = subprocess.run(["bash", script, *args], cwd=self.folder, env=environment, text=True,
                              capture_output=True, check=False)
        calls = self.folder / "calls"
        return calls.read_text().splitlines() if calls.exists() else [], done.returncode

    def requeued(self):
        file = self.folder / "requeued"
        return file.read_text().splitlines() if file.exists() else []

    @unittest.skipUnless(shutil.which("shellcheck"), "no shellcheck")
    def test_scripts_are_sound(self):
        self.assertEqual([path.stem for path in SCRIPTS], ["gpus", "many-nodes", "one-node", "preemption", "study-array"])
        done = subprocess.run(["shellcheck", *SCRIPTS], text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_what_is_given_goes_to_the_run(self):
        calls, code = self.batch("one-node", "a b.yaml", "epochs=3", behaviour="exit 2")
        self.assertEqual((calls, code), (["train a b.yaml epochs=3 threads=8"], 2))

    def test_the_keys_of_scripts_are_right(self):
        for name, given in {"one-node": [], "gpus": [], "many-nodes": ["workers.count=16"]}.items():
            calls, _ = self.batch(name, "quick", *given)
            self.impart_accepts(calls[-1])

    def impart_accepts(self, call):
        done = self.impart(*call.split(), "--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_parts_are_removed_and_the_code_stays(self):
        calls, code = self.batch("many-nodes", "quick", behaviour="mkdir -p tmp/impart-17; exit 74")
        self.assertIn(f"store.path={self.folder}/tmp/impart-17", calls[0])
        self.assertFalse((self.folder / "tmp" / "impart-17").exists())
        self.assertEqual(code, 74)

    def test_a_run_that_was_stopped_is_queued_again_and_goes_on(self):
        stops = "mkdir -p runs/a; touch runs/a/config.yaml runs/a/PREEMPTED; exit 85"
        calls, code = self.batch("preemption", "runs/a", "quick", "epochs=3", behaviour=stops)
        self.assertEqual((calls, code), (["train quick epochs=3 output=runs/a"], 85))
        self.assertEqual(self.requeued(), ["requeue 17"])
        calls, code = self.batch("preemption", "runs/a", "quick", "epochs=3", behaviour="rm runs/a/PREEMPTED")
        self.assertEqual((calls[1], code), ("train --resume runs/a", 0))
        self.assertEqual(len(self.requeued()), 1)

    def test_what_fails_after_a_stop_is_not_queued_again_and_again(self):
        stops = "mkdir -p runs/a; touch runs/a/config.yaml runs/a/PREEMPTED; exit 85"
        self.batch("preemption", "runs/a", "quick", behaviour=stops)
        self.batch("preemption", "runs/a", "quick", behaviour="exit 2")
        self.assertEqual(self.requeued(), ["requeue 17"])

    def test_a_task_of_an_array_that_was_stopped_is_queued_again_and_no_other(self):
        calls, code = self.batch("study-array", "study.yaml", "epochs=3", behaviour="exit 85")
        self.assertEqual((calls, code), (["study study.yaml epochs=3 threads=8 --array"], 85))
        self.assertEqual(self.requeued(), ["requeue 16_3"])
        self.batch("study-array", "study.yaml", behaviour="exit 1")
        self.assertEqual(len(self.requeued()), 1)

    def test_a_lost_node_is_a_reason_to_queue_again_and_a_mistake_is_none(self):
        self.batch("preemption", "runs/a", "quick", behaviour="exit 75")
        self.assertEqual(len(self.requeued()), 1)
        self.batch("preemption", "runs/a", "quick", behaviour="exit 2")
        self.assertEqual(len(self.requeued()), 1)


if __name__ == "__main__":
    unittest.main()
