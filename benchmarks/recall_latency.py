"""What a recall costs: p50, p99 and CPU, and how they grow with memories and with users; in process and over HTTP.

`python benchmarks/recall_latency.py --memories 10k,100k --users 1,100`. The text is synthetic, Chinese and English in
turn; vectors are random but for the question's, which is really embedded. A size is spread over so many users, and
each asks about itself. CPU is the process's own, all threads: on a shared machine trust it alone, and read it beside
`speed`, the CPU of a fixed piece of work (a sum over a million numbers, 8 ms on an idle core of 2023).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import batched, islice
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import numpy as np

from afterturn import recall as recall_over_http
from afterturn.ids import uuid7
from afterturn.wire import RecallRequest
from index import Corpus
from memory.terms import terms
from schemas.envelopes import enclose, enclose_json
from schemas.indexing import IndexRow
from schemas.tables import Episode, Fact, Moment, Turn, Window
from schemas.tables import Session as SessionRow
from stores import sessions
from stores.kit import Kit, open_kit
from stores.settings import RecallSettings, Settings, as_environment, load_settings
from stores.sql import insert_once, upgrade
from stores.tenancy import KeyInfo, create_key, create_tenant, ensure_users, key_of_bearer
from tasks.recall import Guards, recall
