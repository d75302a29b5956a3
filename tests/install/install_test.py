#!/usr/bin/env python3
"""Installs a build and uses it as others would: python3 install_test.py CMAKE BUILD SCRATCH"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

CMAKE, BUILD, SCRATCH = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1)), pathlib.Path(sys.argv.pop(1))
SOURCE = pathlib.Path(__file__).resolve().parents[2]
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
    return run(CMAKE, "-G", "Ninja", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
               f"-DCMAKE_PREFIX_PATH={prefix}", *LAUNCHER, *options)


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
        relative = lambda folder: {p.relative_to(folder) for p in folder.rglob("*") if p.is_file()}
        self.assertEqual(relative(presets), relative(SOURCE / "presets"))

    def test_headers_are_there_and_sources_are_not(self):
        include = PREFIX / "include" / "impart"
        self.assertTrue((include / "partition" / "heuristics.h").exists())
        self.assertTrue((include / "train" / "run.h").exists())
        self.assertEqual({p.suffix for p in PREFIX.glob("include/**/*") if p.is_file()}, {".h"})

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
        self.refuse("there is no component 'trian' in this installation; it has: core, train",
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
                              "foreach(name core importance partition comm data store models train "
                              "study results statistics report)\n"
                              "  get_target_property(kind impart::${name} TYPE)\n"
                              "  message(STATUS \"${name}: ${kind}\")\nendforeach()")
        said = self.succeed(configure(folder, folder / "build"))
        self.assertEqual(said.count("STATIC_LIBRARY"), 12, said)

    def test_a_build_without_the_engine_has_only_the_core(self):
        build = SCRATCH / "core_build"
        self.succeed(configure(SOURCE, build, "-DIMPART_TORCH=OFF", "-DIMPART_TESTS=OFF",
                               "-DIMPART_BENCH=OFF"))
        moved = SCRATCH / "moved_prefix"  # the package can be moved, too
        shutil.copytree(PREFIX, moved)
        package = moved / "lib" / "cmake" / "impart"
        shutil.copy(build / "impartConfig.cmake", package)
        (package / "impartTrainTargets.cmake").unlink()
        self.refuse("there is no component 'train' in this installation; it has: core (it was built "
                    "with IMPART_TORCH=OFF)", "engineless",
                    "find_package(impart REQUIRED COMPONENTS train)", prefix=moved)
        folder = self.project("core_only", "find_package(impart REQUIRED)\n"
                              "add_library(uses OBJECT uses.cpp)\n"
                              "target_link_libraries(uses PRIVATE impart::placement)")
        (folder / "uses.cpp").write_text('#include "impart/placement/partition.h"\n')
        self.succeed(configure(folder, folder / "build", prefix=moved))
        self.succeed(run(CMAKE, "--build", folder / "build"))

    def test_as_a_part_of_another_project_it_is_only_libraries(self):
        folder = self.project("embedding", f"set(IMPART_TORCH OFF)\nadd_subdirectory({SOURCE} impart)\n"
                              "add_library(uses OBJECT uses.cpp)\n"
                              "target_link_libraries(uses PRIVATE impart::placement)")
        (folder / "uses.cpp").write_text('#include "impart/placement/partition.h"\n')
        self.succeed(configure(folder, folder / "build"))
        targets = self.succeed(run(CMAKE, "--build", folder / "build", "--target", "help"))
        self.assertIn("libimpart_partition.a", targets)
        for name in ["partition_test", "partition_bench", "impart_cli"]:
            self.assertNotIn(name, targets)
        self.succeed(run(CMAKE, "--build", folder / "build", "--target", "uses"))


if __name__ == "__main__":
    unittest.main()
