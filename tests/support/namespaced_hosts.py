"""Hosts of a cluster as network namespaces of this machine, each with a cable to one bridge."""

import os
import pathlib
import re
import signal
import stat
import subprocess


CONGESTION_CONTROL = "/proc/sys/net/ipv4/tcp_congestion_control"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


class NamespacedHosts:
    """`reason` says why there are none; whoever made them must remove() them."""

    BRIDGE = "impart-bridge"
    NETWORK = "10.213.77"

    def __init__(self, count, megabits=None, queue="50ms"):
        """megabits: per second, of each host's cable in each direction; queue: what waits before it at most."""
        self.names = [f"impart-host{i}" for i in range(count)]
        self.addresses = [f"{self.NETWORK}.{i + 1}" for i in range(count)]
        self.reason = self.make(megabits, queue)

    def make(self, megabits, queue):
        self.remove()
        commands = [f"ip netns add {self.BRIDGE}", f"ip -n {self.BRIDGE} link add bridge0 type bridge",
                    f"ip -n {self.BRIDGE} link set bridge0 up"]
        for i, (name, address) in enumerate(zip(self.names, self.addresses)):
            commands += [f"ip netns add {name}",
                         f"ip link add cable0 netns {name} type veth peer name port{i} netns {self.BRIDGE}",
                         f"ip -n {name} addr add {address}/24 dev cable0",
                         f"ip -n {name} link set cable0 up", f"ip -n {name} link set lo up",
                         f"ip -n {self.BRIDGE} link set port{i} master bridge0",
                         f"ip -n {self.BRIDGE} link set port{i} up"]
            if megabits:
                limit = f"root tbf rate {megabits}mbit burst {max(32, megabits)}kb latency {queue}"
                commands += [f"tc -n {name} qdisc add dev cable0 {limit}",
                             f"tc -n {self.BRIDGE} qdisc add dev port{i} {limit}"]
        for command in commands:
            try:
                done = run(*command.split())
            except FileNotFoundError:
                return f"needs {command.split()[0]}(8)"
            if done.returncode != 0:
                return f"needs network namespaces: {command}: {done.stderr.strip()}"
        return None

    def congestion_control(self):
        """By which TCP shares a cable among connections: cubic, bbr, ..."""
        return run("ip", "netns", "exec", self.names[0], "cat", CONGESTION_CONTROL).stdout.strip()

    def use_congestion_control(self, name):
        for host in self.names:
            run("ip", "netns", "exec", host, "sh", "-c", f"echo {name} > {CONGESTION_CONTROL}")
        if self.congestion_control() != name:
            raise ValueError(f"no congestion control {name} here: see sysctl net.ipv4.tcp_allowed_congestion_control")

    def cut(self, host):
        run("ip", "-n", self.names[host], "link", "set", "cable0", "down")

    def dropped(self, host):
        """Packets that the limit of its cable dropped so far, in both directions."""
        said = [run("tc", "-n", self.names[host], "-s", "qdisc", "show", "dev", "cable0").stdout,
                run("tc", "-n", self.BRIDGE, "-s", "qdisc", "show", "dev", f"port{host}").stdout]
        return sum(int(count) for text in said for count in re.findall(r"dropped (\d+)", text))

    def sent_again(self, host):
        """Segments that TCP has sent more than once."""
        said = run("ip", "netns", "exec", self.names[host], "cat", "/proc/net/snmp").stdout
        names, numbers = [line.split() for line in said.splitlines() if line.startswith("Tcp:")]
        return int(numbers[names.index("RetransSegs")])

    def remove(self):
        """With what still runs inside: mpirun's daemon waits for an answer over a cut cable."""
        for name in [*self.names, self.BRIDGE]:
            try:
                inside = run("ip", "netns", "pids", name).stdout.split()
            except FileNotFoundError:
                return
            for pid in inside:
                os.kill(int(pid), signal.SIGKILL)
            run("ip", "netns", "del", name)

    def mpirun(self, folder, per_host=1):
        """mpirun on the first host, which reaches the others without ssh; `folder` is for a script."""
        script = pathlib.Path(folder) / "agent"
        # Daemons of one file system that think they are on one machine clean up after each other.
        script.write_text(f'#!/bin/sh\nhost="impart-host$((${{1##*.}} - 1))"\nshift\n'
                          f'export TMPDIR="{folder}/$host"\nmkdir -p "$TMPDIR"\n'
                          'exec ip netns exec "$host" sh -c "$*"\n')
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        hosts = ",".join(f"{address}:{per_host}" for address in self.addresses)
        # Every daemon would give its first process the same core.
        return ["ip", "netns", "exec", self.names[0], "mpirun", "--host", hosts, "--bind-to", "none",
                "--mca", "plm_rsh_agent", str(script), "--mca", "plm_rsh_no_tree_spawn", "1",
                "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", f"{self.NETWORK}.0/24",
                "--mca", "oob_tcp_if_include", f"{self.NETWORK}.0/24"]
