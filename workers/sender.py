"""The application of beat and Flower: it names and sends tasks, and holds the code of none.

Through `workers.app` both would import every task with its stores and models: three seconds and 100 MB each.
"""

from __future__ import annotations

from stores.settings import load_settings
from tasks.app import app
from workers.beat import beat_configuration

app.add_defaults(lambda: beat_configuration(load_settings()))

__all__ = ["app"]
