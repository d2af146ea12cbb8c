#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "CCurl.h"
#include <dlfcn.h>
#include <link.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

// Every function used, by its name without `curl_`; types come from the header.
#define FUNCTIONS(X)                                                                               \
  X(global_init_mem) X(version_info) X(easy_init) X(easy_cleanup) X(easy_reset) X(easy_pause)      \
  X(easy_strerror) X(easy_setopt) X(easy_getinfo) X(multi_init) X(multi_cleanup) X(multi_setopt)   \
  X(multi_add_handle) X(multi_remove_handle) X(multi_perform) X(multi_poll) X(multi_wakeup)        \
  X(multi_info_read) X(share_init) X(share_setopt) X(share_cleanup) X(slist_append)                \
  X(slist_free_all)

// The header's checks of types are macros of the same names.
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt
#undef curl_share_setopt

#define MEMBER(name) __typeof__(curl_##name) *name;
static struct { FUNCTIONS(MEMBER) } curl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char failure[512];

static void fail(const char *reason) {
  strncpy(failure, reason ? reason : "unknown", sizeof failure - 1);
}

// Loading looks once at most pages of thirty libraries, for their symbols and constructors, and they
// stay counted as this process's memory. What is needed of them again comes from the page cache.
static int give_back(struct dl_phdr_info *object, size_t size, void *context) {
  (void)size, (void)context;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    // Written pages would be lost.
    if (part->p_type != PT_LOAD || part->p_flags & PF_W) continue;
    uintptr_t start = object->dlpi_addr + part->p_vaddr, end = start + part->p_filesz;
    start = (start + page - 1) / page * page;
    end = end / page * page;
    if (start < end) madvise((void *)start, end - start, MADV_DONTNEED);
  }
  return 0;
}

// Blocks that malloc maps, as it does from 128 KiB on (`clinux_bound_malloc`), begin 16 bytes into a
// page. There AMD's Zen 3 takes five times as long to copy what is read from a file, which begins
// where a page does: 0.4 s of CPU for each GiB sent.
static void *allocate(size_t size) {
  const size_t mapped = 128 << 10, line = 64;
  return size < mapped ? malloc(size) : aligned_alloc(line, (size + line - 1) / line * line);
}

static void load(void) {
  void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library) return fail(dlerror());
#define FIND(name)                                                                                 \
  *(void **)&curl.name = dlsym(library, "curl_" #name);                                            \
  if (!curl.name) return fail(dlerror());
  FUNCTIONS(FIND)
  CURLcode code =
      curl.global_init_mem(CURL_GLOBAL_DEFAULT, allocate, free, realloc, strdup, calloc);
  if (code != CURLE_OK) return fail("it cannot be initialised");
  // The first that need not wait for a name server when a request ends early.
  if (curl.version_info(CURLVERSION_NOW)->version_num < 0x075700) fail("it is older than 7.87");
  dl_iterate_phdr(give_back, NULL);
}

const char *ccurl_load(void) {
  pthread_once(&once, load);
  return failure[0] ? failure : NULL;
}

const char *ccurl_system_certificates(void) {
  curl_version_info_data *info = curl.version_info(CURLVERSION_NOW);
  return info->age >= CURLVERSION_SEVENTH ? info->cainfo : NULL;
}

CURL *ccurl_easy_init(void) { return curl.easy_init(); }
void ccurl_easy_cleanup(CURL *handle) { curl.easy_cleanup(handle); }
void ccurl_easy_reset(CURL *handle) { curl.easy_reset(handle); }
CURLcode ccurl_easy_resume(CURL *handle) { return curl.easy_pause(handle, CURLPAUSE_CONT); }
const char *ccurl_easy_strerror(CURLcode code) { return curl.easy_strerror(code); }

CURLcode ccurl_set_long(CURL *handle, CURLoption option, long value) {
  return curl.easy_setopt(handle, option, value);
}
CURLcode ccurl_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
  return curl.easy_setopt(handle, option, value);
}
CURLcode ccurl_set_string(CURL *handle, CURLoption option, const char *value) {
  return curl.easy_setopt(handle, option, value);
}
CURLcode ccurl_set_pointer(CURL *handle, CURLoption option, void *value) {
  return curl.easy_setopt(handle, option, value);
}
CURLcode ccurl_set_bytes_callback(CURL *handle, CURLoption option, ccurl_bytes_callback callback) {
  return curl.easy_setopt(handle, option, callback);
}
CURLcode ccurl_set_seek_callback(CURL *handle, curl_seek_callback callback) {
  return curl.easy_setopt(handle, CURLOPT_SEEKFUNCTION, callback);
}
CURLcode ccurl_set_prereq_callback(CURL *handle, curl_prereq_callback callback) {
  return curl.easy_setopt(handle, CURLOPT_PREREQFUNCTION, callback);
}

static unsigned long identity(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 ? (unsigned long)status.st_ino : 0;
}

