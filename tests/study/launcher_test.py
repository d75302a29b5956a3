"""`impart study --launcher slurm` with programs that stand for Slurm's: python3 launcher_test.py path/to/impart

A job that is submitted runs at once, as a process; tests/cluster/slurm_test.py has the real Slurm.
"""

import os
import shutil
import subprocess
import unittest

from studies import FAKE_ENGINE, StudyTest, wait_until

# Keeps its arguments, and a file for each job with its process and its name.
SBATCH = r"""#!/bin/bash
echo "$*" >> "$FAKE/sbatch.txt"
echo "$SLURM_NTASKS $SLURM_CONF" > "$FAKE/job.txt"
if [ -n "$(cat "$FAKE/refuse" 2> /dev/null)" ]; then cat "$FAKE/refuse" >&2; exit 1; fi
if [ -e "$FAKE/limit" ] && [ "$(squeue | wc -l)" -ge 2 ]; then echo "too many jobs" >&2; exit 1; fi
for argument in "$@"; do
  case $argument in
    --job-name=*) name=${argument#*=} ;;
    --output=*) output=${argument#*=} ;;
  esac
done
id=$(( $(ls "$FAKE/jobs" | wc -l) + 1 ))
setsid bash "${@: -2}" >> "$output" 2>&1 < /dev/null &
echo "$! $name" > "$FAKE/jobs/$id"
echo "$id"
"""
SQUEUE = r"""#!/bin/bash
if [ -e "$FAKE/silent" ]; then echo "no contact with the controller" >&2; exit 1; fi
for job in "$FAKE"/jobs/*; do
  [ -s "$job" ] && read -r pid name < "$job" || continue
  if kill -0 "$pid" 2> /dev/null; then echo "${job##*/}|RUNNING|None|$name"; fi
done
"""
SCONTROL = '#!/bin/bash\necho "JobId=$4 JobState=FAILED ExitCode=3:0"\n'
SRUN = '#!/bin/bash\nwhile [[ $1 == -* ]]; do shift; done\nexec "$@"\n'


