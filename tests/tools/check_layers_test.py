#!/usr/bin/env python3
"""tools/check_layers.py can fail: mistakes are planted in a copy of the library, one by one.

    python3 check_layers_test.py
"""

import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools"))
import check_layers  # noqa: E402
import cpp_names  # noqa: E402


class PlantedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="impart-rooms-")
        cls.root = pathlib.Path(cls.folder.name)
        for folder in ["impart", *check_layers.OTHER_FOLDERS]:
            shutil.copytree(ROOT / folder, cls.root / folder,
                            ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "CONTRIBUTING.md", cls.root)
        cls.before = set(check_layers.complaints(cls.root))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def found(self):
        """What is complained of now and was not before."""
        return "\n".join(sorted(set(check_layers.complaints(self.root)) - self.before))

    def plant(self, path, text):
        """The file with `text` at its end, or a new one; it is put right after the test."""
        file = self.root / path
        old = file.read_text() if file.exists() else None
        self.addCleanup(lambda: file.unlink() if old is None else file.write_text(old))
        file.write_text((old or "") + text)

    def replace(self, path, old, new):
        file = self.root / path
        text = file.read_text()
        self.assertIn(old, text)
        self.addCleanup(file.write_text, text)
        file.write_text(text.replace(old, new, 1))

    def assert_found(self, *words):
        found = self.found()
        for word in words:
            self.assertIn(word, found)

    def test_nothing_is_found_before(self):
        self.assertEqual(self.found(), "")

    def test_a_type_that_another_header_of_the_room_defines(self):
        self.plant("impart/store/planted.h",
                   "#pragma once\nnamespace impart::store {\nclass Store final : public A<B> {};\n}\n")
        self.assert_found("impart::store::Store is defined in ", "planted.h")

    def test_a_type_that_another_source_of_the_room_defines(self):
        for name in ["planted_1", "planted_2"]:
            self.plant(f"impart/data/images/{name}.cpp",
                       "namespace impart::data {\nstruct Planted { int number; };\n}\n")
        self.assert_found("impart/data/images/planted_2.cpp:2: impart::data::Planted is defined in "
                          "impart/data/images/planted_1.cpp:2, too")

    def test_a_type_that_another_room_has(self):
        self.plant("impart/cost/planted.h",
                   "#pragma once\nnamespace impart::cost {\nusing Partition = int;\n}\n")
        self.assert_found("Partition is a type of cost, too (impart/cost/planted.h:3)")

    def test_a_shared_name_that_is_no_longer_shared(self):
        self.addCleanup(check_layers.SHARED_NAMES.pop, "Planted")
        check_layers.SHARED_NAMES["Planted"] = "for no reason"
        self.assert_found("Planted is no longer a type of two rooms")

    def test_an_include_of_a_room_below(self):
        self.plant("impart/placement/partition.h", '#include "impart/store/store.h"\n')
        self.assert_found("placement must not include store")

    def test_torch_in_a_room_without_it(self):
        self.plant("impart/store/store.cpp", "#include <torch/types.h>\n")
        self.assert_found("store is without torch, but includes torch/types.h")

    def test_torch_linked_to_a_room_without_it(self):
        self.plant("impart/report/CMakeLists.txt",
                   "target_link_libraries(impart_report PRIVATE impart::torch)\n")
        self.assert_found("report is without torch, but links to impart::torch")

    def test_the_use_of_torch_in_a_room_without_it(self):
        self.plant("impart/run/CMakeLists.txt", "impart_use_torch(impart_run)\n")
        self.assert_found("run is without torch, but links to impart::torch")

    def test_a_link_to_a_room_below(self):
        self.replace("impart/config/CMakeLists.txt", "DEPENDS ", "DEPENDS impart::study ")
        self.assert_found("config must not link to study")

    def test_an_include_without_a_link(self):
        self.replace("impart/importance/CMakeLists.txt", "DEPENDS impart::core", "DEPENDS fmt::fmt")
        self.assert_found("includes core, to which impart/importance/CMakeLists.txt does not link")

    def test_mpi_elsewhere(self):
        self.plant("impart/store/store.cpp", "#include <mpi.h>\n")
        self.plant("impart/store/CMakeLists.txt",
                   "target_link_libraries(impart_store PRIVATE MPI::MPI_CXX)\n")
        self.assert_found("store must not include MPI", "store must not link to MPI::MPI_CXX")

    def test_the_namespace_of_another_room(self):
        self.plant("impart/comm/single.cpp",
                   "namespace impart::data {\nint planted() { return 1; }\n}\n")
        self.assert_found("opens namespace impart::data; impart/comm/ is impart::comm")

    def test_a_definition_in_the_namespace_of_all(self):
        self.plant("impart/comm/single.cpp", "namespace impart {\nint planted = 1;\n}\n")
        self.assert_found("opens namespace impart; impart/comm/ is impart::comm")

    def test_forward_declarations_and_lifted_names_are_no_mistakes(self):
        self.plant("impart/store/store.h",
                   "namespace impart::data {\nclass Planted;\nenum class Kind : int;\n"
                   "template <typename T>\nstruct Other;\n}\n"
                   "namespace impart {\nusing store::Store;\n}\n")
        self.assertEqual(self.found(), "")

    def test_a_definition_in_the_header_for_users(self):
        path = self.root / check_layers.DOOR
        self.addCleanup(path.write_text, path.read_text()) if path.exists() else \
            self.addCleanup(path.unlink)
        path.write_text("#pragma once\nnamespace impart {\nusing placement::Partition;\n}\n")
        self.assertEqual(self.found(), "")
        path.write_text("#pragma once\nnamespace impart {\nint planted = 1;\n}\n")
        self.assert_found("impart/impart.h: defines something")

    def test_a_file_that_is_named_and_not_there(self):
        self.replace("impart/comm/CMakeLists.txt", "launcher.cpp", "planted.cpp")
        self.assert_found("impart/comm/CMakeLists.txt: planted.cpp is not in the room's folder")

    def test_a_source_of_another_folder(self):
        self.plant("impart/core/CMakeLists.txt",
                   "target_sources(impart_core PRIVATE ../comm/single.cpp)\n")
        self.assert_found("impart/core/CMakeLists.txt: ../comm/single.cpp is given to the target")

    def test_a_room_compiled_into_the_one_around_it(self):
        self.replace("impart/models/CMakeLists.txt", "WITHOUT kernels", "")
        self.assert_found("impart/models/CMakeLists.txt: kernels/ is a room of its own")

    def test_a_folder_that_is_no_room(self):
        (self.root / "impart/attic").mkdir()
        self.addCleanup(shutil.rmtree, self.root / "impart/attic")
        self.plant("impart/attic/old.h", "#pragma once\n")
        self.assert_found("impart/attic/old.h: is in no room")

    def test_a_table_of_folders_that_lies(self):
        self.replace("CONTRIBUTING.md", "| `impart/feed/` |", "| `impart/food/` |")
        self.assert_found("impart/food/ is not there", "lacks impart/feed/")

    def test_a_full_folder(self):
        for number in range(49):
            self.plant(f"tests/oracle/planted_{number}.py", "")
        self.assert_found("tests/oracle/: ", "make rooms in it")


class NamesTest(unittest.TestCase):
    """What counts as the definition of a type."""

    def names(self, text):
        return [f"{t.namespace}::{t.name}" for t in cpp_names.types(text)
                if not t.hidden]

    def test_definitions(self):
        self.assertEqual(self.names("""
            namespace a { namespace b {
            struct [[nodiscard]] One { struct Inner {}; };
            template <typename T, template <class> class U> class alignas(8) Two final : Base<T> {};
            enum class Three : std::uint8_t { kA };
            using Four = std::vector<int>;
            }  // namespace b
            union Five { int x = 1'000; };
            }"""), ["a::b::One", "a::b::Two", "a::b::Three", "a::b::Four", "a::Five"])

    def test_what_is_none(self):
        self.assertEqual(self.names("""
            namespace a {
            class One; enum class Two : int; struct Three* three(); using b::Four;
            template <> struct hash<One> { };
            namespace { struct Five {}; }
            void six() { struct Seven {}; }
            // struct Eight {};
            const char* nine = "struct Nine {};";
            using namespace b;
            }"""), [])


if __name__ == "__main__":
    unittest.main()
