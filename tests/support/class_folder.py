"""A folder that the tests of a class share, and what is in a folder."""

import pathlib
import tempfile
import unittest


class ClassFolderTest(unittest.TestCase):
    """`folder` is made before the first test of a class, and goes after the last."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        made = tempfile.TemporaryDirectory(prefix="impart-", ignore_cleanup_errors=True)
        cls.addClassCleanup(made.cleanup)
        cls.folder = pathlib.Path(made.name).resolve()


def files_in(folder):
    """Relative to it, of all depths."""
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
