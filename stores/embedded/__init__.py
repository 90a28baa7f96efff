"""The hybrid index in SQLite files of its own: one file a tenant, keywords in FTS5, vectors in packed segments."""

from stores.embedded.index import EmbeddedIndex

__all__ = ["EmbeddedIndex"]
