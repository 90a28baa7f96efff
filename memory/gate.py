from dataclasses import dataclass


@dataclass(frozen=True)
class GatePolicy:
    pass
