"""Every error of the library. None of them ever holds text that a user wrote, a key, or a URL's password.

AfterturnError
├── BadEvent        (ValueError) an argument or a field breaks the contract: the caller's bug, raised in the call
├── BadSetting      (ValueError) an argument of a constructor, or its variable, cannot work
├── BadCredential   (ValueError) AFTERTURN_KEY is missing or malformed
├── BadSeal         a sealed blob that does not open: forged, foreign, cut or too new
├── BadBatch        an opened blob that holds no batch
├── NotReachable    the service did not answer in time, or not at all
└── Refused         the service answered no
"""

from __future__ import annotations


class AfterturnError(Exception):
    """Base of all errors of this library; `code` is stable and safe to count, log and show."""

    code = "error"


class BadEvent(AfterturnError, ValueError):
    """A field breaks the contract. `field` is its path ("tool.name"), `reason` never quotes the value.

    Codes: bad_event; event_version (made by a newer producer: keep it for later); unknown_kind.
    """

    def __init__(self, field: str, reason: str, code: str = "bad_event") -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason
        self.code = code

    def __reduce__(self) -> tuple[type[BadEvent], tuple[str, str, str]]:
        return type(self), (self.field, self.reason, self.code)


class BadSetting(AfterturnError, ValueError):
    """A setting cannot work. The message begins with its name."""

    code = "bad_setting"


class BadCredential(AfterturnError, ValueError):
    """No usable credential."""

    code = "bad_credential"


class _Coded(AfterturnError):
    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code

    def __str__(self) -> str:
        return f"{(self.__doc__ or '').split('.', 1)[0]} ({self.code})"


class BadSeal(_Coded):
    """A sealed blob does not open.

    Codes: too_large, not_base64, truncated, seal_version (made by a newer producer), unknown_key, forged.
    """


class BadBatch(_Coded):
    """A blob does not hold a batch.

    Codes: not_compressed, too_large, not_json, batch_version (made by a newer producer), malformed.
    """


class NotReachable(AfterturnError):
    """The service did not answer: asking again may help. Codes: unreachable, deadline, bad_answer."""

    def __init__(self, reason: str, code: str = "unreachable") -> None:
        super().__init__(reason)
        self.code = code


class Refused(AfterturnError):
    """The service answered no. `field` names what was wrong with the request, when one field was."""

    def __init__(
        self,
        status: int,
        code: str,
        field: str | None = None,
        reason: str = "",
        retry_after_seconds: float | None = None,
    ) -> None:
        where = f" {field}:" if field else ""
        super().__init__(f"HTTP {status} {code}:{where} {reason}".rstrip(": "))
        self.status = status
        self.code = code
        self.field = field
        self.reason = reason
        self.retry_after_seconds = retry_after_seconds

    def __reduce__(self) -> tuple[type[Refused], tuple[int, str, str | None, str, float | None]]:
        return type(self), (self.status, self.code, self.field, self.reason, self.retry_after_seconds)
