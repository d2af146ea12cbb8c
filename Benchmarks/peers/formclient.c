// Sends files as PubNub wants it, and does nothing else: what the server can take.
//
//   formclient <port> <files> <bytes> <in flight>     prints the milliseconds
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int port, size;
static atomic_int left;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void send_all(int fd, const char *bytes, size_t count, int flags) {
  while (count > 0) {
    ssize_t sent = send(fd, bytes, count, flags | MSG_NOSIGNAL);
    if (sent <= 0) fail("send");
    bytes += sent;
    count -= (size_t)sent;
  }
}

// Sends a request and reads all of its answer, which must be a success.
static void ask(int fd, const char *head, const char *body, size_t count) {
  char text[16 << 10];
  size_t got = 0, whole = sizeof text - 1;
  send_all(fd, head, strlen(head), count ? MSG_MORE : 0);
  send_all(fd, body, count, 0);
  while (got < whole) {
    ssize_t more = recv(fd, text + got, sizeof text - 1 - got, 0);
    if (more <= 0) fail("recv");
    text[got += (size_t)more] = 0;
    char *end = strstr(text, "\r\n\r\n"), *length = strstr(text, "Content-Length: ");
    if (end && length) whole = (size_t)(end + 4 - text) + (size_t)atoi(length + 16);
  }
  if (strncmp(text, "HTTP/1.1 2", 10) != 0) fail(text);
}

static void *send_files(void *form) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  address.sin_port = htons((unsigned short)port);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(fd, (struct sockaddr *)&address, sizeof address)) fail("connect");
  char head[256];
  snprintf(head, sizeof head, "POST / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: %d\r\n\r\n",
           port, size);
  while (left-- > 0) {
    ask(fd,
        "POST /v1/files/demo/channels/room/generate-upload-url HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        "Content-Length: 19\r\n\r\n",
        "{\"name\":\"file.bin\"}", 19);
    ask(fd, head, form, (size_t)size);
    ask(fd, "GET /v1/files/publish-file/demo/demo/0/room/0/%7B%7D HTTP/1.1\r\nHost: h\r\n\r\n", "", 0);
  }
  close(fd);
  return NULL;
}

int main(int count, char **words) {
  if (count != 5) return 2;
  port = atoi(words[1]);
  left = atoi(words[2]);
  size = atoi(words[3]);
  int threads = atoi(words[4]);
  char *form = calloc(1, (size_t)size);
  pthread_t *all = calloc((size_t)threads, sizeof *all);
  struct timespec began, ended;
  clock_gettime(CLOCK_MONOTONIC, &began);
  for (int i = 0; i < threads; i++)
    if (pthread_create(&all[i], NULL, send_files, form)) return 1;
  for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
  clock_gettime(CLOCK_MONOTONIC, &ended);
  printf("%.3f\n", (double)(ended.tv_sec - began.tv_sec) * 1e3 +
                       (double)(ended.tv_nsec - began.tv_nsec) / 1e6);
  return 0;
}
