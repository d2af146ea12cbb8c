#pragma once
// What Glibc's own module hides behind macros or does not declare: each function below exists
// because Swift cannot make the call itself.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/// ioctl(2) FICLONE: shares the extents of `from` with `to` (btrfs, XFS).
static inline int clinux_ficlone(int to, int from) { return ioctl(to, FICLONE, from); }

/// copy_file_range(2) with explicit offsets.
static inline ssize_t clinux_copy_file_range(int from, int64_t from_offset, int to,
                                             int64_t to_offset, size_t length) {
  off64_t a = from_offset, b = to_offset;
  return syscall(SYS_copy_file_range, from, &a, to, &b, length, 0u);
}

/// sync_file_range(2) that only begins: has a range that was written brought to the disk.
static inline int clinux_begin_writeback(int fd, int64_t offset, int64_t length) {
  return sync_file_range(fd, offset, length, SYNC_FILE_RANGE_WRITE);
}

/// renameat2(2) with RENAME_NOREPLACE: fails with EEXIST rather than replace.
static inline int clinux_rename_noreplace(const char *from, const char *to) {
  return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 1u);
}

/// fallocate(2) without glibc's fall-back that writes zeros.
static inline int clinux_fallocate(int fd, int keep_size, int64_t offset, int64_t length) {
  return (int)syscall(SYS_fallocate, fd, keep_size ? 1 : 0, offset, length);
}

/// open(2) without its variadic mode.
static inline int clinux_open(const char *path, int flags, unsigned mode) {
  return open(path, flags, mode);
}

/// fcntl(2) with an int argument.
static inline int clinux_fcntl(int fd, int command, int argument) {
  return fcntl(fd, command, argument);
}

/// openat(2) without its variadic mode.
static inline int clinux_openat(int folder, const char *path, int flags, unsigned mode) {
  return openat(folder, path, flags, mode);
}

/// renameat2(2) within one folder with RENAME_NOREPLACE: fails with EEXIST rather than replace.
static inline int clinux_renameat_noreplace(int folder, const char *from, const char *to) {
  return (int)syscall(SYS_renameat2, folder, from, folder, to, 1u);
}

/// Whether this process may read the file that a descriptor stands for, which may be O_PATH; false
/// also where the kernel cannot tell (before Linux 5.8).
static inline int clinux_may_read(int fd) {
  return syscall(SYS_faccessat2, fd, "", R_OK, AT_EMPTY_PATH | AT_EACCESS) == 0;
}

/// open(2) with O_TMPFILE: a file in a folder that has no name there yet.
static inline int clinux_open_unnamed(int folder, mode_t mode) {
  return openat(folder, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
}

/// flock(2), whose name Swift gives to the struct.
static inline int clinux_flock(int fd, int operation) { return flock(fd, operation); }

/// syncfs(2), which glibc hides from Swift behind _GNU_SOURCE.
static inline int clinux_syncfs(int fd) { return syncfs(fd); }

/// prctl(2) PR_SET_NAME: names the calling thread for debuggers, at most 15 bytes.
static inline int clinux_name_thread(const char *name) { return prctl(PR_SET_NAME, name); }

/// Bounds the heaps that malloc keeps beside each other for threads, and gives blocks of `mapped`
/// bytes and more back to the system when they are freed; by default both grow with use.
static inline void clinux_bound_malloc(int heaps, int mapped) {
  mallopt(M_ARENA_MAX, heaps);
  mallopt(M_MMAP_THRESHOLD, mapped);
}

/// Gives the system back what malloc keeps for later.
static inline void clinux_return_memory(void) { malloc_trim(0); }

/// The process's environment, which Glibc and the compiler's headers both declare.
static inline char **clinux_environ(void) { return environ; }

/// memfd_create(2) with close-on-exec: a file in memory, which Glibc hides behind _GNU_SOURCE.
static inline int clinux_memory_file(const char *name) {
  return (int)syscall(SYS_memfd_create, name, 1u);
}
