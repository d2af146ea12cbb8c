// An S3 server that keeps nothing: bodies are discarded by the kernel, contents are zeros from
// memory. What a client costs is then what it costs itself.
//
//   nullserver [--log=FILE] [<bytes>=<md5 of so many zeros>] ...
//
// prints "port N", serves 127.0.0.1 until SIGTERM or SIGINT, then prints
// "cpu <user s> <system s> requests <n> in <bytes> out <bytes>".
//
// PUT            200 with an ETag                GET, HEAD of a key with size-<bytes>  zeros, ranged
// POST ?uploads  an upload id                    GET, HEAD of another key              404 NoSuchKey
// POST ?uploadId=  a completed upload            DELETE                                204
//
// GET ?list-type=2&prefix=of-2x1024-1x4096/  lists of-2x1024-1x4096/1-size-1024 and so on: all the
// files that the prefix says. With md5- for of-, the ETags of contents are their MD5 where known.
// The log has a line "<CLOCK_MONOTONIC s> <method> <target>" for every answer that was sent.
//
// It is PubNub too: places for files, forms, announcements, and polls that hand out a hundred events
// with rising numbers whenever they are asked.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_SIZE = 64 << 10, BLOCK = 1 << 20, PAGE = 1000 };
static char zeros[BLOCK];
static atomic_llong requests, bytes_in, bytes_out;
static FILE *answers;
static int word_count;
static char **words;

static int send_all(int fd, const char *bytes, size_t size, int flags) {
  while (size > 0) {
    ssize_t sent = send(fd, bytes, size, flags | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return -1;
    bytes += sent;
    size -= (size_t)sent;
  }
  return 0;
}

// MSG_TRUNC: TCP drops the bytes without copying them anywhere.
static int discard(int fd, long long size) {
  while (size > 0) {
    ssize_t got = recv(fd, NULL, size > BLOCK ? BLOCK : (size_t)size, MSG_TRUNC);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return -1;
    size -= got;
    bytes_in += got;
  }
  return 0;
}

static const char *header(const char *head, const char *name) {
  size_t length = strlen(name);
  for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
    if (strncasecmp(line + 2, name, length) == 0 && line[2 + length] == ':') {
      const char *value = line + 3 + length;
      return value + strspn(value, " \t");
    }
  }
  return NULL;
}

static int answer(int fd, const char *status, const char *fields, const char *body) {
  char text[4096];
  int size = snprintf(text, sizeof text, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n%s\r\n%s", status,
                      strlen(body), fields, body);
  return send_all(fd, text, (size_t)size, 0);
}

static void write_etag(char *text, size_t room, const char *key, long long size) {
  for (int i = 1; strstr(key, "md5-") && i < word_count; i++) {
    char *equals = strchr(words[i], '=');
    if (equals && atoll(words[i]) == size) {
      snprintf(text, room, "%s", equals + 1);
      return;
    }
  }
  snprintf(text, room, "null-%lld", size);
}

// A page of the keys that a prefix says there are, up to the slash behind their counts and sizes.
static int answer_list(int fd, const char *target) {
  char prefix[256] = "", *text = NULL;
  size_t size;
  const char *start = strstr(target, "prefix="), *token = strstr(target, "continuation-token=");
  if (start) sscanf(start + 7, "%255[^&]", prefix);
  char *slash = strstr(prefix, "%2F");
  if (!slash) slash = strchr(prefix, '/');
  if (slash) *slash = 0;
  long long from = token ? atoll(token + 19) : 0, number = 0, count, bytes;
  FILE *page = open_memstream(&text, &size);
  fprintf(page, "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult "
                "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>"
                "<Prefix>%s/</Prefix><MaxKeys>%d</MaxKeys>", prefix, PAGE);
  for (const char *kind = strchr(prefix, '-'); kind; kind = strchr(kind + 1, '-')) {
    if (sscanf(kind, "-%lldx%lld", &count, &bytes) != 2) break;
    char etag[64];
    write_etag(etag, sizeof etag, prefix, bytes);
    for (long long i = 0; i < count; i++, number++) {
      if (number < from || number >= from + PAGE) continue;
      fprintf(page, "<Contents><Key>%s/%lld-size-%lld</Key><LastModified>2026-01-01T00:00:00.000Z"
                    "</LastModified><ETag>&quot;%s&quot;</ETag><Size>%lld</Size>"
                    "<StorageClass>STANDARD</StorageClass></Contents>",
              prefix, number, bytes, etag, bytes);
    }
  }
  if (number > from + PAGE)
    fprintf(page, "<IsTruncated>true</IsTruncated><NextContinuationToken>%lld"
                  "</NextContinuationToken>", from + PAGE);
  else
    fprintf(page, "<IsTruncated>false</IsTruncated>");
  fprintf(page, "</ListBucketResult>");
  fclose(page);
  char head[256];
  int length = snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n"
                                           "Content-Type: application/xml\r\n\r\n", size);
  int failed = send_all(fd, head, (size_t)length, MSG_MORE) || send_all(fd, text, size, 0);
  free(text);
  return failed;
}

