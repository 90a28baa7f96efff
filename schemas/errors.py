"""Every error the service raises on purpose.

ServiceError
├── Transient            again later: the sweep or the caller retries, with back-off
│   ├── StoreBusy        a database, index or broker did not answer in time
│   ├── ModelBusy        the model is rate limited, slow or down (carries retry_after_seconds when it said so)
│   │   └── NotNow       it was not asked at all: its circuit is open, or the tenant's budget is spent
│   └── StaleClaim       another worker holds the row now: this one's result is thrown away
└── Permanent            never by repetition: it ends as a dead letter or as an answer to the caller
    ├── BadInput         what was sent breaks the contract (carries field and reason)
    ├── BadBatch         a sealed batch that does not open, or opens to something else
    ├── BadAnswer        the model's answer cannot be used (carries a code, never the text)
    ├── Forbidden        the key may not do this
    ├── NotFound         no such thing inside this tenant
    ├── Conflict         somebody else decided first, or what is there is not what the caller saw
    └── BadSettings      a setting that cannot work (carries its name)

No message holds text that a user wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID


class ServiceError(Exception):
    """Base of all errors below; its code is stable and safe to count, log and show."""

    code = "service_error"

    def __init__(self, message: str = "", *, code: str | None = None) -> None:
        super().__init__(message or (self.__doc__ or "").strip())
        if code is not None:
            self.code = code


class Transient(ServiceError):
    """Something that can work later failed."""

    code = "transient"

    def __init__(self, message: str = "", *, code: str | None = None, retry_after_seconds: float | None = None) -> None:
        super().__init__(message, code=code)
        self.retry_after_seconds = retry_after_seconds


class StoreBusy(Transient):
    """A store did not answer in time."""

    code = "store_busy"


class ModelBusy(Transient):
    """The model is rate limited, slow or down."""

    code = "model_busy"


class NotNow(ModelBusy):
    """The model was not asked: its circuit is open, or the tenant's budget is spent."""

    code = "not_now"


class StaleClaim(Transient):
    """The claim on this row has passed to another worker."""

    code = "stale_claim"


class Permanent(ServiceError):
    """Repeating this cannot help."""

    code = "permanent"


class BadInput(Permanent):
    """What was sent breaks the contract."""

    code = "bad_input"

    def __init__(self, field: str, reason: str, *, code: str | None = None) -> None:
        super().__init__(f"{field}: {reason}", code=code)
        self.field = field
        self.reason = reason


class BadBatch(Permanent):
    """A sealed batch does not open under its key, or holds no batch."""

    code = "bad_batch"


class BadAnswer(Permanent):
    """The model's answer cannot be used."""

    code = "bad_answer"


class Forbidden(Permanent):
    """This key may not do this."""

    code = "forbidden"


class NotFound(Permanent):
    """There is no such thing inside this tenant."""

    code = "not_found"

    def __init__(
        self,
        kind: str = "",
        name: UUID | str = "",
        *,
        unsaid: str = "",
        known: Sequence[str] = (),
        told: str = "",
        code: str | None = None,
    ) -> None:
        """A `kind` of thing (`schemas.fault_words.KINDS`) of the id `name`; or, when there is more to say, `told`.

        `unsaid` is an id that may tell who somebody is: it stands in no message, and only who typed it is shown it.
        `known` are those that are there.
        """
        message = f"no {kind} {'of that name' if unsaid else name}" if kind else told
        if known:
            message += f"; known are {', '.join(known)}"
        super().__init__(message, code=code)
        self.kind = kind
        self.unsaid = unsaid
        self.known = tuple(known)


class Conflict(Permanent):
    """It is not as the caller saw it any more."""

    code = "conflict"


class BadSettings(Permanent):
    """A setting cannot work."""

    code = "bad_settings"
