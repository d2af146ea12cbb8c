"""Where notifications go: to the handles of their transfer, or to the subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Mapping
from weakref import WeakSet, WeakValueDictionary

from .errors import FerryError
from .events import event
from .results import Message, Status
from .wire import decode

if TYPE_CHECKING:
    from .batch import Batch
    from .handle import TransferHandle
    from .subscription import Subscription


class Router:
    """The receivers of one connection.

    A handle is held while its transfer is under way, whether or not the host kept it; once settled
    it hears on only as long as the host holds it (a failed transfer may be retried).
    """

    def __init__(self) -> None:
        self._active: Dict[str, List["TransferHandle[Any]"]] = {}
        # The handles hold the set they are in, so an entry goes with the last of them.
        self._failed: "WeakValueDictionary[str, WeakSet[TransferHandle[Any]]]" = (
            WeakValueDictionary()
        )
        self.subscriptions: List["Subscription"] = []
        self.batches: Dict[str, "Batch"] = {}

    def add(self, handle: "TransferHandle[Any]") -> None:
        """Routes a transfer's events to a handle."""
        if handle.kin is not None:
            handle.kin.discard(handle)
        self._active.setdefault(handle.transfer_id, []).append(handle)

    def settle(self, handle: "TransferHandle[Any]", *, again: bool) -> None:
        """Lets go of a handle; `again`: it may hear of its transfer once more."""
        handles = self._active.get(handle.transfer_id, [])
        if handle in handles:
            handles.remove(handle)
            if not handles:
                del self._active[handle.transfer_id]
        if again:
            handle.kin = self._failed.setdefault(handle.transfer_id, WeakSet())
            handle.kin.add(handle)

    def route(self, method: str, params: Mapping[str, Any]) -> None:
        """Delivers one notification; those of nobody's interest are dropped."""
        if method == "message":
            message = decode(Message, params)
            for subscription in list(self.subscriptions):
                subscription.receive(message)
        elif method == "status":
            status = decode(Status, params)
            for subscription in list(self.subscriptions):
                subscription.receive_status(status)
        else:
            batch = self.batches.get(params.get("batchId", ""))
            happened = None if batch is None else batch.receive(method, params)
            transfer_id = params.get("transferId", "")
            failed = self._failed.get(transfer_id, ())
            handles = [*self._active.get(transfer_id, ()), *failed]
            if handles and happened is None:
                happened = event(method, params)
            if happened is not None:
                for handle in handles:
                    handle.receive(happened)

    def end(self, error: FerryError) -> None:
        """Tells everyone that nothing more will come, and why."""
        for handles in list(self._active.values()):
            for handle in list(handles):
                handle.fail(error)
        for subscription in list(self.subscriptions):
            subscription.fail(error)
        for batch in list(self.batches.values()):
            batch.end(error)
        self._active.clear()
        self.subscriptions.clear()
        self.batches.clear()
