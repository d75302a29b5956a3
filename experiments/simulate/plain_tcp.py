#!/usr/bin/env python3
"""How long the network itself takes to bring everybody's bytes: plain sockets, no MPI, no impart.

    experiments/simulate/plain_tcp.py [--hosts 2,4,8] [--rates 100,1000] [--congestion cubic] > plain_tcp.csv

Hosts, cables and bytes are those of tests/cluster/exchange_time_test.py: `all` sends what `vanilla`
sends, as much to each other host; `pairs` sends as much to one other host as `is-pair` does; `turns`
sends as `all`, but to one host after the other, so that no cable has two flows at a time (a host goes
on when its own are through). Each host is one process, which sleeps until a socket is ready. `ideal`
is what the busiest cable needs, `all` flows sharing evenly.
"""

import argparse
import ctypes
import multiprocessing
import os
import pathlib
import selectors
import socket
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "support"))

from namespaced_hosts import NamespacedHosts  # noqa: E402

PORT = 7700
PER_HOST = {"all": 8_000_000, "turns": 8_000_000, "pairs": 6_400_000}  # for each 100 Mb/s
EFFICIENCY = 0.95  # as in the simulation: what headers leave
CHUNK = bytes(1 << 18)


def enter(name):
    """This process into a network namespace."""
    with open(f"/run/netns/{name}", "rb") as file:
        if ctypes.CDLL("libc.so.6", use_errno=True).setns(file.fileno(), 0) != 0:
            raise OSError(ctypes.get_errno(), f"setns({name})")


def connect(own, addresses, barrier):
    """A connection to every other host."""
    listener = socket.create_server((addresses[own], PORT), backlog=len(addresses))
    barrier.wait()
    peers = {}
    for other in range(own):
        peers[other] = socket.create_connection((addresses[other], PORT))
        peers[other].sendall(bytes([own]))
    for _ in range(own + 1, len(addresses)):
        connection, _ = listener.accept()
        peers[connection.recv(1)[0]] = connection
    for connection in peers.values():
        connection.setblocking(False)
    return peers


def move(peers, out, into):
    """Sends and receives so many bytes to and from each host, all at once."""
    left_out, left_in = dict(out), dict(into)
    with selectors.DefaultSelector() as selector:
        for peer in {*out, *into}:
            wanted = (selectors.EVENT_WRITE if out.get(peer) else 0) | (selectors.EVENT_READ if into.get(peer) else 0)
            if wanted:
                selector.register(peers[peer], wanted, peer)
        while any(left_out.values()) or any(left_in.values()):
            for key, events in selector.select():
                peer = key.data
                if events & selectors.EVENT_WRITE:
                    left_out[peer] -= peers[peer].send(CHUNK[:min(len(CHUNK), left_out[peer])])
                if events & selectors.EVENT_READ:
                    left_in[peer] -= len(peers[peer].recv(min(len(CHUNK), left_in[peer])))
                wanted = (selectors.EVENT_WRITE if left_out.get(peer) else 0) | \
                         (selectors.EVENT_READ if left_in.get(peer) else 0)
                if wanted:
                    selector.modify(peers[peer], wanted, peer)
                else:
                    selector.unregister(peers[peer])


def exchange(shape, own, count, size, peers):
    others = [peer for peer in range(count) if peer != own]
    if shape == "pairs":
        move(peers, {own ^ 1: size}, {own ^ 1: size})
    elif shape == "all":
        each = dict.fromkeys(others, size // len(others))
        move(peers, each, each)
    else:
        for turn in range(1, count):
            each = size // len(others)
            move(peers, {(own + turn) % count: each}, {(own - turn) % count: each})


def bytes_out(shape, count, rate):
    size = PER_HOST[shape] * rate // 100
    return size if shape == "pairs" else size * (count - 1) // count


def host(own, hosts, shape, size, exchanges, barrier, results):
    enter(hosts.names[own])
    peers = connect(own, hosts.addresses, barrier)
    for number in range(exchanges + 1):  # the first lets connections grow
        barrier.wait()
        start = time.monotonic()
        exchange(shape, own, len(hosts.names), size, peers)
        seconds = time.monotonic() - start
        barrier.wait()
        if number:
            results.put(seconds)


def measure(hosts, shape, rate, exchanges):
    """Seconds until the last host is done, and the mean over the hosts, of each exchange."""
    count = len(hosts.names)
    barrier, results = multiprocessing.Barrier(count), multiprocessing.Queue()
    size = bytes_out(shape, count, rate)
    started = [multiprocessing.Process(target=host, args=(own, hosts, shape, size, exchanges, barrier, results))
               for own in range(count)]
    for process in started:
        process.start()
    # Between two exchanges is a barrier: each comes in one piece.
    found = [[results.get(timeout=120) for _ in range(count)] for _ in range(exchanges)]
    for process in started:
        process.join()
    return [(max(seconds), statistics.mean(seconds)) for seconds in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", default="2,4,8")
    parser.add_argument("--rates", default="100,1000", help="Mb/s")
    parser.add_argument("--exchanges", type=int, default=9)
    parser.add_argument("--congestion", help="TCP's control: bbr, cubic, reno; default: this machine's")
    parser.add_argument("--queue", type=int, default=50, metavar="MS", help="what waits before a cable at most, in milliseconds")
    args = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("plain_tcp.py: only root can make network namespaces")
    print("congestion,queue_ms,hosts,rate_mbit,shape,megabytes,ideal,median_ratio,best_ratio,mean_ratio,dropped,sent_again")
    for rate in map(int, args.rates.split(",")):
        for count in map(int, args.hosts.split(",")):
            hosts = NamespacedHosts(count, rate, f"{args.queue}ms")
            try:
                if hosts.reason:
                    sys.exit(f"plain_tcp.py: {hosts.reason}")
                if args.congestion:
                    try:
                        hosts.use_congestion_control(args.congestion)
                    except ValueError as why:
                        sys.exit(f"plain_tcp.py: {why}")
                for shape in ["pairs"] if count == 2 else ["all", "turns", "pairs"]:
                    lost = sum(map(hosts.dropped, range(count))), sum(map(hosts.sent_again, range(count)))
                    rows = measure(hosts, shape, rate, args.exchanges)
                    ideal = bytes_out(shape, count, rate) * 8 / (rate * 1e6 * EFFICIENCY)
                    dropped = sum(map(hosts.dropped, range(count))) - lost[0]
                    again = sum(map(hosts.sent_again, range(count))) - lost[1]
                    last, mean = zip(*rows)
                    print(f"{hosts.congestion_control()},{args.queue},{count},{rate},{shape},{bytes_out(shape, count, rate) / 1e6:.1f},{ideal:.4f},"
                          f"{statistics.median(last) / ideal:.3f},{min(last) / ideal:.3f},"
                          f"{statistics.median(mean) / ideal:.3f},{dropped},{again}", flush=True)
            finally:
                hosts.remove()


if __name__ == "__main__":
    main()