static int answer_contents(int fd, const char *head, const char *key, long long size, int is_head) {
  char text[512], content_range[128] = "", etag[64];
  write_etag(etag, sizeof etag, key, size);
  const char *range = header(head, "Range");
  long long first = 0, last = size - 1;
  if (range) {
    int found = sscanf(range, "bytes=%lld-%lld", &first, &last);
    if (found < 1 || first < 0 || first >= size)
      return answer(fd, "416 Range Not Satisfiable", "", "");
    if (found < 2 || last >= size) last = size - 1;
    snprintf(content_range, sizeof content_range, "Content-Range: bytes %lld-%lld/%lld\r\n", first,
             last, size);
  }
  long long left = last - first + 1;
  int length = snprintf(text, sizeof text,
                        "HTTP/1.1 %s\r\nContent-Length: %lld\r\n%sETag: \"%s\"\r\n"
                        "Accept-Ranges: bytes\r\nContent-Type: application/octet-stream\r\n"
                        "Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\n",
                        range ? "206 Partial Content" : "200 OK", left, content_range, etag);
  if (send_all(fd, text, (size_t)length, is_head || left == 0 ? 0 : MSG_MORE)) return -1;
  for (; !is_head && left > 0; left -= BLOCK) {
    size_t part = left > BLOCK ? BLOCK : (size_t)left;
    if (send_all(fd, zeros, part, 0)) return -1;
    bytes_out += (long long)part;
  }
  return 0;
}

// 1 where the target is none of PubNub's.
static int answer_pubnub(int fd, const char *head, const char *method, const char *target) {
  static const long long start = 17000000000000000;
  static atomic_llong published;
  const char *json = "Content-Type: application/json\r\n";
  char host[64] = "", body[3072];
  if (strcmp(method, "POST") == 0 && strstr(target, "/generate-upload-url")) {
    const char *named = header(head, "Host"), *x = "0123456789abcdef0123456789abcdef";
    if (named) sscanf(named, "%63[^\r]", host);
    snprintf(body, sizeof body,
             "{\"status\":200,\"data\":{\"id\":\"5a3eb38c-483a-4b25-ac01-c4e20deba6d6\","
             "\"name\":\"file.bin\"},\"file_upload_request\":{\"url\":\"http://%s/\","
             "\"method\":\"POST\",\"expiration_date\":\"2036-01-01T00:00:00Z\",\"form_fields\":["
             "{\"key\":\"tagging\",\"value\":\"\\u003cTagging\\u003e\\u003cTagSet\\u003e\\u003cTag"
             "\\u003e\\u003cKey\\u003eObjectTTLInDays\\u003c/Key\\u003e\\u003cValue\\u003e1\\u003c/"
             "Value\\u003e\\u003c/Tag\\u003e\\u003c/TagSet\\u003e\\u003c/Tagging\\u003e\"},"
             "{\"key\":\"key\",\"value\":\"demo/%s/5a3eb38c-483a-4b25-ac01-c4e20deba6d6/file.bin\"},"
             "{\"key\":\"Content-Type\",\"value\":\"binary/octet-stream\"},"
             "{\"key\":\"X-Amz-Credential\",\"value\":\"AKIA/20360101/us-east-1/s3/aws4_request\"},"
             "{\"key\":\"X-Amz-Security-Token\",\"value\":\"\"},"
             "{\"key\":\"X-Amz-Algorithm\",\"value\":\"AWS4-HMAC-SHA256\"},"
             "{\"key\":\"X-Amz-Date\",\"value\":\"20360101T000000Z\"},"
             "{\"key\":\"Policy\",\"value\":\"%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s\"},"
             "{\"key\":\"X-Amz-Signature\",\"value\":\"%s%s\"}]}}",
             host, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x);
    return answer(fd, "200 OK", json, body);
  }
  if (strcmp(method, "POST") == 0 && (strcmp(target, "/") == 0 || strcmp(target, "/?") == 0))
    return answer(fd, "204 No Content", "ETag: \"null\"\r\n", "");
  if (strncmp(target, "/v1/files/publish-file/", 23) == 0) {
    snprintf(body, sizeof body, "[1,\"Sent\",\"%lld\"]", start + ++published);
    return answer(fd, "200 OK", json, body);
  }
  if (strncmp(target, "/v2/subscribe/", 14) != 0) return 1;
  const char *cursor = strstr(target, "tt=");
  long long from = cursor ? atoll(cursor + 3) : 0;
  long long last = from ? from + 100 : start;
  char *text = malloc(64 << 10);
  int size = 0;
  for (long long tt = last - (from ? 99 : -1); tt <= last; tt++)
    size += sprintf(text + size,
                    "%s{\"a\":\"2\",\"f\":0,\"e\":4,\"i\":\"other\",\"p\":{\"t\":\"%lld\",\"r\":12},"
                    "\"k\":\"demo\",\"c\":\"room\",\"u\":{\"k\":\"v\"},\"cmt\":\"picture\",\"d\":{"
                    "\"message\":{\"number\":%lld},\"file\":{\"id\":\"5a3eb38c-483a-4b25-ac01-"
                    "c4e20deba6d6\",\"name\":\"file.bin\"}}}",
                    size ? "," : "", tt, tt - start);
  int length = snprintf(body, sizeof body,
                        "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nContent-Type: text/javascript; "
                        "charset=\"UTF-8\"\r\n\r\n{\"t\":{\"t\":\"%lld\",\"r\":12},\"m\":[",
                        size + 45, last);
  int failed = send_all(fd, body, (size_t)length, MSG_MORE) ||
               send_all(fd, text, (size_t)size, MSG_MORE) || send_all(fd, "]}", 2, 0);
  free(text);
  return failed ? -1 : 0;
}

