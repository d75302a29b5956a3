#!/usr/bin/env python3
"""Installed headers include only installed headers, of their own part or an earlier one."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = ["core", "study", "train"]


def public_headers(part):
    text = (ROOT / "cmake" / "ImpartHeaders.cmake").read_text()
    return re.search(rf"set\(IMPART_HEADERS_{part}\n(.*?)\)", text, re.S)[1].split()


class Headers(unittest.TestCase):
    def test_the_list_is_closed(self):
        known = set()
        for part in PARTS:
            known |= set(public_headers(part))
            for header in public_headers(part):
                included = re.findall(r'#include "(impart/[^"]+)"', (ROOT / header).read_text())
                self.assertEqual([name for name in included if name not in known], [],
                                 f"{header} of part '{part}' includes what is not installed with it")

    def test_the_core_knows_neither_torch_nor_mpi(self):
        for part in PARTS[:2]:
            for header in public_headers(part):
                self.assertNotRegex((ROOT / header).read_text(), r"#include <(torch|ATen|c10|mpi)",
                                    header)

    def test_lists_are_sorted_and_name_nothing_twice(self):
        for part in PARTS:
            rooms = [name for name in public_headers(part) if name != "impart/impart.h"]
            self.assertEqual(rooms, sorted(set(rooms)))


if __name__ == "__main__":
    unittest.main()
