"""Builds the package's compiled core with CMake.

Needs CMake 3.25, a compiler for C++20 and the headers of fmt, nlohmann-json and xxHash
(Debian: libfmt-dev nlohmann-json3-dev libxxhash-dev). Everything is compiled in: what is built
needs the C++ runtime and nothing else.
"""

import pathlib
import re
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent


def version():
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"project\(impart VERSION ([0-9.]+)", text)[1]


class CMakeBuild(build_ext):
    def build_extension(self, extension):
        import pybind11

        target = pathlib.Path(self.get_ext_fullpath(extension.name)).resolve().parent
        build = (pathlib.Path(self.build_temp) / "cmake").resolve()
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        subprocess.run(
            ["cmake", "-S", str(ROOT), "-B", str(build), *generator, "-DCMAKE_BUILD_TYPE=Release",
             "-DIMPART_PYTHON=ON", "-DIMPART_PORTABLE=ON", "-DIMPART_DECISIONS_ONLY=ON",
             "-DIMPART_COMMAND=OFF", "-DIMPART_TESTS=OFF", "-DIMPART_BENCH=OFF",
             "-DIMPART_INSTALL=OFF",
             f"-DPython_EXECUTABLE={sys.executable}", f"-Dpybind11_DIR={pybind11.get_cmake_dir()}"],
            check=True)
        subprocess.run(["cmake", "--build", str(build), "--target", "impart_python", "--parallel"],
                       check=True)
        target.mkdir(parents=True, exist_ok=True)
        for module in (build / "python" / "impart").glob("_core.*.so"):
            shutil.copy2(module, target)


setup(
    version=version(),
    packages=["impart"],
    package_dir={"impart": "python/impart"},
    package_data={"impart": ["py.typed", "*.pyi"]},
    ext_modules=[Extension("impart._core", sources=[])],
    cmdclass={"build_ext": CMakeBuild},
)
