#!/usr/bin/env python3
"""Installs a build and uses it as others would: python3 install_test.py CMAKE BUILD SCRATCH"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

from headers_test import PARTS, public_headers

CMAKE, BUILD, SCRATCH = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1)), pathlib.Path(sys.argv.pop(1))
SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/support"))
from class_folder import files_in  # noqa: E402

EXAMPLES = SOURCE / "examples" / "cpp"
PREFIX = SCRATCH / "prefix"
# Objects come out of the cache in the next run: the paths are always the same.
LAUNCHER = [f"-DCMAKE_CXX_COMPILER_LAUNCHER={shutil.which('ccache')}"] if shutil.which("ccache") else []
# What the component `core` must not look for.
HEAVY = ["Torch", "MPI", "OpenMP", "Protobuf", "nlohmann_json", "yaml-cpp", "JPEG", "CURL"]


def run(*command, cwd=None):
    return subprocess.run([str(word) for word in command], cwd=cwd, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def configure(source, build, *options, prefix=PREFIX):
    return run(CMAKE, "-G", "Ninja", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Debug",
               "-DCMAKE_CXX_FLAGS_DEBUG=-O0", f"-DCMAKE_PREFIX_PATH={prefix}", *LAUNCHER, *options)


def setUpModule():
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    done = run(CMAKE, "--install", BUILD, "--prefix", PREFIX)
    if done.returncode != 0:
        raise RuntimeError(done.stdout)


class Installation(unittest.TestCase):
    def project(self, name, text):
        folder = SCRATCH / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.25)\nproject({name} LANGUAGES CXX)\n{text}\n")
        return folder

    def succeed(self, done):
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def refuse(self, message, name, text, *options, prefix=PREFIX):
        """Configuring a project with that text fails, and says so."""
        folder = self.project(name, text)
        done = configure(folder, folder / "build", *options, prefix=prefix)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn(message, re.sub(r"\s+", " ", done.stdout))

    def build_example(self, name, *options):
        build = SCRATCH / name
        self.succeed(configure(EXAMPLES / name, build, *options))
        self.succeed(run(CMAKE, "--build", build))
        return build / name


class Commands(Installation):
    def test_the_commands_work_from_the_prefix_with_the_presets_there(self):
        impart, presets = PREFIX / "bin" / "impart", PREFIX / "share" / "impart" / "presets"
        self.assertIn("stripes", self.succeed(run(impart, "list", "heuristics")))
        self.assertIn("small-cnn", self.succeed(run(impart, "list", "models")))
        config = self.succeed(run(impart, "train", presets / "quick.yaml", "--dry-run"))
        self.assertIn("heuristic:", config)
        named = self.succeed(run(impart, "train", "quick", "--dry-run", cwd="/"))
        self.assertIn(f"# preset quick: {presets / 'quick.yaml'}", named)
        for made in ["man/man1/impart-train.1", "bash-completion/completions/impart",
                     "zsh/site-functions/_impart", "fish/vendor_completions.d/impart.fish"]:
            self.assertTrue((PREFIX / "share" / made).is_file(), made)
        self.assertEqual(files_in(presets), files_in(SOURCE / "presets"))

    def test_headers_of_the_list_are_there_and_nothing_else(self):
        found = set(map(str, files_in(PREFIX / "include")))
        self.assertEqual(found, {name for part in PARTS for name in public_headers(part)})

    def test_each_header_compiles_alone(self):
        """Those with torch take 6 s each: all of them at once, and once more in the other order."""
        text = f"find_package(impart REQUIRED COMPONENTS {' '.join(PARTS)})\n"
        folder = self.project("headers", text)
        for part, target in zip(PARTS, ["placement", "report", "train"]):
            headers = public_headers(part)
            groups = [headers, headers[::-1]] if part == "train" else [[name] for name in headers]
            files = [f"{part}_{number}.cpp" for number in range(len(groups))]
            for file, group in zip(files, groups):
                (folder / file).write_text("".join(f'#include "{name}"\n' for name in group))
            text += (f"add_library({part} OBJECT {' '.join(files)})\n"
                     f"target_compile_options({part} PRIVATE -fsyntax-only)\n"
                     f"target_link_libraries({part} PRIVATE impart::{target})\n")
        self.project("headers", text)
        # -fsyntax-only writes no objects, so the compiler's commands are run by themselves.
        self.succeed(configure(folder, folder / "build", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
                               "-DCMAKE_CXX_COMPILER_LAUNCHER="))
        commands = json.loads((folder / "build" / "compile_commands.json").read_text())
        self.assertEqual(len(commands), sum(len(public_headers(part)) for part in PARTS[:2]) + 2)
        with ThreadPoolExecutor(2) as pool:
            for done in pool.map(lambda each: run(*shlex.split(each["command"]),
                                                  cwd=each["directory"]), commands):
                self.succeed(done)

    def test_the_package_names_no_folder_of_the_build_or_the_source(self):
        for path in (PREFIX / "lib").glob("cmake/impart/*"):
            text = path.read_text()
            for folder in {str(BUILD), str(SOURCE)}:
                self.assertNotIn(folder + "/", text, path)
            self.assertNotIn("-Werror", text, path)
            self.assertNotIn("-Wall", text, path)


class Examples(Installation):
    def test_partition_only_needs_no_torch_and_no_mpi(self):
        without = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in HEAVY]
        example = self.build_example("partition_only", *without)
        lines = self.succeed(run(example)).splitlines()
        moved = [int(re.search(r"moved +(\d+)", line)[1]) for line in lines]
        self.assertEqual(len(lines), 4)
        self.assertEqual(moved[1], 0)
        self.assertLess(moved[3], 0.5 * moved[2])
        self.assertNotIn("torch", self.succeed(run("ldd", example)))
        bad = run(example, SCRATCH / "no.csv")
        self.assertEqual(bad.returncode, 1)
        self.assertIn("no.csv", bad.stdout)

    def test_your_own_heuristic_keeps_the_contract_and_trains(self):
        example = self.build_example("your_own_heuristic")
        folder = SCRATCH / "heuristic_runs"
        folder.mkdir()
        said = self.succeed(run(example, "model.name=mlp", "data.train_examples=500", cwd=folder))
        self.assertIn("the heuristic keeps the contract", said)
        self.assertIn("epoch 6: test accuracy", said)
        self.assertIn("partition: heuristic", said)
        recorded = (folder / "runs" / "double-stripes-1" / "config.yaml").read_text()
        self.assertIn("heuristic: double-stripes", recorded)
        wrong = run(example, "partition.heuristic=duble-stripes", cwd=folder)
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("did you mean 'double-stripes'?", wrong.stdout)

    def test_train_your_model_learns_its_own_data_on_one_and_two_processes(self):
        example = self.build_example("train_your_model")
        mpirun = shutil.which("mpirun")
        for processes in [1, 2] if mpirun else [1]:
            folder = SCRATCH / f"model_runs_{processes}"
            folder.mkdir()
            start = [mpirun, "-n", processes] if processes > 1 else []
            said = self.succeed(run(*start, example, cwd=folder))
            self.assertEqual(said.count("test accuracy"), 12, said)
            self.assertIn("the point (-0.5, 0) is on arm 0", said)
            summary = json.loads((folder / "runs" / "spiral-1" / "summary.json").read_text())
            self.assertGreater(summary["best_accuracy"], 90)
            self.assertEqual(summary["processes"], processes)


class Package(Installation):
    def test_an_unknown_component_is_refused_by_name(self):
        self.refuse("there is no component 'trian' in this installation; it has: core, study, train",
                    "unknown", "find_package(impart REQUIRED COMPONENTS core trian)")

    def test_an_unknown_component_that_is_optional_is_not_found(self):
        folder = self.project("optional", "find_package(impart REQUIRED COMPONENTS core "
                              "OPTIONAL_COMPONENTS trian)\n"
                              "message(STATUS \"found: ${impart_core_FOUND} ${impart_trian_FOUND}\")")
        self.assertIn("found: TRUE FALSE", self.succeed(configure(folder, folder / "build")))

    def test_training_says_which_dependency_is_missing(self):
        self.refuse("Torch", "torchless", "find_package(impart REQUIRED COMPONENTS train)",
                    "-DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON")

    def test_another_minor_version_does_not_fit(self):
        version = re.search(r"VERSION (\d+)\.(\d+)", (SOURCE / "CMakeLists.txt").read_text().
                            split("project(", 1)[1])
        later = f"{version[1]}.{int(version[2]) + 1}"
        self.refuse(f'compatible with requested version "{later}"', "later",
                    f"find_package(impart {later} REQUIRED COMPONENTS core)")

    def test_all_that_was_built_comes_without_components(self):
        folder = self.project("everything", "find_package(impart REQUIRED)\n"
                              "foreach(name core importance placement comm config data store run models feed train "
                              "study results statistics report)\n"
                              "  get_target_property(kind impart::${name} TYPE)\n"
                              "  message(STATUS \"${name}: ${kind}\")\nendforeach()")
        said = self.succeed(configure(folder, folder / "build"))
        self.assertEqual(said.count("STATIC_LIBRARY"), 15, said)

    def package_of(self, name, *options):
        """The prefix, moved, with the package file of a build with these options."""
        build, moved = SCRATCH / f"{name}_build", SCRATCH / f"{name}_prefix"
        self.succeed(configure(SOURCE, build, *options, "-DIMPART_COMMAND=OFF",
                               "-DIMPART_TESTS=OFF", "-DIMPART_BENCH=OFF"))
        shutil.copytree(PREFIX, moved)
        shutil.copy(build / "impartConfig.cmake", moved / "lib" / "cmake" / "impart")
        return moved

    def test_a_build_without_torch_has_no_engine(self):
        moved = self.package_of("torchless", "-DIMPART_TORCH=OFF")
        self.refuse("there is no component 'train' in this installation; it has: core, study (it "
                    "was built with IMPART_TORCH=OFF)", "engineless",
                    "find_package(impart REQUIRED COMPONENTS train)", prefix=moved)
        folder = self.project("readers", "find_package(impart REQUIRED)\n"
                              "add_executable(uses uses.cpp)\n"
                              "target_link_libraries(uses PRIVATE impart::report)")
        (folder / "uses.cpp").write_text(
            '#include "impart/config/config_text.h"\n#include "impart/report/report.h"\n'
            "int main() { return impart::config::to_yaml({}).empty(); }\n")
        self.succeed(configure(folder, folder / "build", "-DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON",
                               prefix=moved))
        self.succeed(run(CMAKE, "--build", folder / "build"))
        self.succeed(run(folder / "build" / "uses"))

    def test_a_build_of_decisions_needs_fmt_and_xxhash_and_no_more(self):
        without = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in HEAVY]
        moved = self.package_of("decisions", "-DIMPART_DECISIONS_ONLY=ON")
        self.refuse("there is no component 'study' in this installation; it has: core (it was built "
                    "with IMPART_DECISIONS_ONLY=ON)", "studyless",
                    "find_package(impart REQUIRED COMPONENTS study)", prefix=moved)
        folder = self.project("core_only", "find_package(impart REQUIRED)\n"
                              "add_library(uses OBJECT uses.cpp)\n"
                              "target_link_libraries(uses PRIVATE impart::placement)")
        (folder / "uses.cpp").write_text('#include "impart/impart.h"\n')
        self.succeed(configure(folder, folder / "build", *without, prefix=moved))
        self.succeed(run(CMAKE, "--build", folder / "build"))

    def test_as_a_part_of_another_project_it_is_only_libraries(self):
        folder = self.project("embedding", f"set(IMPART_DECISIONS_ONLY ON)\nadd_subdirectory({SOURCE} impart)\n"
                              "add_library(uses OBJECT uses.cpp)\n"
                              "target_link_libraries(uses PRIVATE impart::placement)")
        (folder / "uses.cpp").write_text('#include "impart/placement/partition.h"\n')
        self.succeed(configure(folder, folder / "build"))
        targets = self.succeed(run(CMAKE, "--build", folder / "build", "--target", "help"))
        self.assertIn("libimpart_placement.a", targets)
        for name in ["placement_test", "partition_bench", "impart_cli"]:
            self.assertNotIn(name, targets)
        self.succeed(run(CMAKE, "--build", folder / "build", "--target", "uses"))


if __name__ == "__main__":
    unittest.main()
