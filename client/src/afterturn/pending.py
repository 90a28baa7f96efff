"""Batches that the broker has and no receipt covers yet, and when one of them counts as lost.

Re-sent on evidence alone: the broker came back without its memory (all of them), it came back with it (what it may not
have written to disk any more), or a batch has been silent for too long since it left the queue. Pure: `now` is
monotonic seconds, an argument.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from afterturn.outgoing import Message


@dataclass(frozen=True, slots=True)
class ResendPolicy:
    """When a batch counts as lost. Seconds, except `lag_factor` and `queue_messages`.

    `tail_seconds`: what a broker that writes its log every second may have lost when it died. `queue_messages`: while
    more than these wait in the queue, silence means only that it is long. While fewer do, it means so until the message
    and all before it must have left the queue: with nobody at work, nothing is sent twice. `lag_factor`: where
    the queue cannot be seen, patience is so many times the lag that other messages had.
    """

    tail_seconds: float = 2.0
    silence_seconds: float = 60.0
    lag_factor: float = 3.0
    longest_seconds: float = 600.0
    queue_messages: int = 100


@dataclass(slots=True, eq=False)
class Sent:
    """A message on its way. `place`: how many must have left the queue until this one has.

    `silent_since`: when it was last known that nobody could have answered: it still waited, or the broker was away.
    """

    message: Message
    last_at: float
    silent_since: float
    place: int
    tries: int = 1
    silences: int = 0
    is_lost: bool = False


_CHECK_SECONDS = 5.0


class Pending:
    """One publisher's unreceipted messages, oldest first. For one thread."""

    def __init__(self, policy: ResendPolicy | None = None) -> None:
        self._policy = policy or ResendPolicy()
        self._sent: dict[UUID, Sent] = {}
        self._lost: deque[Sent] = deque()
        self._checked_at = 0.0
        self._waiting = 0
        self._left = 0
        self.lag_seconds = 0.0

    def __len__(self) -> int:
        return len(self._sent)

    @property
    def has_lost(self) -> bool:
        """Whether a message waits to be sent again."""
        return bool(self._lost)

    def add(self, message: Message, now: float) -> None:
        """A message has just been handed over."""
        self._sent[message.message_id] = Sent(message, now, now, self._next_place())

    def settle(self, message_id: UUID, now: float) -> Message | None:
        """A receipt for this message has come; None for one that is not waited for (again)."""
        sent = self._sent.pop(message_id, None)
        if sent is None:
            return None
        if sent.tries == 1:  # After a re-send nobody knows which of the two was answered.
            self.lag_seconds = max(now - sent.silent_since, 0.9 * self.lag_seconds)
        return sent.message

    def done_until(self, handed: int) -> int:
        """The number of this process's oldest event that waits for its receipt; `handed` when none does."""
        return next((one.message.first_seq for one in self._sent.values() if not one.message.is_adopted), handed)

    def settle_all(self) -> list[Message]:
        """Gives up waiting: no receipt will come."""
        messages = [sent.message for sent in self._sent.values()]
        self._sent.clear()
        self._lost.clear()
        return messages

    def lose_all(self) -> None:
        """The broker has forgotten everything."""
        self._lose(list(self._sent.values()))

    def lose_tail(self, heard_at: float, connected_at: float) -> None:
        """The broker is back and remembers, but for what it was given shortly before it was last heard."""
        since = heard_at - self._policy.tail_seconds
        self._lose([sent for sent in self._sent.values() if since <= sent.last_at < connected_at])
        for sent in self._sent.values():
            sent.silent_since = max(sent.silent_since, connected_at)

    def lose_silent(self, now: float, queue_length: int | None) -> None:
        """Looks for messages that have been silent for too long, unless the queue explains it (None: unknown)."""
        self._watch(queue_length)
        if now - self._checked_at < _CHECK_SECONDS or not self._sent:
            return
        self._checked_at = now
        if queue_length:
            for sent in self._sent.values():
                if sent.place > self._left:
                    sent.silent_since = now
            if queue_length > self._policy.queue_messages:
                return
        # A lag from worse times says nothing of a message that has left the queue: those had waited in it.
        lag_seconds = self.lag_seconds if queue_length is None else 0.0
        silent = [
            sent
            for sent in self._sent.values()
            if not sent.is_lost and now - sent.silent_since >= self.patience(1 + sent.silences, lag_seconds)
        ]
        for sent in silent:
            sent.silences += 1
        self._lose(silent)

    def _watch(self, queue_length: int | None) -> None:
        """Counts what leaves the queue, as far as it can be seen: what came in between hides as much."""
        if queue_length is not None:
            self._left += max(0, self._waiting - queue_length)
            self._waiting = queue_length

    def _next_place(self) -> int:
        self._waiting += 1
        return self._left + self._waiting

    def patience(self, tries: int, lag_seconds: float = 0.0) -> float:
        """Seconds without a receipt after which a message counts as lost that has been sent into silence so often."""
        policy = self._policy
        first = max(policy.silence_seconds, policy.lag_factor * lag_seconds)
        return max(first, min(first * 2.0 ** min(tries - 1, 30), policy.longest_seconds))

    def next_lost(self) -> Message | None:
        """The oldest message to send again; it stays in line until `sent_again`."""
        while self._lost:
            sent = self._lost[0]
            if sent.is_lost and sent.message.message_id in self._sent:
                return sent.message
            self._lost.popleft()  # Its receipt came meanwhile.
        return None

    def sent_again(self, now: float) -> None:
        """The message of `next_lost` has been handed over again."""
        sent = self._lost.popleft()
        sent.is_lost = False
        sent.last_at = sent.silent_since = now
        sent.place = self._next_place()
        sent.tries += 1

    def _lose(self, those: list[Sent]) -> None:
        for sent in those:
            if not sent.is_lost:
                sent.is_lost = True
                self._lost.append(sent)
