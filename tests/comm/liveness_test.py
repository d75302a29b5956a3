"""Processes of a job that live, that are stopped, and that are cut off; with real mpirun children.

    liveness_test.py PATH_OF_failing_job [unittest options]

A silent process must be named and the job ended within the timeout and 5 s; a slow one is waited
for. IMPART_STOPS (2) says how often processes are stopped or slowed, IMPART_TEST_SEED draws when.
"""

import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest

os.environ["FAILING_JOB"] = os.environ.get("FAILING_JOB") or sys.argv.pop(1)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from failure_test import DRAW, LIMIT, PROCESSES, Job, wait_until  # noqa: E402
from namespaced_hosts import NamespacedHosts  # noqa: E402

STOPS = int(os.environ.get("IMPART_STOPS", "2"))
TIMEOUT = 3.0


class LivenessTest(unittest.TestCase):
    def start(self, what, rank=0, milliseconds=0, timeout=TIMEOUT):
        job = Job(what, rank, milliseconds, timeout)
        self.addCleanup(job.clean_up)
        self.assertEqual(len(job.pids), PROCESSES, "the job did not start")
        return job

    def test_a_stopped_process_is_named_and_the_job_ends(self):
        for stop in range(STOPS):
            rank = DRAW.randrange(PROCESSES)
            job = self.start(["nothing", "beside-nothing"][stop % 2])
            time.sleep(DRAW.uniform(0, 1))
            os.kill(job.pids[rank], signal.SIGSTOP)
            job.finish(time.time())
            print(f"stopped {rank}: ended after {job.ended:.2f} s with {job.code}", flush=True)
            self.assertEqual(job.left, [])
            self.assertLessEqual(job.ended, TIMEOUT + LIMIT)
            self.assertGreaterEqual(job.ended, TIMEOUT - 1)
            self.assertEqual(job.code, 75, job.stderr)
            self.assertRegex(job.stderr, rf"process {rank} of {PROCESSES} was lost: nothing was "
                             r"heard of it for \d+ s \(comm.timeout\), last in (start|sum), epoch 1, step ")
            job.clean_up()

    def test_a_process_slowed_to_a_tenth_is_waited_for(self):
        for _ in range(STOPS):
            rank = DRAW.randrange(PROCESSES)
            job = self.start("nothing")
            until = time.time() + 2.5 * TIMEOUT
            while time.time() < until:
                os.kill(job.pids[rank], signal.SIGSTOP)
                time.sleep(0.9)
                os.kill(job.pids[rank], signal.SIGCONT)
                time.sleep(0.1)
            self.assertEqual(len(job.orphans()), PROCESSES)
            job.clean_up()

    def test_all_stopped_and_continued_go_on(self):
        job = self.start("nothing")
        for number in [signal.SIGSTOP, signal.SIGCONT]:
            for pid in job.pids.values():
                os.kill(pid, number)
            time.sleep(TIMEOUT + 1)
        self.assertEqual(len(job.orphans()), PROCESSES)

    def test_a_process_that_computes_for_long_is_waited_for_and_that_is_said_once(self):
        job = self.start("busy", 2, 4000, timeout=1)
        job.finish(time.time())
        self.assertEqual(job.code, 0, job.stderr)
        said = [line for line in job.stderr.splitlines() if "has waited for" in line]
        self.assertEqual(len(said), 1, job.stderr)
        self.assertRegex(said[0], r"process 0 of 4, in sum, epoch 1, step 20, has waited for 1 s for "
                         r"process 2 \(in sum, epoch 1, step 20, heard of 0 s ago\)")


class CutLinkTest(unittest.TestCase):
    def test_both_sides_of_a_cut_link_end(self):
        hosts = NamespacedHosts(2)
        self.addCleanup(hosts.remove)
        if hosts.reason:
            self.skipTest(hosts.reason)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        job = Job("nothing", 0, timeout=TIMEOUT, mpirun=hosts.mpirun(folder.name, per_host=2))
        self.addCleanup(job.clean_up)
        self.assertEqual(len(job.pids), PROCESSES, (job.folder / "stderr").read_text())
        time.sleep(0.5)
        hosts.cut(1)
        cut_at = time.time()
        wait_until(lambda: not job.orphans(), TIMEOUT + LIMIT)
        codes = job.numbers("code")
        print(f"cut: ended after {time.time() - cut_at:.2f} s with {codes}")
        self.assertEqual(job.orphans(), [], "somebody waits for ever")
        # mpirun ends the neighbour of who ends first; what the far side says does not get here.
        self.assertEqual(set(codes.values()), {75})
        self.assertTrue(codes.keys() & {0, 1} and codes.keys() & {2, 3}, codes)
        self.assertRegex((job.folder / "stderr").read_text(), "process 2 of 4 was lost: nothing was "
                         r"heard of it for \d+ s.*; process 3 of 4 was lost: nothing was heard")


if __name__ == "__main__":
    unittest.main()
