from __future__ import annotations

import unittest
from typing import Any

from sealpost import List


class AList(unittest.TestCase):
    def setUp(self) -> None:
        """Three pages, the second of which is empty; and the cursors that were asked for."""
        pages = {
            None: {"data": [1, 2], "next_cursor": "b"},
            "b": {"data": [], "next_cursor": "c"},
            "c": {"data": [3], "next_cursor": None},
        }
        self.asked: list[str | None] = []

        def fetch(cursor: str | None) -> Any:
            self.asked.append(cursor)
            return pages[cursor]

        self.list: List[int, dict[str, Any]] = List(fetch)

    def test_gives_one_entry_after_the_other_over_a_page_that_is_empty(self) -> None:
        self.assertEqual(self.asked, [])
        self.assertEqual(list(self.list), [1, 2, 3])
        self.assertEqual(self.asked, [None, "b", "c"])

    def test_fetches_no_page_that_nobody_comes_to(self) -> None:
        for entry in self.list:
            if entry == 2:
                break
        self.assertEqual(self.asked, [None])

    def test_gives_page_by_page_and_the_first_alone(self) -> None:
        self.assertEqual(self.list.page(), {"data": [1, 2], "next_cursor": "b"})
        self.assertEqual([len(page["data"]) for page in self.list.pages()], [2, 0, 1])
        self.assertEqual(self.asked, [None, None, "b", "c"])
