"""PubNub's own SDK for Python sends files: `pubnub_sdk.py ORIGIN FILE COUNT IN_FLIGHT`.

Prints two milliseconds: by the clock, and of the processor. What the first send sets up is not
counted.
"""

from __future__ import annotations

import asyncio
import sys
import time

from pubnub.pnconfiguration import PNConfiguration
from pubnub.pubnub_asyncio import PubNubAsyncio


async def main(origin: str, path: str, count: int, window: int) -> None:
    settings = PNConfiguration()
    settings.subscribe_key = settings.publish_key = "demo"
    settings.uuid = "me"
    settings.origin = origin
    settings.ssl = False
    client = PubNubAsyncio(settings)
    slots = asyncio.Semaphore(window)

    async def send(number: int) -> None:
        async with slots:
            with open(path, "rb") as file:
                call = client.send_file().channel("room").file_name("file.bin").file_object(file)
                sent = await call.message({"number": number}).should_store(True).future()
            assert sent.result.timestamp, sent.status

    await send(0)
    began, used = time.perf_counter(), time.process_time()
    await asyncio.gather(*(send(number) for number in range(count)))
    print((time.perf_counter() - began) * 1e3, (time.process_time() - used) * 1e3)
    await client.stop()


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
