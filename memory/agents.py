"""Who may read what an agent learned: within a tenant everybody, unless the policy says otherwise."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPolicy:
    """`shared`: agents of a tenant read what the others learned. What the `private` ones learned only they read.

    What no named agent learned is everybody's.
    """

    shared: bool = True
    private: frozenset[str] = frozenset()

    def may_read(self, asker: str | None, learnt_by: str | None) -> bool:
        """Whether an agent (None: unnamed) reads what `learnt_by` learned."""
        if learnt_by is None or learnt_by == asker:
            return True
        return self.shared and learnt_by not in self.private
