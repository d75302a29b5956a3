#!/usr/bin/env python3
"""Presets, and configurations without the engine: python3 presets_test.py path/to/impart"""

import os
import shutil
import subprocess
import unittest

from commands import IMPART, CommandTest


class PresetsTest(CommandTest):
    def test_presets_have_names_in_every_folder(self):
        names = [line.split()[0] for line in self.succeed("list", "presets").splitlines()[1:]]
        self.assertTrue({"quick", "lm/generated", "dais/base"} <= set(names), names)
        for name in names:
            first = self.succeed("train", name, "--dry-run").splitlines()[0]
            self.assertRegex(first, rf"^# preset {name}: /.*/presets/{name}\.yaml$")
        self.assertIn("  quick ", self.succeed("list", "studies"))
        done = self.impart("study", "quick", "--dry-run")
        self.assertIn("4 arms", done.stdout)
        self.assertRegex(done.stderr, r"^preset quick: /.*/presets/studies/quick\.yaml\n$")

    def test_machines_have_names_and_are_no_presets(self):
        listed = self.succeed("list", "machines").splitlines()
        self.assertEqual([line.split()[0] for line in listed[1:]], [
            "ethernet-10g", "ethernet-1g", "ethernet-25g", "fabric-100g", "fabric-200g", "file-system-10g"])
        self.assertIn("1 Gb/s Ethernet, a SATA disk in each node.", "\n".join(listed))
        self.assertNotIn("ethernet", self.succeed("list", "presets"))

    def test_a_file_wins_over_a_preset_of_its_name(self):
        os.mkdir(self.folder / "quick")
        self.assertIn("name: quick\n", self.succeed("train", "quick", "--dry-run"))
        os.rmdir(self.folder / "quick")
        self.write("quick", "name: mine\n")
        self.assertTrue(self.succeed("train", "quick", "--dry-run").startswith(
            "# file quick, not the preset of that name\nname: mine\n"))
        self.write("mine.yaml", "name: mine\n")
        self.assertTrue(self.succeed("train", "mine.yaml", "--dry-run").startswith("name: mine\n"))

    def test_presets_that_are_not_there(self):
        for name, meant in {"qiuck": "quick", "quick.yaml": "quick", "imdb-bpe": "lm/imdb-bpe"}.items():
            self.fail_with(2, f"there is no file '{name}' and no preset of that name; did you mean "
                           f"'{meant}'?", "train", name, "--dry-run")
        self.fail_with(2, "see 'impart list studies'", "study", "everything")
        self.fail_with(2, "is a folder; give a YAML file", "train", ".", "--dry-run")
        self.write("empty.yaml", "")
        self.fail_with(2, "empty.yaml: is empty; give a YAML file", "train", "empty.yaml", "--dry-run")

    def test_presets_of_other_commands_are_told_theirs(self):
        for command, name, meant in [("train", "skew", "study skew"),
                                     ("study", "lm/generated", "train lm/generated"),
                                     ("train", "ethernet-1g", "io --machine ethernet-1g")]:
            self.fail_with(2, f"'{name}' is for another command: impart {meant}", command, name,
                           "--dry-run")

    def test_presets_of_ones_own(self):
        (self.folder / "own/studies").mkdir(parents=True)
        self.write("own/mine.yaml", "# My settings. And more.\nname: mine\n")
        own = dict(os.environ, IMPART_PRESETS=str(self.folder / "own"))
        listed = subprocess.run([IMPART, "list", "presets"], env=own, text=True, capture_output=True,
                                check=True).stdout
        self.assertEqual(listed.splitlines()[1:], [f"  {'mine':<38} My settings."])
        own["IMPART_PRESETS"] = str(self.folder / "none")
        done = subprocess.run([IMPART, "list", "presets"], env=own, text=True, capture_output=True,
                              check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("IMPART_PRESETS: there is no folder", done.stderr)

    def test_presets_work_for_any_number_of_epochs(self):
        shown = self.succeed("train", "quick", "epochs=3", "--dry-run")
        self.assertIn('  warmup: "50%"  # of 3 epochs: 2\n', shown)
        self.assertIn('  interval: "25%"  # of 3 epochs: 1\n', shown)

    def test_configurations_are_explained_and_checked_without_the_engine(self):
        shutil.copy2(IMPART, self.folder / "impart")
        alone = lambda *args: subprocess.run(["./impart", "train", *args], cwd=self.folder,
                                             text=True, capture_output=True, check=False)
        self.assertIn("data.coarse", alone("--keys").stdout)
        self.assertIn("epochs: 4", alone("--dry-run", "epochs=4").stdout)
        for setting, message in {
                "model.name=gpt-mini": "gpt-mini is for language, but data.name: shapes is images",
                "data.coarse=true": "data.coarse: true needs data.name: cifar100",
                "model.name=resnet81": "unknown model 'resnet81', did you mean 'resnet18'?"}.items():
            done = alone("--dry-run", setting)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)
        done = alone("epochs=4")
        self.assertEqual(done.returncode, 2)
        self.assertIn("this needs impart-engine, which computes with models", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
