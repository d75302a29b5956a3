"""A Slurm of this machine's own: munged, slurmctld and several slurmd, in a folder and on ports of their own."""

import ctypes
import getpass
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

CONFIGURATION = """
ClusterName=impart
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
# A job that is queued again waits for as long as its old credential is good for; under 5 s is refused.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
# PMIx keeps files there that are named by job: nodes of one machine must not share them.
TmpFS={folder}/%n/tmp
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000,bf_interval=1,sched_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
PROGRAMS = ["munged", "slurmctld", "slurmd", "srun", "sbatch", "squeue", "scontrol", "scancel"]
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def die_with_parent():
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class SlurmCluster:
    """`reason` says why there is none; whoever made it must remove() it."""

    def __init__(self, nodes=2, cpus=4):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-slurm-"))
        self.environment = {**os.environ, "PATH": PATH, "SLURM_CONF": str(self.folder / "slurm.conf")}
        self.daemons = []
        self.reason = self.make(nodes, cpus)

    def make(self, nodes, cpus):
        missing = [name for name in PROGRAMS if not shutil.which(name, path=PATH)]
        if missing:
            return f"needs {', '.join(missing)}"
        names = [f"node{i}" for i in range(nodes)]
        for name in ["state", *names, *(f"{name}/tmp" for name in names)]:
            (self.folder / name).mkdir()
        self.configure(names, cpus)
        key = self.folder / "munge.key"
        key.touch(0o600)
        key.write_bytes(os.urandom(1024))
        files = [f"--{kind}-file={self.folder}/munge.{kind}" for kind in ("key", "pid", "log", "seed")]
        self.start("munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket", *files)
        if not self.wait_for((self.folder / "munge.socket").exists, 10):
            return f"munged does not start: {self.words('munged')}"
        self.start("slurmctld", "-D", "-c")
        for name in names:
            self.start("slurmd", "-D", "-N", name)
        if not self.wait_for(lambda: self.ask("sinfo", "-h", "-o", "%D %t") == f"{nodes} idle", 20):
            return f"Slurm does not start: {self.words('slurmctld')} {self.words('slurmd')}"
        return None

    def configure(self, names, cpus):
        controller, *ports = free_ports(1 + len(names))
        host = socket.gethostname().split(".")[0]
        nodes = "\n".join(f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus}"
                          for name, port in zip(names, ports))
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=host, user=getpass.getuser(), folder=self.folder, controller=controller, nodes=nodes))

    def start(self, program, *arguments):
        with open(self.folder / f"{program}.out", "a") as output:
            self.daemons.append(subprocess.Popen(
                [shutil.which(program, path=PATH), *arguments], env=self.environment, stdin=subprocess.DEVNULL,
                stdout=output, stderr=output, preexec_fn=die_with_parent))

    def words(self, program):
        """The last that a daemon said."""
        lines = (self.folder / f"{program}.out").read_text().strip().splitlines()
        return lines[-1] if lines else ""

    @staticmethod
    def wait_for(holds, seconds):
        limit = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > limit:
                return False
            time.sleep(0.05)
        return True

    def run(self, *command, **more):
        return subprocess.run([str(word) for word in command], env=self.environment, text=True, capture_output=True,
                              check=False, timeout=120, **more)

    def ask(self, *command):
        return self.run(*command).stdout.strip()

    def jobs(self):
        """Those that are queued or run: id and state by name."""
        lines = self.ask("squeue", "--noheader", "--format=%i|%T|%j").splitlines()
        return {name: (job, state) for job, state, name in (line.split("|", 2) for line in lines)}

    def submit(self, *arguments, **more):
        done = self.run("sbatch", "--parsable", *arguments, **more)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def is_empty(self):
        return not self.jobs()

    def remove(self):
        """With everything that still runs."""
        if self.reason is None:
            self.run("scancel", "--me")
            if not self.wait_for(self.is_empty, 5):
                self.run("scancel", "--me", "--signal=KILL", "--full")
                self.wait_for(self.is_empty, 5)
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
