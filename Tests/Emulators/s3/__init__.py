"""A strict S3 server on loopback that misbehaves exactly as a test tells it to."""

from .faults import Fault
from .server import Request, S3Server

__all__ = ["Fault", "Request", "S3Server"]
