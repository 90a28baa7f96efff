"""The commands, one module a family. A module has `register(app)`, and its line in `workers/cli.py`."""
