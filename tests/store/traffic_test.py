"""Holds what the store says it did against others who saw it: MPI and the kernel.

    traffic_test.py PATH_OF_store_job PATH_OF_libcount_mpi.so [unittest options]

count_mpi.cpp counts every call and byte that reaches MPI; /proc/self/io what reaches the files.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, LIBRARY = sys.argv.pop(1), sys.argv.pop(1)
PROCESSES = 4
ENVIRONMENT = dict(
    os.environ,
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    OMPI_MCA_rmaps_base_oversubscribe="1",
)


@unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
class TrafficTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-traffic-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_job(self, **options):
        command = ["mpirun", "-n", str(PROCESSES)]
        command += ["-x", f"LD_PRELOAD={LIBRARY}", "-x", f"IMPART_COUNT_MPI={self.folder}", PROGRAM]
        options = {"costs": self.folder, "from": 0, "to": 3, **options}
        command += [f"{key}={value}" for key, value in options.items()]
        subprocess.run(command, env=ENVIRONMENT, check=True, timeout=60)

        def read(kind):
            return [json.loads((self.folder / f"{kind}-{rank}.json").read_text()) for rank in range(PROCESSES)]

        return read("costs"), read("mpi")

    def test_what_the_store_counts_is_what_mpi_was_asked_for(self):
        records, counts = self.run_job(workers=4, examples=1000, bytes=3000, piece=65536, batch=64)
        for record, count in zip(records, counts):
            (cost,) = record["costs"]
            self.assertGreater(cost["bytes_sent"], 1_000_000)
            self.assertEqual(cost["bytes_sent"], count["isend"]["bytes"])
            self.assertEqual(cost["sends"], count["isend"]["calls"])
            self.assertEqual(cost["bytes_received"], count["irecv"]["bytes"])
            self.assertEqual(cost["receives"], count["irecv"]["calls"])

    def test_what_the_communicator_counts_is_what_mpi_was_asked_for(self):
        records, counts = self.run_job(workers=5, examples=1000, bytes=3000)
        for record, count in zip(records, counts):
            # As impart/comm/communicator.h counts collectives; the last barrier comes after.
            reduced = 2 * count["iallreduce"]["bytes"] * (PROCESSES - 1) // PROCESSES
            messages = 2 * (PROCESSES - 1) * count["iallreduce"]["calls"] + 2 * (count["ibarrier"]["calls"] - 1)
            self.assertEqual(record["traffic"]["bytes"], count["isend"]["bytes"] + reduced)
            self.assertEqual(record["traffic"]["messages"], count["isend"]["calls"] + messages)
            # Workers of one process exchange without MPI, and count it all the same.
            sent = sum(cost["bytes_sent"] for cost in record["costs"])
            self.assertGreaterEqual(sent, count["isend"]["bytes"])

    def test_what_the_store_counts_is_what_the_kernel_saw(self):
        records, _ = self.run_job(
            path=self.folder / "store", workers=5, examples=2000, bytes=5000, varied=0, piece=65536
        )
        for record in records:
            io = {key: record["io_after"][key] - record["io_before"][key] for key in ("rchar:", "wchar:")}
            read = sum(cost["bytes_local"] for cost in record["costs"])
            written = sum(cost["bytes_written"] for cost in record["costs"])
            print(f"read {read} of {io['rchar:']}, wrote {written} of {io['wchar:']}")
            self.assertGreater(read, 3_000_000)
            self.assertLessEqual(abs(io["rchar:"] - read), 0.01 * read)
            self.assertLessEqual(abs(io["wchar:"] - written), 0.01 * written)


if __name__ == "__main__":
    unittest.main()
