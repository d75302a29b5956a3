"""Starts `impart train` for the tests of this folder, and reads what a run leaves behind."""

import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

IMPART = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else shutil.which("impart")

# Open MPI asks before it runs as root, or more processes than there are cores.
ENVIRONMENT = dict(
    os.environ,
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    OMPI_MCA_rmaps_base_oversubscribe="1",
)

# About a second: 6 epochs of 40 steps, with new partitions at epochs 0, 1, 2 and 4.
SHORT = {
    "threads": 1,
    "epochs": 6,
    "data.train_examples": 640,
    "data.test_examples": 100,
    "model.name": "mlp",
    "workers.count": 4,
    "workers.batch": 4,
    "optimizer.lr": 0.02,
    "importance.notion": "loss-variance",
    "importance.ignore": 1,
    "partition.warmup": 2,
    "partition.interval": 2,
    "partition.save": "true",
    "checkpoint.every": 1,
}

SMALL_SIDE = 8  # of the images of `on_small_images`
SMALL_COUNT = 640
LEFT_ALONE = 15.0  # seconds that mpirun may stay behind its processes, once or twice over

# What asks a run to checkpoint and end with 85; batch systems send the last ones.
STOP_SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
                signal.SIGUSR2, signal.SIGXCPU]


def settings(base, **changes):
    """{"epochs": 6, ...} as key=value, with changes written like data__root=..."""
    chosen = dict(base)
    chosen.update({key.replace("__", "."): value for key, value in changes.items()})
    return [f"{key}={value}" for key, value in chosen.items()]


def write_images(folder, side, count, test_count):
    """Grey noise in the files of MNIST: data.name=idx."""
    draw = random.Random(1)
    folder.mkdir()
    for name, number in [("train", count), ("t10k", test_count)]:
        for file, header, content in [
                ("images-idx3", [0x0803, number, side, side], draw.randbytes(number * side * side)),
                ("labels-idx1", [0x0801, number], bytes(i % 10 for i in range(number)))]:
            packed = struct.pack(f">{len(header)}I", *header)
            (folder / f"{name}-{file}-ubyte").write_bytes(packed + content)


def on_small_images(base):
    """The same run on images that have a tenth of the weights, for tests that need no time."""
    made = {key: value for key, value in base.items() if not key.startswith("data.")}
    return {**made, "data.name": "idx", "data.root": "small", "data.limit": base["data.train_examples"]}


def wait_until(holds, seconds):
    """Whether it came to hold; looks a thousand times a second."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if holds():
            return True
        time.sleep(0.001)
    return bool(holds())


def is_running(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


class RunFolder:
    """A run directory."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def markers(self):
        return [name for name in ["DONE", "FAILED", "PREEMPTED"] if (self.path / name).exists()]

    def summary(self):
        return json.loads((self.path / "summary.json").read_text())

    def sha(self):
        return self.summary()["weights_sha256"]

    def lines(self):
        """How many epochs metrics.jsonl has."""
        try:
            return (self.path / "metrics.jsonl").read_bytes().count(b"\n")
        except FileNotFoundError:
            return 0

    def last_step(self):
        """Of the last epoch in metrics.jsonl."""
        lines = (self.path / "metrics.jsonl").read_text().rpartition("\n")[0].splitlines()
        return json.loads(lines[-1])["step"] if lines else 0

    def metrics(self):
        """The records, without what a clock says and the checksums of it."""
        records = []
        for line in (self.path / "metrics.jsonl").read_text().splitlines():
            record = json.loads(line)
            records.append({k: v for k, v in record.items()
                            if not k.startswith("seconds") and k != "crc32"})
        return records

    def column(self, name):
        return [record[name] for record in self.metrics()]

    def partitions(self):
        files = sorted((self.path / "partitions").glob("epoch-*.csv"))
        return {file.name: file.read_text() for file in files}

    def checkpoints(self):
        """The oldest first."""
        return sorted((self.path / "checkpoints").glob("step-*"))

    def newest_state(self):
        return json.loads((self.checkpoints()[-1] / "state.json").read_text())

    def outcome(self):
        """All that must not depend on how often a run was interrupted."""
        summary = {k: v for k, v in self.summary().items()
                   if not k.startswith("seconds")
                   and k not in ("bytes_network", "processes", "load_average")}
        return {
            "markers": self.markers(),
            "summary": summary,
            "metrics": self.metrics(),
            "importance.csv": (self.path / "importance.csv").read_bytes(),
            "importance.npy": (self.path / "importance.npy").read_bytes(),
            "partitions": self.partitions(),
            "hidden.npy": self.bytes_of("hidden.npy"),
        }

    def outcome_from_files(self):
        """The same for data in files: who starts again reads them again."""
        found = self.outcome()
        for name in ["bytes_disk", "bytes_source"]:
            found["summary"].pop(name)
        return found

    def bytes_of(self, name):
        """Of a file; none if the run has no such file."""
        path = self.path / name
        return path.read_bytes() if path.exists() else b""


