"""PubNub's own Python SDK as the other side, with its known faults worked around."""

from __future__ import annotations

import io
import queue
from typing import Any

from pubnub.callbacks import SubscribeCallback
from pubnub.crypto import AesCbcCryptoModule, LegacyCryptoModule
from pubnub.models import subscription
from pubnub.pnconfiguration import PNConfiguration
from pubnub.pubnub import PubNub

# SDK 10.8.0 calls this for file events and does not have it: its worker ends at the first.
for known in (subscription.PubNubSubscription, subscription.PubNubSubscriptionSet):
    if not hasattr(known, "file_message"):
        known.file_message = lambda self, message: None

FORMS = {
    "acrh": (AesCbcCryptoModule, True),
    "legacy": (LegacyCryptoModule, True),
    "constant": (LegacyCryptoModule, False),
}


class Peer:
    """One client of the SDK; `form` is one of FORMS, or None for no encryption."""

    def __init__(
        self, origin: str, form: str | None = None, key: str = "enigma", **more: Any
    ) -> None:
        settings = PNConfiguration()
        settings.subscribe_key = settings.publish_key = "demo"
        settings.uuid = "peer"
        settings.origin = origin.removeprefix("http://")
        settings.ssl = False
        for name, value in more.items():
            setattr(settings, name, value)
        self.encrypts = form is not None
        if form:
            module, random_iv = FORMS[form]
            settings.cipher_key = key  # without it files and announcements go out in the clear
            settings.use_random_initialization_vector = random_iv
            settings.crypto_module = module(settings)
        self.pubnub = PubNub(settings)

    def send(self, channel: str, name: str, data: bytes, message: Any = None, **more: Any) -> Any:
        call = self.pubnub.send_file().channel(channel).file_name(name).should_store(True)
        for key, value in more.items():
            getattr(call, key)(value)
        return call.message(message).file_object(io.BytesIO(data)).sync().result

    def download(self, channel: str, file_id: str, name: str) -> bytes:
        from urllib.parse import quote

        # The SDK puts the name into the path as it is.
        call = self.pubnub.download_file().channel(channel).file_id(file_id)
        return bytes(call.file_name(quote(name, safe="")).sync().result.data)

    def list(self, channel: str) -> list[dict[str, Any]]:
        return list(self.pubnub.list_files().channel(channel).sync().result.data)

    def history(self, channel: str) -> list[Any]:
        call = self.pubnub.fetch_messages().channels([channel]).include_message_type(True)
        call = call.decrypt_messages(bool(self.encrypts))
        result = call.include_meta(True).include_uuid(True).sync().result
        return list(result.channels.get(channel, []))

    def listen(self, channel: str) -> queue.Queue[Any]:
        """File events of a channel, once the subscription stands."""
        events: queue.Queue[Any] = queue.Queue()
        ready: queue.Queue[Any] = queue.Queue()

        class Listener(SubscribeCallback):
            def status(self, pubnub: Any, status: Any) -> None:
                ready.put(status)

            def file(self, pubnub: Any, event: Any) -> None:
                events.put(event)

        self.pubnub.add_listener(Listener())
        self.pubnub.subscribe().channels([channel]).execute()
        ready.get(timeout=20)
        return events

    def stop(self) -> None:
        self.pubnub.unsubscribe_all()
        self.pubnub.stop()
