"""Reads YAML as a tree of nodes, never built into objects: faults keep their lines, nothing in it can run or grow.

It opens no file.
"""

from __future__ import annotations

from typing import Any, cast

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from schemas.errors import BadInput

_yaml: Any = yaml  # its stubs leave parse and compose untyped
_NULL = "tag:yaml.org,2002:null"
_BOOL = "tag:yaml.org,2002:bool"


class BadYaml(BadInput):
    """A text that is no YAML, or more of it than is read here; `line` counts from 1."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}", reason)
        self.line = line


class _Loader(yaml.SafeLoader):
    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        parser: Any = self  # its stubs leave events untyped
        if parser.check_event(yaml.AliasEvent):
            raise BadYaml(int(parser.peek_event().start_mark.line) + 1, "must not use YAML aliases")
        return super().compose_node(parent, index)


def compose(text: str) -> Node | None:
    """The root of a text, None of an empty one. Raises: BadYaml, also for aliases, which make a small text enormous."""
    try:
        return cast("Node | None", _yaml.compose(text, _Loader))
    except yaml.MarkedYAMLError as exc:
        line = exc.problem_mark.line + 1 if exc.problem_mark is not None else 1
        raise BadYaml(line, "is not valid YAML") from None
    except (yaml.YAMLError, RecursionError):
        raise BadYaml(1, "is not valid YAML") from None


def plain(node: Node | None) -> object:
    """A tree as dicts, lists, and scalars as they are written, so that 1.10 stays 1.10 and NO stays NO.

    Bare true and false are booleans, bare nothing is None. Raises: BadYaml for a name that is given twice, or is none.
    """
    if isinstance(node, MappingNode):
        found: dict[str, object] = {}
        for key, value in cast("list[tuple[Node, Node]]", node.value):
            line = key.start_mark.line + 1
            if not isinstance(key, ScalarNode):
                raise BadYaml(line, "must be a string")
            if key.value in found:
                raise BadYaml(line, "is given twice")
            found[key.value] = plain(value)
        return found
    if isinstance(node, SequenceNode):
        return [plain(one) for one in cast("list[Node]", node.value)]
    if not isinstance(node, ScalarNode) or node.tag == _NULL:
        return None
    if node.tag == _BOOL and node.value.lower() in {"true", "false"}:
        return node.value.lower() == "true"
    return str(node.value)