static curl_socket_t open_socket(void *context, curlsocktype purpose,
                                 struct curl_sockaddr *address) {
  struct ccurl_sockets *sockets = context;
  (void)purpose;
  if (sockets->count == sockets->room) {
    int room = sockets->room ? 2 * sockets->room : 32;
    struct ccurl_socket *open = realloc(sockets->open, (size_t)room * sizeof *open);
    if (!open) return CURL_SOCKET_BAD;
    sockets->open = open;
    sockets->room = room;
  }
  // libcurl has no close-on-exec before 8.19, and children must not hold our connections open.
  int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (fd < 0) return CURL_SOCKET_BAD;
  sockets->open[sockets->count++] = (struct ccurl_socket){fd, identity(fd)};
  sockets->opened++;
  return fd;
}

void ccurl_prune_sockets(struct ccurl_sockets *sockets) {
  int kept = 0;
  for (int i = 0; i < sockets->count; i++) {
    struct ccurl_socket entry = sockets->open[i];
    if (identity(entry.number) == entry.identity) sockets->open[kept++] = entry;
  }
  sockets->count = kept;
}

static int close_socket(void *context, curl_socket_t fd) {
  int code = close(fd);
  ccurl_prune_sockets(context);
  return code;
}

CURLcode ccurl_keep_sockets(CURL *handle, struct ccurl_sockets *sockets) {
  CURLcode code = curl.easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  if (!code) code = curl.easy_setopt(handle, CURLOPT_OPENSOCKETDATA, sockets);
  if (!code) code = curl.easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
  return code ? code : curl.easy_setopt(handle, CURLOPT_CLOSESOCKETDATA, sockets);
}

static int port_of(int (*ask)(int, struct sockaddr *, socklen_t *), int fd) {
  struct sockaddr_storage address;
  socklen_t size = sizeof address;
  if (ask(fd, (struct sockaddr *)&address, &size)) return -1;
  if (address.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)&address)->sin_port);
  return address.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&address)->sin6_port) : -1;
}

int ccurl_find_socket(const struct ccurl_sockets *sockets, int local_port, int remote_port) {
  for (int i = 0; i < sockets->count; i++) {
    int fd = sockets->open[i].number;
    if (port_of(getsockname, fd) == local_port && port_of(getpeername, fd) == remote_port) return fd;
  }
  return -1;
}

int ccurl_unacknowledged(int socket) {
  int bytes = 0;
  return ioctl(socket, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

void ccurl_drop_unsent(int socket) {
  struct linger hard = {.l_onoff = 1, .l_linger = 0};
  setsockopt(socket, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
}

long ccurl_get_long(CURL *handle, CURLINFO info) {
  long value = 0;
  return curl.easy_getinfo(handle, info, &value) == CURLE_OK ? value : 0;
}
curl_off_t ccurl_get_offset(CURL *handle, CURLINFO info) {
  curl_off_t value = 0;
  return curl.easy_getinfo(handle, info, &value) == CURLE_OK ? value : 0;
}
void *ccurl_get_pointer(CURL *handle, CURLINFO info) {
  void *value = NULL;
  return curl.easy_getinfo(handle, info, &value) == CURLE_OK ? value : NULL;
}
CURLM *ccurl_multi_init(void) { return curl.multi_init(); }
void ccurl_multi_cleanup(CURLM *multi) { curl.multi_cleanup(multi); }
CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl.multi_setopt(multi, option, value);
}
CURLMcode ccurl_multi_add_handle(CURLM *multi, CURL *handle) {
  return curl.multi_add_handle(multi, handle);
}
CURLMcode ccurl_multi_remove_handle(CURLM *multi, CURL *handle) {
  return curl.multi_remove_handle(multi, handle);
}
CURLMcode ccurl_multi_perform(CURLM *multi) {
  int running;
  return curl.multi_perform(multi, &running);
}
CURLMcode ccurl_multi_poll(CURLM *multi, int timeout_ms) {
  return curl.multi_poll(multi, NULL, 0, timeout_ms, NULL);
}
CURLMcode ccurl_multi_wakeup(CURLM *multi) { return curl.multi_wakeup(multi); }
CURL *ccurl_multi_next_done(CURLM *multi, CURLcode *result) {
  CURLMsg *message;
  int left;
  while ((message = curl.multi_info_read(multi, &left))) {
    if (message->msg != CURLMSG_DONE) continue;
    *result = message->data.result;
    return message->easy_handle;
  }
  return NULL;
}

CURLSH *ccurl_share_sessions(void) {
  CURLSH *share = curl.share_init();
  if (share) curl.share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
  return share;
}
void ccurl_share_cleanup(CURLSH *share) { curl.share_cleanup(share); }

struct curl_slist *ccurl_slist_append(struct curl_slist *list, const char *text) {
  return curl.slist_append(list, text);
}
void ccurl_slist_free(struct curl_slist *list) { curl.slist_free_all(list); }
