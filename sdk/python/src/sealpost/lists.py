"""What the API gives page by page."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from .errors import ConnectionError

Entry = TypeVar("Entry")
Page = TypeVar("Page")


class List(Generic[Entry, Page]):
    """
    Gives one entry after the other and fetches the next page as it is needed. Nothing is asked for before that.
    """

    def __init__(self, fetch: Callable[[str | None], Any]) -> None:
        """`fetch` answers the page of a cursor; of none: the page that was asked for."""
        self._fetch = fetch

    def page(self) -> Page:
        """The first page alone. With its `next_cursor` as `cursor` of the same call comes the next one."""
        page: Page = self._fetch(None)
        return page

    def pages(self) -> Iterator[Page]:
        """One page after the other. A cursor that leads back is a ConnectionError: it would go on without end."""
        seen: set[str | None] = set()
        cursor = None
        while True:
            page = self._fetch(cursor)
            yield page
            cursor = page["next_cursor"]
            if cursor is None:
                return
            if cursor in seen:
                raise ConnectionError(f"the list has no end: its cursor {cursor} came twice")
            seen.add(cursor)

    def __iter__(self) -> Iterator[Entry]:
        page: Any
        for page in self.pages():
            yield from page["data"]
