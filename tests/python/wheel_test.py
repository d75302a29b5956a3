#!/usr/bin/env python3
"""`pip wheel .` makes a package that installs into a clean environment and passes the tests there.

    python3 wheel_test.py path/to/sources path/to/impart path/to/build

The build uses Debian's setuptools and pybind11, so that it needs no network. The command is taken
from the build; what compiles it otherwise is the build without torch, which has tests of its own.
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
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
TESTS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(TESTS.parent / "support"))
from class_folder import ClassFolderTest, files_in  # noqa: E402

# Tests that measure nothing: others may run beside this one.
UNMEASURED = ["CommandTest", "CallableTest", "WrongInputTest"]
# What every Linux with a C++ runtime has.
EVERYWHERE = {"linux-vdso.so.1", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6",
              "ld-linux-x86-64.so.2", "libpthread.so.0"}


# A cmake that cannot do one thing: its first argument, or an option among them, as a pattern.
UNABLE = """#!/bin/sh
case " $* " in
  *" {pattern} "*) printf '{message}' >&2; exit 1 ;;
esac
exec {cmake} "$@"
"""


def copy_sources(folder):
    """What a build leaves behind does not belong into the sources."""
    for name in ["impart", "python", "cmake", "cli", "presets", "tools"]:
        shutil.copytree(SOURCES / name, folder / name)
    for name in ["CMakeLists.txt", "pyproject.toml", "setup.py", "README.md"]:
        shutil.copy(SOURCES / name, folder)


def missing():
    """What the build lacks here; empty if nothing."""
    for module in ["pip", "wheel", "setuptools", "pybind11", "venv", "numpy"]:
        if subprocess.run([sys.executable, "-c", f"import {module}"],
                          capture_output=True).returncode:
            return f"needs Python's {module}"
    return ""


@unittest.skipIf(missing(), missing())
class WheelTest(ClassFolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        cls.environment["CCACHE_BASEDIR"] = str(cls.folder)  # what was compiled before stays known
        cls.environment["IMPART_BUILD"] = str(BUILD)
        cls.environment["CMAKE_ARGS"] = "-DCMAKE_CXX_FLAGS_RELEASE=-O0"  # nothing is measured here
        copy_sources(cls.folder / "sources")
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
        self.check_command(pathlib.Path(site.strip()) / "bin" / "impart")
        found = self.run_or_fail(python, "-c", "import sys, impart; print(impart.__file__); "
                                 "assert 'torch' not in sys.modules")
        self.assertIn(str(self.folder / "clean"), found)
        for test in ["tracker", "observe", "tracker_state", "device", "partition", "sampler",
                     "sampler_resume", "sampler_misuse", "distributed"]:
            with self.subTest(test):
                self.run_or_fail(python, TESTS / f"{test}_test.py",
                                 *([IMPART, *UNMEASURED] if test == "partition" else []))

    def check_command(self, impart):
        self.assertIn("stripes", self.run_or_fail(impart, "list", "heuristics"))
        presets = impart.parents[1] / "share" / "impart" / "presets"
        self.assertEqual(files_in(presets), files_in(SOURCES / "presets"))
        self.assertIn(".TH impart\\-train 1",
                      (impart.parents[1] / "share" / "man" / "man1" / "impart-train.1").read_text())
        self.run_or_fail(impart, "train", presets / "quick.yaml", "epochs=1", "partition.warmup=0",
                         "importance.ignore=0", "data.train_examples=64", "data.test_examples=32",
                         "threads=1", f"output={self.folder / 'run'}")
        self.assertTrue((self.folder / "run" / "summary.json").exists())


@unittest.skipIf(missing(), missing())
class WithoutCommandTest(unittest.TestCase):
    """Where the command cannot be built, what is installed in its place says why."""

    def left_instead(self, pattern, message):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            copy_sources(folder / "sources")
            (folder / "cmake").write_text(UNABLE.format(pattern=pattern, message=message,
                                                        cmake=shutil.which("cmake")))
            (folder / "cmake").chmod(0o755)
            environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "IMPART_BUILD": "none"}
            build = subprocess.run([sys.executable, "setup.py", "build_scripts"], text=True,
                                   cwd=folder / "sources", env=environment, capture_output=True)
            self.assertEqual(build.returncode, 0, build.stdout + build.stderr)
            script, = (folder / "sources").glob("build/scripts-*/impart")
            said = subprocess.run([script, "train"], capture_output=True, text=True)
            self.assertEqual(said.returncode, 2)
            self.assertIn(said.stderr, build.stderr)
            return said.stderr

    def refusal(self, message):
        """What is said where the core cannot be built, since CMake says `message`, or is not there."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            copy_sources(folder / "sources")
            if message:
                (folder / "cmake").write_text(UNABLE.format(pattern="-DIMPART_PYTHON=ON", cmake="false",
                                                            message=message))
                (folder / "cmake").chmod(0o755)
            build = subprocess.run([sys.executable, "setup.py", "build_ext"], text=True,
                                   cwd=folder / "sources", capture_output=True,
                                   env={**os.environ, "PATH": f"{folder}"})
            self.assertEqual(build.returncode, 1, build.stdout + build.stderr)
            self.assertNotIn("Traceback", build.stderr)
            return build.stderr.strip().splitlines()[-1]

    def test_what_the_package_itself_lacks_is_named_with_its_packages(self):
        for message, missing in [
                ("", "cmake was missing"),
                ("CMake Error: CMake was unable to find a build program", "ninja or make was missing"),
                ("No CMAKE_CXX_COMPILER could be found.", "a compiler was missing"),
                (r'a configuration file provided by\n  "fmt" with', "fmt was missing"),
                ("Could NOT find Python (missing: Development.Module)",
                 "what Python's modules are compiled with was missing"),
                ("Could not find XXHash_INCLUDE_DIR using the following files: xxhash.h", "XXHash was missing"),
                ("something else", "CMake failed, as it says above")]:
            with self.subTest(missing):
                self.assertEqual(self.refusal(message), f"error: impart was not installed, because {missing}: "
                                 "'apt install g++ cmake ninja-build python3-dev libfmt-dev nlohmann-json3-dev "
                                 "libxxhash-dev' brings all it needs")

    def test_a_missing_library_is_named_with_all_packages(self):
        for message in [r"CMake Error:\n  Could NOT find CURL (missing: CURL_LIBRARY)\n",
                        r'CMake Error:\n  Could not find a configuration file provided by\n  "CURL"\n']:
            said = self.left_instead("-DIMPART_COMMAND=ON", message)
            self.assertIn("because CURL was missing: 'apt install", said)
            self.assertIn(" libcurl4-openssl-dev ", said)

    def test_what_an_earlier_try_has_left_does_not_matter(self):
        """It may have known another generator: a cache of it is not read."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            copy_sources(folder / "sources")
            (folder / "cmake").write_text('#!/bin/sh\necho "$@" >> asked\nexit 1\n')
            (folder / "cmake").chmod(0o755)
            subprocess.run([sys.executable, "setup.py", "build"], cwd=folder / "sources", capture_output=True,
                           env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "IMPART_BUILD": "none"})
            asked = (folder / "sources" / "asked").read_text().splitlines()
            self.assertTrue(asked)
            for line in asked:
                self.assertTrue(line.startswith("--fresh "), line)

    def test_an_error_of_the_compiler_leads_to_the_log(self):
        said = self.left_instead("--build", "")
        self.assertIn("because it did not compile: 'pip install -v .'", said)


if __name__ == "__main__":
    unittest.main()
