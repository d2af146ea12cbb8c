/** The versions of this package and of the protocol it speaks. */

export const version = "0.1.0";

export const PROTOCOL_VERSIONS = Object.freeze([1]);
