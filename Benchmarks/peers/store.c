// Stores files by the rules of the local remote and does nothing else: `store SOURCES ROOT COUNT`
// takes SOURCES/0 … SOURCES/<COUNT-1>.
//
// 64 files share a sync and a transaction, as many as ferry has waiting for the disk. Of each
// group: parts are written below incoming/, one syncfs(2) makes them durable, they are renamed
// into content/<2 digits>/, those folders are synced, and a transaction that enters their rows in
// an SQLite index commits with synchronous = FULL. Nothing is hashed, no journal is kept and
// nobody is told, so it is what the disk costs, with one thread.
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GROUP = 64 };

static void check(int is_good, const char *what) {
  if (is_good) return;
  perror(what);
  exit(1);
}

static void sync_folder(const char *path) {
  int folder = open(path, O_RDONLY | O_DIRECTORY);
  check(folder >= 0 && fsync(folder) == 0, path);
  close(folder);
}

static void execute(sqlite3 *index, const char *sql) {
  check(sqlite3_exec(index, sql, 0, 0, 0) == SQLITE_OK, sql);
}

static int write_part(const char *source, const char *part) {
  static char buffer[1 << 18];
  int from = open(source, O_RDONLY);
  int to = open(part, O_RDWR | O_CREAT | O_EXCL, 0600);
  check(from >= 0 && to >= 0, source);
  for (ssize_t count; (count = read(from, buffer, sizeof buffer)) != 0;) {
    check(count > 0 && write(to, buffer, count) == count, part);
  }
  close(from);
  return to;
}

int main(int count, char **words) {
  check(count == 4 && chdir(words[2]) == 0, "usage: store SOURCES ROOT COUNT");
  int files = atoi(words[3]);
  mkdir("incoming", 0700);
  mkdir("content", 0700);

  sqlite3 *index;
  sqlite3_stmt *row;
  check(sqlite3_open("index.db", &index) == SQLITE_OK, "index.db");
  execute(index, "PRAGMA synchronous = FULL; PRAGMA journal_mode = PERSIST");
  execute(index, "CREATE TABLE object (path TEXT PRIMARY KEY, content TEXT UNIQUE, size INTEGER)"
                 " WITHOUT ROWID");
  sqlite3_prepare_v2(index, "INSERT INTO object VALUES (?, ?, 4096)", -1, &row, 0);

  for (int start = 0; start < files; start += GROUP) {
    int end = start + GROUP < files ? start + GROUP : files;
    char ids[GROUP][33], source[4096], part[PATH_MAX], content[PATH_MAX], name[32];
    int parts[GROUP];
    unsigned char is_touched[256] = {0};

    for (int n = start; n < end; n++) {
      uint64_t id[2];
      check(getrandom(id, sizeof id, 0) == sizeof id, "getrandom");
      snprintf(ids[n - start], sizeof ids[0], "%016lx%016lx", id[0], id[1]);
      snprintf(source, sizeof source, "%s/%d", words[1], n);
      snprintf(part, sizeof part, "incoming/%s.part", ids[n - start]);
      parts[n - start] = write_part(source, part);
    }
    if (end - start > 8) {
      check(syncfs(parts[0]) == 0, "syncfs");
    } else {
      for (int n = start; n < end; n++) check(fdatasync(parts[n - start]) == 0, "fdatasync");
    }

    execute(index, "BEGIN IMMEDIATE");
    int is_new = 0;
    for (int n = start; n < end; n++) {
      char *id = ids[n - start];
      snprintf(part, sizeof part, "incoming/%s.part", id);
      snprintf(content, sizeof content, "content/%.2s", id);
      if (mkdir(content, 0700) == 0) is_new = 1;
      snprintf(content, sizeof content, "content/%.2s/%s", id, id);
      check(rename(part, content) == 0, content);
      char digits[] = {id[0], id[1], 0};
      is_touched[strtol(digits, 0, 16)] = 1;
      snprintf(name, sizeof name, "small/%d", n);
      sqlite3_bind_text(row, 1, name, -1, SQLITE_TRANSIENT);
      sqlite3_bind_text(row, 2, id, -1, SQLITE_TRANSIENT);
      check(sqlite3_step(row) == SQLITE_DONE, "insert");
      sqlite3_reset(row);
    }
    if (is_new) sync_folder("content");
    for (int shard = 0; shard < 256; shard++) {
      if (!is_touched[shard]) continue;
      snprintf(content, sizeof content, "content/%02x", shard);
      sync_folder(content);
    }
    execute(index, "COMMIT");
    for (int n = start; n < end; n++) close(parts[n - start]);
  }
  sqlite3_finalize(row);
  return sqlite3_close(index) != SQLITE_OK;
}
