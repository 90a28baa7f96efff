"""The agent's library: publish what was said, recall what matters."""
