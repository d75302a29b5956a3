"""Builds the package's compiled core and the command `impart` with CMake.

The core needs CMake 3.25, a compiler for C++20 and the headers of Python, fmt, nlohmann-json and
xxHash (Debian: python3-dev libfmt-dev nlohmann-json3-dev libxxhash-dev). Everything is compiled in: what is built
needs the C++ runtime and nothing else.

The command needs the libraries of tools/packages-command.txt, and links to those of this machine.
If one is missing, the package is installed all the same, with a command that says which. Training
comes from a build folder that has it: that of the environment variable IMPART_BUILD, or
build/release, which ./quickstart leaves; without one, all other commands are compiled here.

The environment variable CMAKE_ARGS holds more arguments for CMake.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import PlatformError

try:
    from setuptools.command.build_scripts import build_scripts
except ImportError:  # before setuptools 63
    from distutils.command.build_scripts import build_scripts
from distutils.command.install_data import install_data  # setuptools brings it

ROOT = pathlib.Path(__file__).resolve().parent
#: Debian's, for the core alone.
CORE_PACKAGES = "g++ cmake ninja-build python3-dev libfmt-dev nlohmann-json3-dev libxxhash-dev"


def version():
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"project\(impart VERSION ([0-9.]+)", text)[1]


def cmake(*arguments, **options):
    return subprocess.run(["cmake", *(str(each) for each in arguments)], check=True, **options)


def configure(build, *settings, **options):
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    # Fresh: an earlier try may have had other programs.
    cmake("--fresh", "-S", ROOT, "-B", build, *generator, "-DCMAKE_BUILD_TYPE=Release", "-DIMPART_TESTS=OFF",
          "-DIMPART_BENCH=OFF", "-DIMPART_INSTALL=OFF", *(f"-D{each}" for each in settings),
          *shlex.split(os.environ.get("CMAKE_ARGS", "")), **options)


class BuildCore(build_ext):
    """The module impart._core."""

    def build_extension(self, extension):
        import pybind11

        target = pathlib.Path(self.get_ext_fullpath(extension.name)).resolve().parent
        build = (pathlib.Path(self.build_temp) / "core").resolve()
        try:
            configure(build, "IMPART_PYTHON=ON", "IMPART_PORTABLE=ON", "IMPART_DECISIONS_ONLY=ON",
                      "IMPART_COMMAND=OFF", f"Python_EXECUTABLE={sys.executable}",
                      f"pybind11_DIR={pybind11.get_cmake_dir()}", stderr=subprocess.PIPE, text=True)
        except (FileNotFoundError, subprocess.CalledProcessError) as error:
            raise PlatformError(why_not_built(error)) from None
        cmake("--build", build, "--target", "impart_python", "--parallel")
        target.mkdir(parents=True, exist_ok=True)
        for module in (build / "python" / "impart").glob("_core.*.so"):
            shutil.copy2(module, target)


class BuildCommand(build_scripts):
    """The programs of the command; they find presets in share/impart beside their own folder."""

    def run(self):
        scripts = pathlib.Path(self.build_dir)
        shutil.rmtree(scripts, ignore_errors=True)
        scripts.mkdir(parents=True)
        try:
            for program in self.programs():
                shutil.copy2(program, scripts)
        except subprocess.CalledProcessError as error:
            sentence = why_left_out(error)
            print(f"impart: {sentence}", file=sys.stderr)
            leave_note(scripts / "impart", sentence)

    def get_source_files(self):
        return []

    def programs(self):
        work = pathlib.Path(self.get_finalized_command("build").build_temp).resolve()
        build = ROOT / os.environ.get("IMPART_BUILD", "build/release")
        if not (build / "bin" / "impart-engine").exists():
            build = work / "command"
            configure(build, "IMPART_COMMAND=ON", "IMPART_TORCH=OFF", "IMPART_MPI=OFF",
                      stderr=subprocess.PIPE, text=True)
            cmake("--build", build, "--target", "impart", "--parallel")
        cmake("--install", build, "--component", "command", "--prefix", work / "prefix", "--strip")
        return (work / "prefix" / "bin").iterdir()


class InstallData(install_data):
    """Presets, and the manual pages, which the command writes."""

    def run(self):
        command = pathlib.Path(self.get_finalized_command("build_scripts").build_dir) / "impart"
        pages = pathlib.Path(self.get_finalized_command("build").build_temp) / "man"
        if subprocess.run([command.resolve(), "man", "--write", pages], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0:
            self.data_files.append(("share/man/man1", sorted(map(str, pages.iterdir()))))
        super().run()


def missing_in(text):
    """What CMake says that it did not find; empty if it says nothing of the kind."""
    found = re.search(r'Could NOT find (\w+)|provided by\s+"([\w-]+)"|Could not find (\w+)_INCLUDE_DIR', text)
    if found:
        name = found[1] or found[2] or found[3]
        return "what Python's modules are compiled with" if name == "Python" else name
    for words, what in [("unable to find a build program", "ninja or make"),
                        ("_COMPILER could be found", "a compiler")]:
        if words in text:
            return what
    return ""


def why_not_built(error):
    """A sentence for the user: `error` is of CMake, or says that there is none."""
    text = getattr(error, "stderr", None) or ""
    print(text, file=sys.stderr)
    missing = "cmake" if isinstance(error, FileNotFoundError) else missing_in(text)
    because = f"{missing} was missing" if missing else "CMake failed, as it says above"
    return f"impart was not installed, because {because}: 'apt install {CORE_PACKAGES}' brings all it needs"


def why_left_out(error):
    """A sentence for the user: `error` is of CMake, of the compiler if it has no text."""
    missing = missing_in(error.stderr or "")
    if not missing:
        print(error.stderr or "", file=sys.stderr)
        return ("the command was left out when the Python package was installed, because it did not "
                "compile: 'pip install -v .' in impart's sources shows why")
    packages = (ROOT / "tools" / "packages-command.txt").read_text().splitlines()
    return ("the command was left out when the Python package was installed, because "
            f"{missing} was missing: 'apt install "
            f"{' '.join(each for each in packages if not each.startswith('#'))}', then "
            "'pip install --force-reinstall .' in impart's sources brings it")


def leave_note(script, sentence):
    script.write_text(f"#!/bin/sh\necho {shlex.quote('impart: ' + sentence)} >&2\nexit 2\n")
    script.chmod(0o755)


def presets():
    """As data_files wants them: (folder, files)."""
    folders = [ROOT / "presets", *(each for each in (ROOT / "presets").rglob("*") if each.is_dir())]
    return [(f"share/impart/{folder.relative_to(ROOT)}",
             sorted(str(each.relative_to(ROOT)) for each in folder.iterdir() if each.is_file()))
            for folder in sorted(folders)]


setup(
    version=version(),
    packages=["impart"],
    package_dir={"impart": "python/impart"},
    package_data={"impart": ["py.typed", "*.pyi"]},
    data_files=presets(),
    scripts=["impart"],
    ext_modules=[Extension("impart._core", sources=[])],
    cmdclass={"build_ext": BuildCore, "build_scripts": BuildCommand, "install_data": InstallData},
)
