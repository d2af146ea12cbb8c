#pragma once
// libcurl's types, and its functions as Swift can call them: the library is loaded at first use
// rather than linked, since it and the 30 libraries below it cost 3.5 ms of every start.
#include <curl/curl.h>

/// Loads libcurl.so.4 once per process and prepares it; from any thread, before all else here.
/// Returns NULL, or the reason why it cannot be used.
const char *ccurl_load(void);

/// The file of trusted certificates that the library was built with; NULL where it has none.
const char *ccurl_system_certificates(void);

CURL *ccurl_easy_init(void);
void ccurl_easy_cleanup(CURL *handle);
void ccurl_easy_reset(CURL *handle);
/// Lets a handle go on that one of its callbacks paused.
CURLcode ccurl_easy_resume(CURL *handle);
const char *ccurl_easy_strerror(CURLcode code);

// curl_easy_setopt, which is variadic, by the type of what is set.
CURLcode ccurl_set_long(CURL *handle, CURLoption option, long value);
CURLcode ccurl_set_offset(CURL *handle, CURLoption option, curl_off_t value);
/// Copied by the library.
CURLcode ccurl_set_string(CURL *handle, CURLoption option, const char *value);
/// Must outlive the transfer.
CURLcode ccurl_set_pointer(CURL *handle, CURLoption option, void *value);

/// A body's, a header's or a source's bytes: CURLOPT_WRITE-, HEADER- and READFUNCTION.
typedef size_t (*ccurl_bytes_callback)(char *bytes, size_t size, size_t count, void *context);
CURLcode ccurl_set_bytes_callback(CURL *handle, CURLoption option, ccurl_bytes_callback callback);
CURLcode ccurl_set_seek_callback(CURL *handle, curl_seek_callback callback);
CURLcode ccurl_set_prereq_callback(CURL *handle, curl_prereq_callback callback);
/// The sockets of connections: libcurl tells nobody which one a transfer under way uses.
struct ccurl_sockets {
  long opened;
  struct ccurl_socket *open;
  int count;
  int room;
};
struct ccurl_socket {
  int number;
  /// Tells it from a later one of the same number.
  unsigned long identity;
};
/// Forgets sockets that are closed: of connections that were never made, libcurl does not tell.
void ccurl_prune_sockets(struct ccurl_sockets *sockets);
/// Has sockets opened with SOCK_CLOEXEC and entered in `sockets`, which outlives the connections.
CURLcode ccurl_keep_sockets(CURL *handle, struct ccurl_sockets *sockets);
/// The open socket between two ports; -1 where there is none.
int ccurl_find_socket(const struct ccurl_sockets *sockets, int local_port, int remote_port);
/// Bytes handed to the kernel that the other side has not acknowledged.
int ccurl_unacknowledged(int socket);
/// Has the connection reset when it is closed, so that the kernel does not go on sending for minutes
/// what a remote does not take.
void ccurl_drop_unsent(int socket);

// curl_easy_getinfo, by the type of the answer; 0 or NULL where there is none.
long ccurl_get_long(CURL *handle, CURLINFO info);
curl_off_t ccurl_get_offset(CURL *handle, CURLINFO info);
void *ccurl_get_pointer(CURL *handle, CURLINFO info);

CURLM *ccurl_multi_init(void);
void ccurl_multi_cleanup(CURLM *multi);
CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value);
CURLMcode ccurl_multi_add_handle(CURLM *multi, CURL *handle);
CURLMcode ccurl_multi_remove_handle(CURLM *multi, CURL *handle);
CURLMcode ccurl_multi_perform(CURLM *multi);
CURLMcode ccurl_multi_poll(CURLM *multi, int timeout_ms);
/// The one function that any thread may call.
CURLMcode ccurl_multi_wakeup(CURLM *multi);
/// The handle of a transfer that has ended and its outcome; NULL where there is none left.
CURL *ccurl_multi_next_done(CURLM *multi, CURLcode *result);

/// Something several handles of one thread share: TLS sessions.
CURLSH *ccurl_share_sessions(void);
void ccurl_share_cleanup(CURLSH *share);

struct curl_slist *ccurl_slist_append(struct curl_slist *list, const char *text);
void ccurl_slist_free(struct curl_slist *list);
