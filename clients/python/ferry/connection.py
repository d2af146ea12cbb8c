"""One conversation with one sidecar: requests and replies, notifications, opening and closing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from types import TracebackType
from typing import (
    Any,
    Callable,
    Dict,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Type,
    TypeVar,
)

from . import binary
from .errors import (
    ConnectionClosed,
    FerryError,
    ProcessDied,
    ProtocolError,
    RequestTimeout,
    VersionMismatch,
    from_wire,
)
from .framing import MAX_LINE, encode
from .process import SidecarProcess
from .results import Remote, ServerInfo
from .router import Router
from .version import PROTOCOL_VERSIONS, __version__
from .wire import listed, params

Self = TypeVar("Self", bound="Connection")


class CloseGrace(NamedTuple):
    """Seconds each rung of the closing ladder gets before the next one is taken."""

    drain: float = 30.0
    """`shutdown` with mode drain: for accepted transfers to finish."""
    now: float = 2.0
    """`shutdown` with mode now."""
    eof: float = 3.0
    """After stdin was closed, before SIGTERM."""
    term: float = 2.0
    """After SIGTERM, before SIGKILL."""


class Call(NamedTuple):
    """A request that was sent; its reply settles `future`."""

    id: int
    method: str
    future: "asyncio.Future[Any]"


class Connection:
    """Spawns `ferry serve` and speaks with it; `Ferry` adds the methods.

    - config: laid over the configuration file, with its shape (`{"remotes": {...}}`).
    - bin, config_file, args: the program, its `--config` file and further arguments of `serve`.
    - env: variables laid over this process's; cwd: the sidecar's working directory.
    - client_info, state_key: who asks (`{"name", "version"}`), and the scope of what is remembered
      over restarts (default: the name).
    - root_path: the folder relative paths start from; default `cwd`, else the current folder.
    - progress_interval_ms, opt_out: how often a transfer reports, and notifications never wanted.
    - on_stderr: called with each line the sidecar logs; trace: called with ("out" | "in", line) for
      all traffic, which includes keys given in `config`.
    """

    def __init__(
        self,
        config: Optional[Mapping[str, Any]] = None,
        *,
        bin: Optional[binary.PathLike] = None,
        config_file: Optional[binary.PathLike] = None,
        args: Sequence[str] = (),
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[binary.PathLike] = None,
        client_info: Optional[Mapping[str, str]] = None,
        state_key: Optional[str] = None,
        root_path: Optional[binary.PathLike] = None,
        progress_interval_ms: Optional[int] = None,
        opt_out: Sequence[str] = (),
        start_timeout: float = 10.0,
        close_grace: CloseGrace = CloseGrace(),  # noqa: B008 (immutable)
        on_stderr: Optional[Callable[[str], None]] = None,
        trace: Optional[Callable[[str, bytes], None]] = None,
    ) -> None:
        self._env = {**os.environ, **(env or {})}
        self._bin = bin
        self._args = [*(["--config", os.fspath(config_file)] if config_file else []), *args]
        self._cwd = None if cwd is None else os.fspath(cwd)
        self._root = None if root_path is None else os.fspath(root_path)
        self._hello = params(
            client_info=dict(client_info or {"name": "ferry-python", "version": __version__}),
            protocol_versions=list(PROTOCOL_VERSIONS),
            process_id=os.getpid(),
            root_path=self._root,
            state_key=state_key,
            config=dict(config) if config is not None else None,
            opt_out_notifications=list(opt_out) or None,
            progress={"intervalMs": progress_interval_ms} if progress_interval_ms else None,
            max_out_line_bytes=MAX_LINE,
        )
        self._start_timeout = start_timeout
        self._grace = close_grace
        self._on_stderr = on_stderr
        self._trace = trace
        self._calls: Dict[int, Call] = {}
        self._last_id = 0
        self._process: Optional[SidecarProcess] = None
        self._closing: Optional["asyncio.Task[None]"] = None
        self._router = Router()
        self._fault: Optional[ProtocolError] = None
        # Runs observers; the sync front puts its own thread here.
        self._dispatch: Callable[[Callable[[], None]], Any] = self._call_soon
        self._info: Optional[ServerInfo] = None

    # Opening and closing

    async def start(self: Self) -> Self:
        """Starts the sidecar and greets it; `async with` does this."""
        if self._process is not None:
            raise RuntimeError("this Ferry was started before: make a new one for a new process")
        self._loop = asyncio.get_running_loop()
        program = binary.find(self._bin, self._env)
        self._process = SidecarProcess(self._received, self._process_ended, self._on_stderr)
        try:
            await self._process.start([program, "serve", *self._args], self._env, self._cwd)
            self._info = await self._greet(program)
        except BaseException:
            if hasattr(self._process, "_popen"):
                await self.close("now")
            raise
        return self

    async def _greet(self, program: str) -> ServerInfo:
        try:
            hello = await self.request("initialize", self._hello, timeout=self._start_timeout)
        except FerryError as error:
            if error.code == "ERR_UNSUPPORTED" and "supported" in error.data:
                supported = error.data["supported"]
                raise VersionMismatch(program, PROTOCOL_VERSIONS, supported) from None
            raise
        try:
            version = hello["protocolVersion"]
            if version not in PROTOCOL_VERSIONS:
                raise VersionMismatch(program, PROTOCOL_VERSIONS, [version])
            return ServerInfo(
                version=hello["serverInfo"]["version"],
                instance_id=hello["instanceId"],
                remotes=listed(Remote)(hello["remotes"]),
                default=hello["default"],
                capabilities=hello["capabilities"],
                limits=hello["limits"],
            )
        except (KeyError, TypeError) as error:
            raise ProtocolError(f"{program}: not a reply to `initialize`: {error!r}") from error

    @property
    def info(self) -> Optional[ServerInfo]:
        """What the sidecar said of itself; None before the start."""
        return self._info

    @property
    def pid(self) -> Optional[int]:
        """The sidecar's process id; None before the start and after its end."""
        return self._process.pid if self._process and self._process.alive else None

    def _base(self) -> Optional[str]:
        """The folder relative paths start from; None leaves them to the sidecar's `rootPath`."""
        return None if self._root is not None else os.path.abspath(self._cwd or os.curdir)

    async def close(self, mode: str = "drain") -> None:
        """Ends the sidecar: `shutdown`, end of stdin, SIGTERM, SIGKILL, reading on throughout.

        Mode "drain" lets accepted transfers finish (for `close_grace.drain` seconds), "now" cancels
        them. When the calling task is cancelled, the rest is done in a hurry, and done.
        """
        if self._process is None:
            return
        if self._closing is None:
            self._closing = self._loop.create_task(self._descend(mode))
        cancelled: Optional[asyncio.CancelledError] = None
        while not self._closing.done():
            try:
                await asyncio.shield(self._closing)
            except asyncio.CancelledError as error:
                if cancelled is None:
                    self._closing.cancel()
                cancelled = error
        if cancelled is not None:
            raise cancelled

    async def _descend(self, mode: str) -> None:
        process, grace = self._process, self._grace
        assert process is not None
        try:
            if self._info is not None and process.alive:
                seconds = grace.drain if mode == "drain" else grace.now
                # The sidecar's own deadline comes a little earlier, and ends with a reply.
                ask = {"mode": mode, "deadlineMs": int(seconds * 900)}
                with contextlib.suppress(FerryError):
                    await self.request("shutdown", ask, timeout=seconds)
                self._notify("exit", {})
            process.close_stdin()
            if not await process.wait(grace.eof):
                process.signal(signal.SIGTERM)
                await process.wait(grace.term)
        except asyncio.CancelledError:  # no time is left for anything but an orderly signal
            process.signal(signal.SIGTERM)
            await process.wait(grace.term)
            raise
        finally:
            process.signal(signal.SIGKILL)
            await process.wait(None)

    async def __aenter__(self: Self) -> Self:
        return await self.start()

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.close("drain" if kind is None else "now")

    # Requests

    async def request(
        self,
        method: str,
        params: Optional[Mapping[str, Any]] = None,
        timeout: Optional[float] = None,
    ) -> Any:
        """Sends a request and returns its result, as JSON values.

        When the calling task is cancelled or `timeout` seconds pass, the request is cancelled.
        """
        call = self._post(method, params or {})
        try:
            if timeout is None:
                return await call.future
            await asyncio.wait([call.future], timeout=timeout)
        except asyncio.CancelledError:
            self._cancel(call)
            raise
        if not call.future.done():
            self._cancel(call)
            raise RequestTimeout(method, timeout or 0)
        return call.future.result()

    def _post(self, method: str, params: Mapping[str, Any]) -> Call:
        process = self._process_or_raise()
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("this Ferry belongs to another event loop: open one per loop")
        self._last_id += 1
        line = encode({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        call = Call(self._last_id, method, self._loop.create_future())
        self._write(process, line)
        self._calls[call.id] = call
        return call

    def _cancel(self, call: Call) -> None:
        """Asks to cancel a request; its reply is still read, and dropped if nobody waits for it."""
        if call.id in self._calls:
            self._notify("$/cancelRequest", {"id": call.id})

    def _notify(self, method: str, params: Mapping[str, Any]) -> None:
        if self._process is not None and self._process.alive:
            with contextlib.suppress(ConnectionClosed):
                line = encode({"jsonrpc": "2.0", "method": method, "params": params})
                self._write(self._process, line)

    def _write(self, process: SidecarProcess, line: bytes) -> None:
        if self._trace:
            self._trace("out", line)
        process.write(line)

    def _process_or_raise(self) -> SidecarProcess:
        if self._process is None:
            raise ConnectionClosed("this Ferry was not started: use `async with Ferry() as f`")
        if not self._process.alive:
            raise self._end_error()
        return self._process

    def _call_soon(self, observer: Callable[[], None]) -> None:
        self._loop.call_soon(observer)

    # What comes back, called by the loop

    def _received(self, line: bytes) -> None:
        if self._trace:
            self._trace("in", line)
        try:
            message = json.loads(line.decode("utf-8"))
        except ValueError:
            raise ProtocolError(
                f"the program wrote a line that is not JSON: {line[:80]!r}"
            ) from None
        replies = message if isinstance(message, list) else [message]
        for reply in replies:
            if not isinstance(reply, dict):
                raise ProtocolError(
                    f"the program wrote something that is no message: {line[:80]!r}"
                )
            if "method" not in reply:
                self._reply(reply)
            elif "id" in reply:
                raise ProtocolError("the program asks requests of its own: is it ferry?")
            else:
                self._router.route(str(reply["method"]), reply.get("params") or {})

    def _reply(self, reply: Dict[str, Any]) -> None:
        call = self._calls.pop(reply.get("id") or 0, None)
        if call is None:
            reason = reply.get("error", {"message": "a reply to no request"}).get("message")
            raise ProtocolError(f"the program and this client disagree on a request: {reason}")
        if call.future.done():
            return
        if "error" in reply:
            call.future.set_exception(from_wire(reply["error"]))
            call.future.exception()  # seen: an abandoned request must not be reported by the loop
        else:
            call.future.set_result(reply.get("result"))

    def _end_error(self) -> FerryError:
        process = self._process
        if self._fault is not None:
            return self._fault
        if self._closing is not None or process is None or process.returncode is None:
            return ConnectionClosed()
        return ProcessDied(process.returncode, list(process.stderr_tail))

    def _process_ended(self, fault: Optional[ProtocolError]) -> None:
        self._fault = fault
        error = self._end_error()
        calls: List[Call] = list(self._calls.values())
        self._calls.clear()
        for call in calls:
            if not call.future.done():
                call.future.set_exception(error)
                call.future.exception()
        self._router.end(error)
