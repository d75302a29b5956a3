#!/usr/bin/env python3
"""tools/flakes.py tells what fails and what hangs; and no test of this build may hang for ever.

    python3 flakes_test.py BUILD_FOLDER
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD = sys.argv.pop(1)
FLAKES = pathlib.Path(__file__).resolve().parents[2] / "tools/flakes.py"
TESTS = """
add_test(good true)
set_tests_properties(good PROPERTIES LABELS concurrent TIMEOUT 20)
add_test(bad false)
set_tests_properties(bad PROPERTIES LABELS "python;concurrent" TIMEOUT 20)
add_test(slow sleep 60)
set_tests_properties(slow PROPERTIES LABELS concurrent TIMEOUT 1)
add_test(aborted sh -c "kill -ABRT $$")
set_tests_properties(aborted PROPERTIES LABELS concurrent TIMEOUT 20)
add_test(skipped sh -c "exit 77")
set_tests_properties(skipped PROPERTIES LABELS concurrent TIMEOUT 20 SKIP_RETURN_CODE 77)
add_test(other true)
set_tests_properties(other PROPERTIES LABELS process TIMEOUT 20)
"""


class FlakesTest(unittest.TestCase):
    def run_flakes(self, *arguments):
        folder = tempfile.TemporaryDirectory(prefix="impart-flakes-")
        self.addCleanup(folder.cleanup)
        (pathlib.Path(folder.name) / "CTestTestfile.cmake").write_text(TESTS)
        done = subprocess.run([sys.executable, FLAKES, *arguments, "--build", folder.name],
                              capture_output=True, text=True)
        rows = {row.split()[0]: row.split()[1:5] for row in done.stdout.splitlines() if row}
        return done.returncode, rows, done.stdout

    def test_counts_what_fails_hangs_and_is_skipped(self):
        code, rows, out = self.run_flakes("2")
        self.assertEqual(code, 1)
        self.assertEqual(rows["good"], ["2", "0", "0", "0"], out)
        self.assertEqual(rows["bad"], ["2", "2", "0", "0"], out)
        self.assertEqual(rows["slow"], ["2", "0", "2", "0"], out)
        self.assertEqual(rows["aborted"], ["2", "2", "0", "0"], out)
        self.assertEqual(rows["skipped"], ["2", "0", "0", "2"], out)
        self.assertNotIn("other", rows)
        self.assertIn("10 runs of 5 tests, 6 failed or hung", out)

    def test_chooses_by_name(self):
        code, rows, out = self.run_flakes("3", "-R", "oo|other")
        self.assertEqual(code, 0, out)
        self.assertEqual(rows["other"], ["3", "0", "0", "0"])
        self.assertEqual(rows["good"], ["3", "0", "0", "0"])
        self.assertNotIn("bad", rows)

    def test_rounds_add_up_over_several_calls(self):
        with tempfile.TemporaryDirectory(prefix="impart-flakes-") as folder:
            kept = pathlib.Path(folder) / "kept.jsonl"
            self.assertEqual(self.run_flakes("1", "-R", "good", "--keep", kept)[0], 0)
            _, rows, out = self.run_flakes("3", "-R", "good|bad", "--keep", kept)
            self.assertEqual(rows["good"], ["3", "0", "0", "0"], out)
            self.assertEqual(rows["bad"], ["2", "2", "0", "0"], out)
            self.assertIn("bad: has no result in some round", out)
            lines = [json.loads(line) for line in kept.read_text().splitlines()]
            self.assertEqual(sorted((line["round"], line["test"], line["verdict"]) for line in lines),
                             [(1, "good", "passed"), (2, "bad", "failed"), (2, "good", "passed"),
                              (3, "bad", "failed"), (3, "good", "passed")])
            self.assertLessEqual({"commit", "seconds"}, set(lines[0]))
            self.assertEqual(self.run_flakes("3", "-R", "good", "--keep", kept)[0], 1,
                             "what failed earlier still counts")

    def test_says_that_there_is_no_such_test(self):
        self.assertEqual(self.run_flakes("1", "-R", "nothing")[0], 1)


class LimitsTest(unittest.TestCase):
    def test_what_meets_others_is_run_again_and_what_is_alone_is_not(self):
        shown = subprocess.run(["ctest", "--test-dir", BUILD, "-N", "-L", "^concurrent$"],
                               capture_output=True, text=True, check=True).stdout
        names = set(re.findall(r"Test +#\d+: (\S+)", shown))
        self.assertLessEqual({"comm_4_processes", "store_faults", "train_terminal.WidthTest",
                              "train_resume.KillTest"}, names)
        for alone in ["docs", "install", "python_wheel", "train_trained", "train_bad_input", "rooms"]:
            self.assertEqual([name for name in names if name.startswith(alone)], [])

    def test_every_test_of_this_build_has_a_limit(self):
        shown = subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1"],
                               capture_output=True, text=True, check=True).stdout
        tests = json.loads(shown)["tests"]
        self.assertGreater(len(tests), 0)
        without = [test["name"] for test in tests
                   if "TIMEOUT" not in [p["name"] for p in test["properties"]]]
        self.assertEqual(without, [])


if __name__ == "__main__":
    unittest.main()