class Launchers(StudyTest):
    def setUp(self):
        super().setUp()
        self.fake = self.folder / "slurm"
        (self.fake / "jobs").mkdir(parents=True)
        for name, text in {"sbatch": SBATCH, "squeue": SQUEUE, "scontrol": SCONTROL, "srun": SRUN}.items():
            (self.fake / name).write_text(text)
            (self.fake / name).chmod(0o755)
        self.env = {**os.environ, "FAKE": str(self.fake), "PATH": f"{self.fake}:{os.environ['PATH']}"}

    def submissions(self):
        path = self.fake / "sbatch.txt"
        return path.read_text().splitlines() if path.exists() else []

    def test_every_run_is_a_job_with_the_options_it_is_given(self):
        self.succeed(self.write(), "--launcher", "slurm", "--sbatch", "--partition=x --comment='two words'",
                     env=self.env)
        self.assertEqual(len(self.results()), 6)
        self.assertEqual(len(self.submissions()), 6)
        first = self.submissions()[0]
        self.assertTrue(first.startswith("--partition=x --comment=two words --parsable --job-name=vanilla/5-"), first)
        self.assertTrue(first.endswith(f"job.sbatch {self.study}/runs/vanilla/5"), first)
        self.assertFalse((self.study / "slurm.log").exists())

    def test_a_study_that_is_a_job_itself_does_not_hand_that_on(self):
        self.succeed(self.write(), "--launcher", "slurm", env={**self.env, "SLURM_NTASKS": "4", "SLURM_CONF": "mine"})
        self.assertEqual((self.fake / "job.txt").read_text(), " mine\n")

    @unittest.skipUnless(shutil.which("shellcheck"), "no shellcheck")
    def test_the_script_is_sound_wherever_the_engine_lies(self):
        engine = self.folder / "it's an engine"
        engine.symlink_to(FAKE_ENGINE)
        self.succeed(self.write(), "--launcher", "slurm", engine=engine, env=self.env)
        done = subprocess.run(["shellcheck", self.study / "job.sbatch"], text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_script_of_the_users_own_gets_the_run_directory(self):
        script = self.folder / "own.sbatch"
        script.write_text(f'echo mine\nexec "{FAKE_ENGINE}" train --resume "$1" threads=1\n')
        self.succeed(self.write(), "--launcher", "slurm", "--job-script", script, env=self.env)
        self.assertEqual((self.study / "runs/stripes/6/log.txt").read_text(), "mine\n")

    def test_so_many_jobs_are_there_at_a_time_as_it_is_told(self):
        self.behave({"*": {"epoch_seconds": 60}})
        process = self.start(self.write(), "--launcher", "slurm", "--jobs", 2, env=self.env)
        self.assertTrue(wait_until(lambda: len(self.calls()) == 2))
        process.kill()
        process.communicate()
        self.assertEqual(len(self.submissions()), 2)
        self.kill_jobs()

    def kill_jobs(self):
        for job in (self.fake / "jobs").iterdir():
            try:
                os.killpg(int(job.read_text().split()[0]), 9)
            except ProcessLookupError:
                pass

    def test_a_job_that_leaves_no_word_has_failed_with_its_last_one(self):
        self.behave({"blocks": {"exit": 3}})
        _, out, err = self.run_study(self.write(), "--launcher", "slurm", env=self.env)
        self.assertRegex(err, r"blocks seed 5: failed: job \d+ ended: FAILED, exit code 3: a last")
        self.assertIn("log: study/runs/blocks/6/log.txt", out)

    def test_what_sbatch_refuses_is_said(self):
        (self.fake / "refuse").write_text("sbatch: error: no such partition\n")
        name = self.write()
        self.fail_with(74, "sbatch: sbatch: error: no such partition", name, "--launcher", "slurm", env=self.env)

    def test_a_limit_of_jobs_is_waited_for(self):
        self.behave({"*": {"epoch_seconds": 0.2}})
        (self.fake / "limit").touch()
        out, err = self.succeed(self.write(), "--launcher", "slurm", env=self.env)
        self.assertIn("no further job now, with 2 there: sbatch: too many jobs", err)
        self.assertIn("6 of 6 runs done", out)

    def test_a_slurm_that_is_silent_for_a_while_is_asked_again(self):
        self.behave({"*": {"epoch_seconds": 0.5}})
        process = self.start(self.write(), "--launcher", "slurm", env=self.env)
        self.assertTrue(wait_until(lambda: len(self.calls()) == 6))
        (self.fake / "silent").write_text("")
        self.assertTrue(wait_until(lambda: (self.study / "slurm.log").exists()
                                   and "no contact" in (self.study / "slurm.log").read_text()))
        (self.fake / "silent").unlink()
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err + out)
        self.assertEqual(err.count("Slurm does not answer, asking on: squeue: no contact"), 1)

    def test_a_slurm_that_never_answers_is_said(self):
        (self.fake / "silent").write_text("")
        self.fail_with(74, "Slurm does not answer: squeue: no contact with the controller", self.write(),
                       "--launcher", "slurm", env=self.env)

    def test_without_slurm_it_is_said_what_is_missing(self):
        name = self.write()
        self.fail_with(2, "needs Slurm's sbatch, which is not in PATH", name, "--launcher", "slurm",
                       env={**os.environ, "PATH": str(self.folder)})
        self.fail_with(2, "did you mean 'slurm'", name, "--launcher", "slurn")
        self.fail_with(2, "go with --launcher slurm", name, "--sbatch", "--time=1")
        self.fail_with(2, "--sbatch: a ' is not closed", name, "--launcher", "slurm", "--sbatch", "--comment='x")
        self.fail_with(2, "there is no file nothing.sbatch", name, "--launcher", "slurm", "--job-script",
                       "nothing.sbatch")
        self.fail_with(2, "say how many jobs", name, "--launcher", "slurm", "--jobs", "auto")


if __name__ == "__main__":
    unittest.main()
