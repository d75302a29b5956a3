#!/usr/bin/env python3
"""cpack makes Debian packages: python3 package_test.py CPACK BUILD

Only that of the command is made here; the other differs in what it lists.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

CPACK, BUILD = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/support"))
from class_folder import ClassFolderTest, files_in  # noqa: E402

SHORT = ["epochs=1", "partition.warmup=0", "importance.ignore=0", "data.train_examples=64",
         "data.test_examples=32", "threads=1", "output=run"]


def run(*command):
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise AssertionError(f"{command} failed:\n{done.stdout[-4000:]}")
    return done.stdout


@unittest.skipUnless(shutil.which("dpkg-shlibdeps"), "needs dpkg-dev")
class Packages(ClassFolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        run(CPACK, "--config", BUILD / "CPackConfig.cmake", "-B", cls.folder,
            "-D", "CPACK_COMPONENTS_ALL=command", "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip")
        cls.package, = cls.folder.glob("impart_*.deb")
        cls.fields = dict(re.findall(r"^ (\w[\w-]*): (.*)$", run("dpkg-deb", "-I", cls.package), re.M))
        run("dpkg-deb", "-x", cls.package, cls.folder / "root")

    def test_it_depends_on_the_libraries_it_uses(self):
        needed = set(re.split(r"[ ,|]+", self.fields["Depends"]))
        for library in ["libyaml-cpp0.7", "libarchive13", "libtorch1.13", "libc6"]:
            self.assertIn(library, needed)
        self.assertEqual(self.fields["Package"], "impart")

    def test_it_has_the_commands_and_the_presets_and_no_library(self):
        root = self.folder / "root" / "usr"
        self.assertIn("stripes", run(root / "bin" / "impart", "list", "heuristics"))
        presets = root / "share" / "impart" / "presets"
        self.assertEqual(files_in(presets), files_in(SOURCE / "presets"))
        self.assertEqual(list(root.rglob("*.a")), [])

    def test_the_command_finds_the_engine_beside_it_or_in_path_or_says_what_to_install(self):
        root = self.folder / "root" / "usr"
        alone = shutil.copy(root / "bin" / "impart", self.folder / "impart")

        def train(impart, path, *more):
            return subprocess.run(
                [impart, "train", root / "share" / "impart" / "presets" / "quick.yaml", *SHORT,
                 "--overwrite", *more], env={"PATH": path}, cwd=self.folder, text=True,
                capture_output=True)

        for impart, path in [(root / "bin" / "impart", "/none"), (alone, f"/none:{root / 'bin'}")]:
            done = train(impart, path)
            self.assertEqual(done.returncode, 0, done.stderr)
        done = train(alone, "/none")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "^impart: this needs impart-engine, .*: install impart's Debian package")
        done = train(alone, "/none", "epochs=0")  # what is wrong is found without the engine
        self.assertEqual(done.returncode, 2)
        self.assertIn("'epochs=0': '0' is out of range", done.stderr)


if __name__ == "__main__":
    unittest.main()