class Started:
    """A started command: one process, or mpirun, with these options, with some; stderr and stdout go to files."""

    def __init__(self, args, folder, processes=None, options=()):
        launcher = [] if processes is None else ["mpirun", *options, "-n", str(processes)]
        self.processes = processes
        self.out = tempfile.TemporaryFile("w+")
        self.err = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [*launcher, IMPART, "train", *map(str, args)], cwd=folder, env=ENVIRONMENT,
            stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err, start_new_session=True)

    def wait(self, seconds=120):
        """Its exit code. An mpirun whose processes have been gone for LEFT_ALONE seconds is killed: that of Debian 12 may
        never end after one was killed while the job started (docs/jobs.md)."""
        alone, limit = False, time.monotonic() + seconds
        while True:
            left = limit - time.monotonic()
            try:
                return self.process.wait(max(0, min(LEFT_ALONE, left)))
            except subprocess.TimeoutExpired:
                if left <= LEFT_ALONE:
                    raise AssertionError(f"not over after {seconds} s\n{self.threads()}\n{self.texts()[1]}") from None
            was_alone, alone = alone, self.processes is not None and not self.ranks()
            if was_alone and alone:
                self.process.kill()

    def threads(self):
        """What each thread of the command, and of the job's processes, does: for who has to find out why one hangs."""
        lines = []
        for name, pid in {"command": self.process.pid, **(self.ranks() if self.processes else {})}.items():
            for thread in pathlib.Path(f"/proc/{pid}/task").glob("*"):
                try:
                    state = (thread / "stat").read_text().rsplit(")", 1)[1].split()[0]
                    waits = (thread / "wchan").read_text()
                    lines.append(f"{name}: {thread.name} {(thread / 'comm').read_text().strip()} {state} {waits}")
                except OSError:  # it has ended
                    pass
        return "\n".join(lines)

    def is_over(self):
        return self.process.poll() is not None

    def signal(self, number):
        """To the one process; without effect if it has ended."""
        self.process.send_signal(number)

    def ranks(self):
        """The processes of a job that have started: rank -> pid."""
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                if parent != self.process.pid:
                    continue
                environment = (entry / "environ").read_bytes().split(b"\0")
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue
            for variable in environment:
                if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                    found[int(variable.split(b"=")[1])] = int(entry.name)
        return found

    def texts(self):
        """stdout and stderr so far."""
        self.out.seek(0)
        self.err.seek(0)
        return self.out.read(), self.err.read()

    def end(self):
        try:
            self.process.wait(5 if self.processes else 0)  # mpirun cleans up behind its processes
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def clean_up(self):
        if not self.is_over():
            for pid in self.ranks().values() if self.processes else []:
                if is_running(pid):
                    os.kill(pid, 9)
            self.end()
        self.out.close()
        self.err.close()


class TrainingTest(unittest.TestCase):
    """Each test has a folder of its own, which is the working folder of the command."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        kept = tempfile.TemporaryDirectory(prefix="impart-train-")
        cls.addClassCleanup(kept.cleanup)
        cls.kept, cls.trained_once = pathlib.Path(kept.name), {}

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-train-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def make_small_images(self):
        """For `on_small_images`."""
        write_images(self.folder / "small", SMALL_SIDE, SMALL_COUNT, 50)

    def run_folder(self, name):
        return RunFolder(self.folder / name)

    def start(self, *args, processes=None, options=()):
        started = Started(args, self.folder, processes, options)
        self.addCleanup(started.clean_up)
        return started

    def train(self, *args, processes=None):
        """Exit code, stdout and stderr."""
        started = self.start(*args, processes=processes)
        code = started.wait()
        return (code, *started.texts())

    def succeed(self, *args, processes=None):
        code, out, err = self.train(*args, processes=processes)
        self.assertEqual(code, 0, err)
        return out, err

    def train_once(self, *args, processes=None):
        """A run to compare with, which the tests of a class share: the first that asks trains it."""
        key = (args, processes)
        if key not in self.trained_once:
            output = self.kept / f"run-{len(self.trained_once)}"
            self.succeed(*args, f"output={output}", processes=processes)
            self.trained_once[key] = RunFolder(output)
        return self.trained_once[key]

    def fail_with(self, code, message, *args, processes=None):
        found, _, err = self.train(*args, processes=processes)
        self.assertEqual(found, code, err)
        self.assertIn(message, err)
        return err

    def assert_same_outcome(self, found, expected):
        """Names the part that differs; a diff of whole runs would say nothing."""
        for part, value in expected.items():
            if part == "metrics":
                self.assertEqual(found[part], value)
            else:
                self.assertTrue(found[part] == value, f"{part} differs: {str(found[part])[:600]}")
