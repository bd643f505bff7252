/*
 * Preloaded into a process under test: on demand it fails a sync, makes syncs slow, or shifts the
 * machine's clock. Unlike a tracer it sees all threads, and costs next to nothing.
 *
 * FAULTS_CONTROL names a file of the layout below, mapped and shared with the test, which reads and
 * changes it while the process runs. FAULTS_FOLDER is the folder: only files below it are watched.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct control {
  _Atomic int64_t syncs;        /* fdatasync, or writes through, of files in the folder, so far */
  _Atomic int64_t fail_sync_at; /* this one fails with EIO; 0 for never */
  _Atomic int64_t failed_at_ns; /* when it failed: CLOCK_MONOTONIC; 0 before */
  _Atomic int64_t sent;         /* sends to TCP sockets, so far */
  _Atomic int64_t sent_after;   /* of these, after the sync failed */
  _Atomic int64_t ended_at_ns;  /* when exit() ran: CLOCK_MONOTONIC */
  _Atomic int64_t delay_us;     /* every one of them takes so much longer */
  _Atomic int64_t clock_ms;     /* the machine's clock is so far ahead; may be negative */
};

enum { FDS_MAX = 65536 };

static struct control none;
static struct control *control = &none;
static char folder[4096];
static size_t folder_length;
/* By file descriptor: its file is in the folder. */
static _Atomic char is_watched[FDS_MAX];
/* A write to it is a sync as well: it was opened with O_DSYNC. */
static _Atomic char is_through[FDS_MAX];

#define REAL(name) static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name)

static int64_t now_ns(clockid_t clock) {
  static int (*real)(clockid_t, struct timespec *);
  struct timespec now;
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  real(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("FAULTS_CONTROL");
  const char *watched = getenv("FAULTS_FOLDER");
  if (!path || !watched) return;
  snprintf(folder, sizeof folder, "%s", watched);
  folder_length = strlen(folder);
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) abort();
  void *page = mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) abort();
  control = page;
  close(fd);
}

__attribute__((destructor)) static void end(void) { control->ended_at_ns = now_ns(CLOCK_MONOTONIC); }

static int is_inside(const char *path) {
  return folder_length && path && strncmp(path, folder, folder_length) == 0;
}

static int is_watching(int fd) { return fd >= 0 && fd < FDS_MAX && is_watched[fd]; }

static int opened(int fd, const char *path, int flags) {
  if (fd < 0 || fd >= FDS_MAX) return fd;
  is_watched[fd] = is_inside(path);
  is_through[fd] = is_watched[fd] && (flags & O_DSYNC) != 0;
  return fd;
}

#define OPEN(name)                                                  \
  int name(const char *path, int flags, ...) {                      \
    REAL(name);                                                     \
    va_list rest;                                                   \
    va_start(rest, flags);                                          \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                                   \
    return opened(real(path, flags, mode), path, flags);                   \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                \
  int name(int at, const char *path, int flags, ...) {              \
    REAL(name);                                                     \
    va_list rest;                                                   \
    va_start(rest, flags);                                          \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                                   \
    return opened(real(at, path, flags, mode), path, flags);               \
  }
OPENAT(openat)
OPENAT(openat64)

int close(int fd) {
  REAL(close);
  if (fd >= 0 && fd < FDS_MAX) is_watched[fd] = is_through[fd] = 0;
  return real(fd);
}

static void count_send(int fd) {
  struct sockaddr address;
  socklen_t length = sizeof address;
  int saved = errno;
  int is_tcp = getsockname(fd, &address, &length) == 0 &&
               (address.sa_family == AF_INET || address.sa_family == AF_INET6);
  errno = saved;
  if (!is_tcp) return;
  atomic_fetch_add(&control->sent, 1);
  if (control->failed_at_ns) atomic_fetch_add(&control->sent_after, 1);
}

/* @returns whether this sync is the one to fail, with errno set. */
static int syncs(void) {
  int64_t index = atomic_fetch_add(&control->syncs, 1) + 1;
  if (control->delay_us) usleep(control->delay_us);
  if (index != control->fail_sync_at) return 0;
  control->failed_at_ns = now_ns(CLOCK_MONOTONIC);
  errno = EIO;
  return 1;
}

ssize_t write(int fd, const void *bytes, size_t count) {
  REAL(write);
  if (folder_length && !is_watching(fd)) count_send(fd);
  return real(fd, bytes, count);
}

#define PWRITE(name, offset_type)                                                    \
  ssize_t name(int fd, const void *bytes, size_t count, offset_type position) {      \
    REAL(name);                                                                      \
    int fails = is_watching(fd) && is_through[fd] && syncs();                        \
    /* Every other failed write never happens at all, so that what was answered of it is lost. */ \
    if (fails && control->fail_sync_at % 2 == 0) return -1;                          \
    ssize_t written = real(fd, bytes, count, position);                              \
    if (!fails) return written;                                                      \
    errno = EIO;                                                                     \
    return -1;                                                                       \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t writev(int fd, const struct iovec *parts, int count) {
  REAL(writev);
  if (folder_length && !is_watching(fd)) count_send(fd);
  return real(fd, parts, count);
}

ssize_t send(int fd, const void *bytes, size_t count, int flags) {
  REAL(send);
  count_send(fd);
  return real(fd, bytes, count, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  REAL(sendmsg);
  count_send(fd);
  return real(fd, message, flags);
}

int fdatasync(int fd) {
  REAL(fdatasync);
  if (!is_watching(fd)) return real(fd);
  return syncs() ? -1 : real(fd);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  REAL(clock_gettime);
  int result = real(clock, now);
  if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec += control->clock_ms / 1000;
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  REAL(gettimeofday);
  int result = real(now, zone);
  if (result == 0) now->tv_sec += control->clock_ms / 1000;
  return result;
}
