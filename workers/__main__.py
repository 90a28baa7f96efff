"""`python -m workers`: the command line.

What a start imports stays to the end. Looking through it for garbage on the way, and once more while the process ends,
was a quarter of the time of a short command: memory goes with the process anyway.
"""

import atexit
import gc

gc.disable()

from workers.cli import main  # noqa: E402 - imported without the collector

gc.enable()

if __name__ == "__main__":
    atexit.register(gc.freeze)
    main()
