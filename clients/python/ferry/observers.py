"""Callbacks on a transfer's events, added by name and removed singly, by name, or all at once."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, List, Optional

from .events import EVENTS, Event, Progress

Dispatch = Callable[[Callable[[], None]], Any]


class Observer:
    """One callback of one event; `remove()` ends it."""

    def __init__(self, registry: "Observers", name: str, call: Callable[[Any], Any]) -> None:
        self._registry = registry
        self._call = call
        self._waiting_progress: Optional[Event] = None
        self._removed = False
        self.name = name

    def remove(self) -> None:
        """Stops the calls, also those that were about to be made."""
        self._removed = True
        self._registry.drop(self)

    def notify(self, event: Event, dispatch: Dispatch) -> None:
        """Has the callback called with an event, after what is being done now."""
        if not isinstance(event, Progress):
            dispatch(lambda: self._fire(event))
        elif self._waiting_progress is None:
            self._waiting_progress = event
            dispatch(self._fire_progress)
        else:
            self._waiting_progress = event  # a slow observer sees the latest, and no backlog

    def _fire_progress(self) -> None:
        event, self._waiting_progress = self._waiting_progress, None
        if event is not None:
            self._fire(event)

    def _fire(self, event: Event) -> None:
        if not self._removed:
            self._call(event)


class Observers:
    """The observers of one transfer."""

    def __init__(self) -> None:
        self._by_name: Dict[str, List[Observer]] = {}

    def __len__(self) -> int:
        return len(self._observers(None))

    def add(self, name: str, call: Callable[[Any], Any]) -> Observer:
        """Adds a callback; ValueError names the events there are."""
        _check(name)
        if inspect.iscoroutinefunction(call):
            raise TypeError("an observer is a plain function; iterate the handle in a task instead")
        observer = Observer(self, name, call)
        self._by_name.setdefault(name, []).append(observer)
        return observer

    def remove(self, name: Optional[str]) -> None:
        """Removes those of one event, or all; no effect where there are none."""
        if name is not None:
            _check(name)
        for observer in list(self._observers(name)):
            observer.remove()

    def drop(self, observer: Observer) -> None:
        """Forgets one observer."""
        observers = self._by_name.get(observer.name, [])
        if observer in observers:
            observers.remove(observer)

    def clear(self) -> None:
        """Forgets all; calls that are due are still made."""
        self._by_name.clear()

    def notify(self, event: Event, dispatch: Dispatch) -> None:
        """Has every observer of an event called, after what is being done now."""
        for observer in self._by_name.get(event.name, []):
            observer.notify(event, dispatch)

    def _observers(self, name: Optional[str]) -> List[Observer]:
        if name is not None:
            return self._by_name.get(name, [])
        return [observer for observers in self._by_name.values() for observer in observers]


def _check(name: str) -> None:
    if name not in EVENTS:
        raise ValueError(f"no event {name!r}; there are {', '.join(EVENTS)}")
