"""Scratch only."""
class OfflineModel:
    name = "offline"
    def digest(self, request): raise RuntimeError
    def close(self): pass