static int answer_request(int fd, const char *head, const char *method, const char *target) {
  char body[512];
  int found = answer_pubnub(fd, head, method, target);
  if (found <= 0) return found;
  const char *xml = "Content-Type: application/xml\r\n";
  if (strcmp(method, "PUT") == 0) return answer(fd, "200 OK", "ETag: \"null-part\"\r\n", "");
  if (strcmp(method, "DELETE") == 0) return answer(fd, "204 No Content", "", "");
  if (strcmp(method, "POST") == 0) {
    const char *query = strchr(target, '?');
    int is_start = query && (strstr(query, "?uploads") || strstr(query, "&uploads"));
    const char *name = is_start ? "InitiateMultipartUploadResult" : "CompleteMultipartUploadResult";
    snprintf(body, sizeof body,
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
             "<%s xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Bucket>b</Bucket><Key>k</Key>"
             "%s</%s>",
             name, is_start ? "<UploadId>null-upload</UploadId>" : "<ETag>\"null-0-1\"</ETag>", name);
    return answer(fd, "200 OK", xml, body);
  }
  int is_head = strcmp(method, "HEAD") == 0;
  if (strstr(target, "list-type=2")) return answer_list(fd, target);
  const char *size = strstr(target, "size-");
  if (size) return answer_contents(fd, head, target, atoll(size + 5), is_head);
  return answer(fd, "404 Not Found", xml,
                is_head ? "" : "<Error><Code>NoSuchKey</Code><Message>no such key</Message></Error>");
}

static void *serve(void *argument) {
  int fd = (int)(long)argument, on = 1;
  char *head = malloc(HEAD_SIZE + 1);
  size_t filled = 0;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  for (;;) {
    head[filled] = 0;
    char *end = memmem(head, filled, "\r\n\r\n", 4);
    if (!end) {
      ssize_t got = filled < HEAD_SIZE ? recv(fd, head + filled, HEAD_SIZE - filled, 0) : 0;
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      filled += (size_t)got;
      continue;
    }
    end[2] = 0;
    size_t extra = filled - (size_t)(end + 4 - head);
    const char *length = header(head, "Content-Length");
    long long size = length ? atoll(length) : 0;
    const char *expect = header(head, "Expect");
    if (expect && send_all(fd, "HTTP/1.1 100 Continue\r\n\r\n", 25, 0)) break;
    long long here = (long long)extra < size ? (long long)extra : size;
    bytes_in += here;
    if (discard(fd, size - here)) break;
    requests++;
    char method[16] = "", target[8192] = "";
    if (sscanf(head, "%15s %8191s", method, target) != 2) break;
    if (answer_request(fd, head, method, target)) break;
    if (answers) {
      struct timespec now;
      clock_gettime(CLOCK_MONOTONIC, &now);
      fprintf(answers, "%lld.%09ld %s %s\n", (long long)now.tv_sec, now.tv_nsec, method, target);
    }
    filled = extra - (size_t)here;
    memmove(head, end + 4 + here, filled);
  }
  close(fd);
  free(head);
  return NULL;
}

static void *accept_all(void *argument) {
  int listener = (int)(long)argument;
  for (;;) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    pthread_t thread;
    if (fd < 0) continue;
    if (pthread_create(&thread, NULL, serve, (void *)(long)fd) == 0) pthread_detach(thread);
    else close(fd);
  }
  return NULL;
}

int main(int argument_count, char **arguments) {
  word_count = argument_count;
  words = arguments;
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, NULL);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  for (int i = 1; i < word_count; i++) {
    if (strncmp(words[i], "--log=", 6) == 0 && !(answers = fopen(words[i] + 6, "w"))) {
      perror(words[i]);
      return 1;
    }
  }
  socklen_t size = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, signal_number;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1024) ||
      getsockname(listener, (struct sockaddr *)&address, &size)) {
    perror("nullserver");
    return 1;
  }
  printf("port %d\n", ntohs(address.sin_port));
  fflush(stdout);
  pthread_t thread;
  if (pthread_create(&thread, NULL, accept_all, (void *)(long)listener)) return 1;
  sigwait(&ends, &signal_number);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  if (answers) fflush(answers);
  printf("cpu %.3f %.3f requests %lld in %lld out %lld\n",
         (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6,
         (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6, requests, bytes_in,
         bytes_out);
  return 0;
}
