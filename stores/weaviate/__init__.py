"""The hybrid index on a Weaviate server. Imported only where it is set: the client takes seconds and 64 MiB."""

from stores.weaviate.connection import Connection, Endpoint
from stores.weaviate.index import WeaviateIndex

__all__ = ["Connection", "Endpoint", "WeaviateIndex"]
