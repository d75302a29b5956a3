"""What becomes of a job when one of its processes fails, with real mpirun children.

    failure_test.py PATH_OF_failing_job [unittest options]

Each job must end within 5 s of the failure, leave no process behind, say on stderr who failed and
why, and give the exit codes that impart/comm/job.h promises. Moments and ranks are drawn from
IMPART_TEST_SEED, or from a fixed seed.
"""

import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = sys.argv.pop(1) if __name__ == "__main__" else os.environ["FAILING_JOB"]
PROCESSES = 4
LIMIT = 5.0
ENVIRONMENT = dict(
    os.environ,
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    OMPI_MCA_rmaps_base_oversubscribe="1",
)
REASON = "part-3.bin: offset 17: a broken record"
DRAW = random.Random(int(os.environ.get("IMPART_TEST_SEED", "1")))


def is_running(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_until(holds, seconds):
    limit = time.time() + seconds
    while not holds() and time.time() < limit:
        time.sleep(0.01)
    return holds()


class Job:
    """One mpirun with its processes; `ended` is how long after the failure the last was gone."""

    def __init__(self, what, rank, milliseconds=0, timeout=300, mpirun=("mpirun",)):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-failure-"))
        self.errors = open(self.folder / "stderr", "w+")
        command = [*mpirun, "-n", str(PROCESSES), PROGRAM]
        command += [str(self.folder), what, str(rank), str(milliseconds), str(int(1000 * timeout))]
        self.mpirun = subprocess.Popen(
            command, env=ENVIRONMENT, stdout=self.errors, stderr=self.errors, start_new_session=True
        )
        wait_until(lambda: len(self.numbers("pid")) == PROCESSES, 20)
        self.pids = self.numbers("pid")

    def numbers(self, name):
        found = {}
        for path in self.folder.glob(f"{name}.*"):
            text = path.read_text()
            if text:
                found[int(path.suffix[1:])] = int(text)
        return found

    def finish(self, failed_at=None):
        try:
            self.code = self.mpirun.wait(30)
        except subprocess.TimeoutExpired:
            self.code = None
        if failed_at is None:
            moments = [path.stat().st_mtime for path in self.folder.glob("failing.*")]
            failed_at = min(moments, default=time.time())
        wait_until(lambda: not self.orphans(), LIMIT)
        self.ended = time.time() - failed_at
        self.left = self.orphans()
        self.codes = self.numbers("code")
        self.errors.seek(0)
        self.stderr = self.errors.read()

    def orphans(self):
        return [pid for pid in self.pids.values() if is_running(pid)]

    def clean_up(self):
        for pid in self.orphans():
            os.kill(pid, signal.SIGKILL)
        try:
            self.mpirun.wait(5)  # it removes what the job has in /dev/shm
        except subprocess.TimeoutExpired:
            self.mpirun.kill()
            self.mpirun.wait()
        self.errors.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def listeners(pid):
    """Addresses at which a process waits for connections, as /proc/net/tcp writes them."""
    sockets = set()
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        found = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(entry))
        if found:
            sockets.add(found[1])
    rows = [row.split() for name in ["tcp", "tcp6"]
            for row in pathlib.Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]]
    return {row[1] for row in rows if row[3] == "0A" and row[9] in sockets}


@unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
class NetworkTest(unittest.TestCase):
    def test_processes_of_one_machine_listen_to_nobody_else(self):
        job = Job("nothing", 0)
        self.addCleanup(job.clean_up)
        self.assertEqual(len(job.pids), PROCESSES, "the job did not start")
        for pid in job.pids.values():
            self.assertEqual([at for at in listeners(pid) if not at.startswith("0100007F")], [])


@unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
class FailureTest(unittest.TestCase):
    def start(self, what, rank, milliseconds=0):
        job = Job(what, rank, milliseconds)
        self.addCleanup(job.clean_up)
        self.assertEqual(len(job.pids), PROCESSES, "the job did not start")
        return job

    def check_end(self, job, code):
        print(f"{self._testMethodName}: {job.ended:.2f} s, mpirun {job.code}, own {job.codes}")
        self.assertEqual(job.left, [], "processes left over")
        self.assertLessEqual(job.ended, LIMIT)
        self.assertEqual(job.code, code, job.stderr)

    def check_survivors(self, job, lost, message):
        survivors = {rank: code for rank, code in job.codes.items() if rank != lost}
        self.assertTrue(survivors, "mpirun ended everybody before they could say why")
        self.assertEqual(set(survivors.values()), {75})
        self.assertRegex(job.stderr, re.escape(f"process {lost} of {PROCESSES} {message}"))

    def test_a_process_that_throws_ends_the_job_with_its_reason(self):
        for _ in range(3):
            rank = DRAW.randrange(PROCESSES)
            job = self.start("throw", rank, DRAW.randrange(300))
            job.finish()
            self.check_end(job, 75)
            self.check_survivors(job, rank, f"failed: {REASON}")

    def test_a_process_that_throws_with_a_sum_under_way_ends_the_job(self):
        rank = DRAW.randrange(PROCESSES)
        job = self.start("throw-pending", rank, DRAW.randrange(300))
        job.finish()
        self.check_end(job, 75)
        self.check_survivors(job, rank, f"failed: {REASON}")

    def test_a_process_whose_other_thread_throws_ends_with_that(self):
        for _ in range(3):
            rank = DRAW.randrange(PROCESSES)
            job = self.start("beside-throw", rank, DRAW.randrange(300))
            job.finish()
            self.check_end(job, 75)
            self.check_survivors(job, rank, f"failed: {REASON}")
            self.assertIn(job.codes.get(rank), [65, None], "mpirun may have ended it before")
            if rank in job.codes:
                self.assertRegex(job.stderr, f"(?m)^failing_job: {REASON}")

    def test_processes_that_compute_are_ended_too(self):
        job = self.start("throw-busy", DRAW.randrange(PROCESSES))
        job.finish()
        self.check_end(job, 65)
        self.assertIn(f"failing_job: {REASON}", job.stderr)

    def test_an_error_of_all_processes_keeps_its_exit_code(self):
        job = self.start("throw", "all")
        job.finish()
        self.check_end(job, 65)
        self.assertNotIn("process", job.stderr.split("---")[0])

    def test_a_killed_process_ends_the_job(self):
        for what in ["nothing", "beside-nothing", "nothing", "beside-nothing"]:
            rank = DRAW.randrange(PROCESSES)
            job = self.start(what, rank)
            time.sleep(DRAW.uniform(0, 0.3))
            os.kill(job.pids[rank], signal.SIGKILL)
            job.finish(time.time())
            self.check_end(job, 128 + signal.SIGKILL)
            self.check_survivors(job, rank, "was lost")

    def test_a_process_that_exits_ends_the_job(self):
        rank = DRAW.randrange(PROCESSES)
        job = self.start("exit", rank, DRAW.randrange(300))
        job.finish()
        self.check_end(job, 3)
        self.check_survivors(job, rank, "was lost")

    def test_a_killed_mpirun_leaves_nobody_behind(self):
        job = self.start("nothing", 0)
        job.mpirun.kill()
        job.finish(time.time())
        self.check_end(job, -signal.SIGKILL)

    def test_a_terminated_mpirun_leaves_nobody_behind(self):
        job = self.start("nothing", 0)
        job.mpirun.terminate()
        failed_at = time.time()
        job.finish(failed_at)
        self.check_end(job, job.code)
        self.assertNotEqual(job.code, 0)


if __name__ == "__main__":
    unittest.main()
