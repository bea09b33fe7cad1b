#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the environment says to the backend: known values pass, others are told and have no effect."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                                "python_shim"))
from tbprof import settings  # noqa: E402 (after the path)


class Doubts(unittest.TestCase):
    def test_known_values_are_not_told(self):
        self.assertEqual(settings.doubts({}), [])
        self.assertEqual(settings.doubts({"TBPROF_BACKEND": "Off", "TBPROF_CHARTS": "LOCAL", "TBPROF_SEMANTICS": "tf",
                                          "TBPROF_CACHE_BYTES": "1000000", "TBPROF_SPOOL_DIR": "/x"}), [])

    def test_unknown_words_are_told_with_the_known_ones(self):
        self.assertEqual(settings.doubts({"TBPROF_SEMANTICS": "offical"}),
                         ["TBPROF_SEMANTICS='offical' is not known (official, repair, tf) and has no effect"])
        self.assertEqual(len(settings.doubts({"TBPROF_BACKEND": "disable", "TBPROF_CHARTS": "foo"})), 2)

    def test_sizes_are_whole_numbers_of_bytes(self):
        for text in ("2G", "abc", "-1", "", "1e9", "1" * 21, "²"):
            self.assertEqual(settings.doubts({"TBPROF_CACHE_BYTES": text}),
                             [f"TBPROF_CACHE_BYTES={text!r} is no number of bytes and has no effect"])


if __name__ == "__main__":
    unittest.main()
