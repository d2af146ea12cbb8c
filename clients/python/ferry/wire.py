"""Between JSON objects of the protocol and the dataclasses of this package."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Callable, Dict, Hashable, Mapping, Optional, Tuple, Type, TypeVar, cast

from .errors import ProtocolError

T = TypeVar("T")

KEEP: Any = object()
"""Stands for what is left as it is, where None means "none"."""


def camel(name: str) -> str:
    """The wire's name of a field: `etag_of_it` is `etagOfIt`."""
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)


def wire_name(field: dataclasses.Field[Any]) -> str:
    """The wire's name of a dataclass field."""
    return str(field.metadata.get("wire") or camel(field.name))


def converted(read: Callable[[Any], Any], *, required: bool = False, wire: str = "") -> Any:
    """A dataclass field whose wire value goes through `read`; None stays None."""
    metadata = {"read": read, "wire": wire}
    if required:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(default=None, metadata=metadata)


Plan = Tuple[Tuple[str, str, Optional[Callable[[Any], Any]], bool], ...]


@functools.lru_cache(maxsize=None)
def _plan(cls: Hashable) -> Plan:
    """What `decode` has to do, found out once per class: field, wire name, reader, required."""
    absent = dataclasses.MISSING
    return tuple(
        (
            field.name,
            wire_name(field),
            field.metadata.get("read"),
            field.default is absent and field.default_factory is absent,
        )
        for field in dataclasses.fields(cls)  # type: ignore[arg-type]
        if field.init
    )


def decode(cls: Type[T], value: object) -> T:
    """A dataclass from a JSON object: unknown members are ignored, missing ones need a default.

    Raises ProtocolError where a member without a default is missing.
    """
    if not isinstance(value, dict):
        raise ProtocolError(f"{cls.__name__}: expected an object, got {value!r:.100}")
    fields: Dict[str, Any] = {}
    for field, name, read, required in _plan(cast(Hashable, cls)):
        if name in value:
            raw = value[name]
            fields[field] = read(raw) if read and raw is not None else raw
        elif required:
            raise ProtocolError(f"{cls.__name__} came without `{name}`")
    return cls(**fields)


def reader(cls: Type[T]) -> Callable[[Any], T]:
    """A function that decodes into a dataclass."""
    return lambda value: decode(cls, value)


def listed(cls: Type[T]) -> Callable[[Any], "tuple[T, ...]"]:
    """A function that decodes a list of objects into a tuple of dataclasses."""
    return lambda values: tuple(decode(cls, value) for value in values)


def params(**values: Any) -> Dict[str, Any]:
    """Parameters by wire name, without those that are None."""
    return {camel(name): value for name, value in values.items() if value is not None}


def merged(*parts: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    """One object of several; later ones win."""
    return {key: value for part in parts if part for key, value in part.items()}
