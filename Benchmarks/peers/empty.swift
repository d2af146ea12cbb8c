// What a Swift program costs before it does anything.
