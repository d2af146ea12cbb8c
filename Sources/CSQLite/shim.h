#pragma once
#include <sqlite3.h>

/// sqlite3_bind_text that copies the bytes: SQLITE_TRANSIENT is a cast Swift cannot make.
/// Swift's empty buffers may have no address, which SQLite would take for NULL.
static inline int csqlite_bind_text(sqlite3_stmt *statement, int index, const char *text,
                                    int length) {
  return sqlite3_bind_text(statement, index, text ? text : "", length, SQLITE_TRANSIENT);
}

/// sqlite3_bind_blob that copies the bytes.
static inline int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes,
                                    int length) {
  return sqlite3_bind_blob(statement, index, bytes, length, SQLITE_TRANSIENT);
}
