#!/usr/bin/env python3
"""`pip wheel .` makes a package that installs into a clean environment and passes the tests there.

    python3 wheel_test.py path/to/sources path/to/impart

The build uses Debian's setuptools and pybind11, so that it needs no network.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

SOURCES = pathlib.Path(sys.argv.pop(1)).resolve()
IMPART = pathlib.Path(sys.argv.pop(1)).resolve()
TESTS = pathlib.Path(__file__).resolve().parent
# Tests that measure nothing: others may run beside this one.
UNMEASURED = ["CommandTest", "CallableTest", "WrongInputTest"]
# What every Linux with a C++ runtime has.
EVERYWHERE = {"linux-vdso.so.1", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6",
              "ld-linux-x86-64.so.2", "libpthread.so.0"}


def missing():
    """What the build lacks here; empty if nothing."""
    for module in ["pip", "wheel", "setuptools", "pybind11", "venv", "numpy"]:
        if subprocess.run([sys.executable, "-c", f"import {module}"],
                          capture_output=True).returncode:
            return f"needs Python's {module}"
    return ""


@unittest.skipIf(missing(), missing())
class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        cls.environment["CCACHE_BASEDIR"] = folder.name  # what was compiled before stays known
        # A copy: what a build leaves behind does not belong into the sources.
        copy = cls.folder / "sources"
        for name in ["impart", "python", "cmake"]:
            shutil.copytree(SOURCES / name, copy / name)
        for name in ["CMakeLists.txt", "pyproject.toml", "setup.py", "README.md"]:
            shutil.copy(SOURCES / name, copy)
        cls.run_or_fail(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps",
                        "--no-index", "-w", "wheels", "./sources")
        cls.wheel, = (cls.folder / "wheels").glob("impart-*.whl")

    @classmethod
    def run_or_fail(cls, *command, **options):
        done = subprocess.run([str(part) for part in command], cwd=cls.folder, env=cls.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
        if done.returncode:
            raise AssertionError(f"{command} failed:\n{done.stdout[-6000:]}")
        return done.stdout

    def test_it_has_all_parts_and_needs_nothing_else(self):
        with zipfile.ZipFile(self.wheel) as archive:
            archive.extractall(self.folder / "unpacked")
            names = set(archive.namelist())
        sources = {f"impart/{path.name}" for path in (SOURCES / "python" / "impart").iterdir()
                   if path.suffix in (".py", ".pyi") or path.name == "py.typed"}
        self.assertLessEqual(sources, names)
        module, = (self.folder / "unpacked" / "impart").glob("_core.*.so")
        libraries = {pathlib.Path(line.split()[0]).name
                     for line in self.run_or_fail("ldd", module).splitlines()}
        self.assertLessEqual(libraries, EVERYWHERE)

    def test_it_works_in_a_clean_environment(self):
        self.run_or_fail(sys.executable, "-m", "venv", "--without-pip", "clean")
        python = self.folder / "clean" / "bin" / "python"
        site = self.run_or_fail(python, "-c", "import site; print(site.getsitepackages()[0])")
        self.run_or_fail(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index",
                         "--target", site.strip(), self.wheel)
        # NumPy is its one dependency: Debian's is lent, and with it nothing that shadows the wheel.
        where = self.run_or_fail(
            sys.executable, "-c", "import numpy, torch, pathlib; print(pathlib.Path(numpy.__file__)"
            ".parents[1])").strip()
        (pathlib.Path(site.strip()) / "lent.pth").write_text(where + "\n")
        found = self.run_or_fail(python, "-c", "import sys, impart; print(impart.__file__); "
                                 "assert 'torch' not in sys.modules")
        self.assertIn(str(self.folder / "clean"), found)
        for test in ["tracker", "observe", "tracker_state", "device", "partition", "sampler",
                     "sampler_resume", "sampler_misuse", "distributed"]:
            with self.subTest(test):
                self.run_or_fail(python, TESTS / f"{test}_test.py",
                                 *([IMPART, *UNMEASURED] if test == "partition" else []))


if __name__ == "__main__":
    unittest.main()
