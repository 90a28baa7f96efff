"""The rules of the audit, by what they look at. `stores/audit.py` asks them all."""
