#!/usr/bin/env python3
"""tools/campaign.py counts what it does and keeps what failed, shown on attacks made for it.

    python3 campaign_test.py
"""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools"))
import campaign  # noqa: E402

SCRIPT = """
import os, sys
print(f"killed {os.environ['TRIES']} times")
sys.exit(os.environ["IMPART_TEST_SEED"] == "7")
"""


class CampaignTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        (self.build / "bin").mkdir()
        (self.build / "bin" / "program").touch()
        script = self.build / "attack.py"
        script.write_text(SCRIPT)
        self.attack = campaign.Attack("made", "for this test", str(script), "program", (),
                                      ("TRIES", 3), r"killed (\d+) times")

    def run_campaign(self, *arguments):
        """(exit code, what was printed)"""
        printed = io.StringIO()
        with mock.patch.object(campaign, "ATTACKS", [self.attack]), \
             mock.patch.object(sys, "argv", ["campaign.py", "--build", str(self.build), *arguments]), \
             contextlib.redirect_stdout(printed), self.assertRaises(SystemExit) as end:
            campaign.main()
        return end.exception.code, printed.getvalue()

    def test_counts_tries(self):
        code, printed = self.run_campaign("--hours", "0")
        self.assertEqual(code, False, printed)
        self.assertIn("3 tries, 0 failed calls", printed)
        self.assertIn("5 tries, 0 failed", self.run_campaign("--hours", "0", "--tries", "5")[1])

    def test_goes_on_until_the_time_is_over(self):
        _, printed = self.run_campaign("--hours", str(0.5 / 3600), "--seed", "100")
        calls = int(printed.splitlines()[1].split()[1])
        self.assertGreater(calls, 1, printed)
        self.assertIn(f"{3 * calls} tries", printed)

    def test_keeps_what_failed_and_how_to_repeat_it(self):
        code, printed = self.run_campaign("--hours", "0", "--seed", "7")
        self.assertEqual(code, True)
        self.assertIn("made: failed with seed 7", printed)
        log = (self.build / "campaign" / "made-7.txt").read_text()
        self.assertIn("IMPART_TEST_SEED=7 TRIES=3", log.splitlines()[0])
        self.assertIn("killed 3 times", log)

    def test_unknown_attacks_and_missing_programs_are_named(self):
        self.assertIn("no attack other", self.run_campaign("other")[0])
        (self.build / "bin" / "program").unlink()
        self.assertIn("has no program", self.run_campaign()[0])

    def test_every_attack_is_a_script_that_is_there(self):
        for attack in campaign.ATTACKS:
            text = (ROOT / attack.script).read_text()
            for name in attack.classes:
                for part in name.split("."):
                    self.assertRegex(text, rf"(class|def) {part}\b", attack.name)
            if attack.tries[0]:
                self.assertIn(attack.tries[0], text, attack.name)


if __name__ == "__main__":
    unittest.main()
