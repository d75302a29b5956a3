"""Processes of a job that live, that are stopped, and that are cut off; with real mpirun children.

    liveness_test.py PATH_OF_failing_job [unittest options]

A silent process must be named and the job ended within the timeout and 5 s; a slow one is waited
for. IMPART_STOPS (2) says how often processes are stopped or slowed, IMPART_TEST_SEED draws when.
"""

import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

os.environ["FAILING_JOB"] = os.environ.get("FAILING_JOB") or sys.argv.pop(1)

from failure_test import DRAW, LIMIT, PROCESSES, Job, wait_until  # noqa: E402

STOPS = int(os.environ.get("IMPART_STOPS", "2"))
TIMEOUT = 3.0


class LivenessTest(unittest.TestCase):
    def start(self, what, rank=0, milliseconds=0, timeout=TIMEOUT):
        job = Job(what, rank, milliseconds, timeout)
        self.addCleanup(job.clean_up)
        self.assertEqual(len(job.pids), PROCESSES, "the job did not start")
        return job

    def test_a_stopped_process_is_named_and_the_job_ends(self):
        for _ in range(STOPS):
            rank = DRAW.randrange(PROCESSES)
            job = self.start("nothing")
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


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


class Link:
    """Two network namespaces of this machine with a cable between them."""

    NAMES = ["impart-a", "impart-b"]
    ADDRESSES = ["10.213.77.1", "10.213.77.2"]

    def __init__(self):
        self.reason = self.make()

    def make(self):
        self.remove()
        commands = [["ip", "netns", "add", name] for name in self.NAMES]
        commands.append(["ip", "link", "add", "impart-a0", "netns", self.NAMES[0], "type", "veth",
                         "peer", "name", "impart-b0", "netns", self.NAMES[1]])
        for name, address, device in zip(self.NAMES, self.ADDRESSES, ["impart-a0", "impart-b0"]):
            inside = ["ip", "-n", name]
            commands.append([*inside, "addr", "add", f"{address}/24", "dev", device])
            commands.append([*inside, "link", "set", device, "up"])
            commands.append([*inside, "link", "set", "lo", "up"])
        for command in commands:
            try:
                done = run(*command)
            except FileNotFoundError:
                return "needs ip(8)"
            if done.returncode != 0:
                return f"needs network namespaces: {' '.join(command)}: {done.stderr.strip()}"
        return None

    def cut(self):
        run("ip", "-n", self.NAMES[1], "link", "set", "impart-b0", "down")

    def remove(self):
        """With what still runs inside: mpirun's daemon waits for an answer over the cut link."""
        for name in self.NAMES:
            try:
                inside = run("ip", "netns", "pids", name).stdout.split()
            except FileNotFoundError:
                return
            for pid in inside:
                os.kill(int(pid), signal.SIGKILL)
            run("ip", "netns", "del", name)


class CutLinkTest(unittest.TestCase):
    def test_both_sides_of_a_cut_link_end(self):
        link = Link()
        self.addCleanup(link.remove)
        if link.reason:
            self.skipTest(link.reason)
        job = Job("nothing", 0, timeout=TIMEOUT, mpirun=self.mpirun(link))
        self.addCleanup(job.clean_up)
        self.assertEqual(len(job.pids), PROCESSES, (job.folder / "stderr").read_text())
        time.sleep(0.5)
        link.cut()
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

    def mpirun(self, link):
        """Two processes on each side."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        script = pathlib.Path(folder.name) / "agent"
        script.write_text("#!/bin/sh\nshift\nexec ip netns exec impart-b sh -c \"$*\"\n")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        hosts = ",".join(f"{address}:2" for address in link.ADDRESSES)
        return ["ip", "netns", "exec", "impart-a", "mpirun", "--host", hosts, "--mca",
                "plm_rsh_agent", str(script), "--mca", "btl", "tcp,self"]


if __name__ == "__main__":
    unittest.main()
