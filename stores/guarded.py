"""A model behind the circuit that all workers share: while it is open, a call is refused before it is made."""

from __future__ import annotations

import logging

from llm.face import Answer, Model, WindowRequest
from llm.failures import ENDPOINT_CODES
from memory.circuit import CircuitPolicy
from schemas.errors import BadAnswer, ModelBusy, NotNow
from stores import circuit
from stores.sql import Database

logger = logging.getLogger(__name__)


class GuardedModel:
    """The model, asked only when its circuit lets the call through. `deadline_seconds` bounds one probe."""

    def __init__(self, model: Model, db: Database, policy: CircuitPolicy, *, deadline_seconds: float) -> None:
        self.name = model.name
        self._model = model
        self._db = db
        self._policy = policy
        self._deadline = deadline_seconds

    def digest(self, request: WindowRequest) -> Answer:
        """The model's answer. Raises: NotNow when the circuit is open, and what the model raises."""
        had_failed = self._enter()
        try:
            answer = self._model.digest(request)
        except (ModelBusy, BadAnswer) as exc:
            self._note(exc, had_failed=had_failed)
            raise
        if had_failed:
            self._close()
        return answer

    def close(self) -> None:
        """Releases the model's connections. Repeat: harmless."""
        self._model.close()

    def _enter(self) -> bool:
        """Whether failures stand in the book. Raises: NotNow."""
        with self._db.read() as session:
            state = circuit.look(session)
            wait = state.wait_seconds(self._db.now(session)) if not state.is_closed else 0.0
        if state.is_closed:
            return state.failures > 0
        if wait > 0 or not self._db.write(lambda session: circuit.take_probe(session, self._deadline)):
            raise NotNow(code="circuit_open", retry_after_seconds=wait or self._policy.rest_seconds)
        logger.info("model probed failures=%d", state.failures)
        return True

    def _note(self, exc: ModelBusy | BadAnswer, *, had_failed: bool) -> None:
        """An endpoint that refuses everybody is as good as one that is down; any other refusal is an answer."""
        if isinstance(exc, BadAnswer) and exc.code not in ENDPOINT_CODES:
            if had_failed:
                self._close()
            return
        asked = exc.retry_after_seconds if isinstance(exc, ModelBusy) else None
        state = self._db.write(lambda session: circuit.failed(session, exc.code, asked, self._policy))
        if not state.is_closed:
            logger.warning("model left alone code=%s failures=%d", exc.code, state.failures)

    def _close(self) -> None:
        self._db.write(circuit.succeeded)
        logger.info("model answers again")
