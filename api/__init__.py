"""HTTP: events, recall, memories, operations, health, metrics."""
