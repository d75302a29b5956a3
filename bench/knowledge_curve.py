#!/usr/bin/env python3
"""Memory and seconds of what every process knows, from 10^4 to 10^8 examples and 4 to 2 048 processes:

    python3 bench/knowledge_curve.py build/release/bin/knowledge_bench > experiments/simulate/knowledge.csv

10^8 examples take about 6 GB and two minutes each.
"""

import subprocess
import sys

EXAMPLES = [10**4, 10**5, 10**6, 1_281_167, 10**7, 10**8]  # 1 281 167: ImageNet
PROCESSES = [4, 32, 256, 2048]


def main():
    header = ["--header"]
    for processes in PROCESSES:
        for examples in EXAMPLES:
            command = [sys.argv[1], str(examples), str(processes), *header]
            print(subprocess.run(command, text=True, check=True, capture_output=True).stdout, end="", flush=True)
            header = []


if __name__ == "__main__":
    main()
