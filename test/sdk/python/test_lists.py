from __future__ import annotations

import unittest
from itertools import cycle, islice
from typing import Any

from sealpost import ConnectionError, List


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

    def test_ends_in_an_error_where_a_cursor_comes_twice(self) -> None:
        for cursors in ("a", "ab"):
            following = cycle(cursors)
            endless: List[int, Any] = List(lambda _: {"data": [1], "next_cursor": next(following)})
            got: list[int] = []
            with self.assertRaisesRegex(ConnectionError, "^the list has no end: its cursor a came twice$"):
                got.extend(islice(endless, 10))
            self.assertEqual(len(got), len(cursors) + 1)
