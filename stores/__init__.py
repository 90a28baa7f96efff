"""Where memory lives: SQL, the hybrid index, the hot cache, the outbox, settings. No rules, no hidden commits."""
