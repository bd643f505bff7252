/*
 * Preloaded into a process under test: counts its calls that change a folder, and on demand kills
 * it before one, fails a sync, makes syncs slow, or shifts the machine's clock. Unlike a tracer it
 * counts over all threads, and costs next to nothing.
 *
 * FAULTS_CONTROL names a file of the layout below, mapped and shared with the test, which reads and
 * changes it while the process runs. FAULTS_FOLDER is the folder: only files below it are watched.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct control {
  _Atomic int64_t changes;      /* calls that change the folder, so far */
  _Atomic int64_t kill_at;      /* the process dies before this one; 0 for never */
  _Atomic int64_t is_torn;      /* a write that it dies at is done by half */
  _Atomic int64_t syncs;        /* fdatasync, or writes through, of files in the folder, so far */
  _Atomic int64_t fail_sync_at; /* this one fails with EIO; 0 for never */
  _Atomic int64_t failed_at_ns; /* when it failed: CLOCK_MONOTONIC; 0 before */
  _Atomic int64_t sent;         /* sends to TCP sockets, so far */
  _Atomic int64_t sent_after;   /* of these, after the sync failed */
  _Atomic int64_t ended_at_ns;  /* when exit() ran: CLOCK_MONOTONIC */
  _Atomic int64_t delay_us;     /* every one of them takes so much longer */
  _Atomic int64_t clock_ms;     /* the machine's clock is so far ahead; may be negative */
  char last[1024];              /* the call that it died at: its name and its file */
};

enum { FDS_MAX = 65536 };

static struct control none;
static struct control *control = &none;
static char folder[4096];
static size_t folder_length;
/* By file descriptor: its file is in the folder. Names are for the report only. */
static _Atomic char is_watched[FDS_MAX];
/* A write to it is a sync as well: it was opened with O_DSYNC. */
static _Atomic char is_through[FDS_MAX];
static char names[256][256];

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

/* @returns whether the call is the one to die at; all but a torn write have died by then. */
static int changes(const char *call, const char *file, int can_tear) {
  int64_t index = atomic_fetch_add(&control->changes, 1) + 1;
  if (index != control->kill_at) return 0;
  snprintf(control->last, sizeof control->last, "%s %s", call, file);
  if (can_tear && control->is_torn) return 1;
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

static int changes_fd(const char *call, int fd, int can_tear) {
  if (!is_watching(fd)) return 0;
  return changes(call, fd < 256 ? names[fd] : "", can_tear);
}

static int opened(int fd, const char *path, int flags) {
  if (fd < 0 || fd >= FDS_MAX) return fd;
  is_watched[fd] = is_inside(path);
  is_through[fd] = is_watched[fd] && (flags & O_DSYNC) != 0;
  if (fd < 256 && is_watched[fd]) {
    snprintf(names[fd], sizeof names[fd], "%s", path[folder_length] ? path + folder_length : "/.");
  }
  return fd;
}

static void before_open(const char *path, int flags) {
  if (is_inside(path) && flags & (O_CREAT | O_TRUNC)) changes("open", path + folder_length, 0);
}

#define OPEN(name)                                                  \
  int name(const char *path, int flags, ...) {                      \
    REAL(name);                                                     \
    va_list rest;                                                   \
    va_start(rest, flags);                                          \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                                   \
    before_open(path, flags);                                       \
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
    before_open(path, flags);                                       \
    return opened(real(at, path, flags, mode), path, flags);               \
  }
OPENAT(openat)
OPENAT(openat64)

int close(int fd) {
  REAL(close);
  changes_fd("close", fd, 0);
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
  if (changes_fd("write", fd, 1)) {
    real(fd, bytes, count / 2);
    kill(getpid(), SIGKILL);
  }
  if (folder_length && !is_watching(fd)) count_send(fd);
  return real(fd, bytes, count);
}

#define PWRITE(name, offset_type)                                                    \
  ssize_t name(int fd, const void *bytes, size_t count, offset_type position) {      \
    REAL(name);                                                                      \
    if (changes_fd("write", fd, 1)) {                                                \
      real(fd, bytes, count / 2, position);                                          \
      kill(getpid(), SIGKILL);                                                       \
    }                                                                                \
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
  changes_fd("write", fd, 0);
  if (folder_length && !is_watching(fd)) count_send(fd);
  return real(fd, parts, count);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t position) {
  REAL(pwritev64);
  changes_fd("write", fd, 0);
  return real(fd, parts, count, position);
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

int fsync(int fd) {
  REAL(fsync);
  changes_fd("fsync", fd, 0);
  return real(fd);
}

int fdatasync(int fd) {
  REAL(fdatasync);
  if (!is_watching(fd)) return real(fd);
  changes_fd("fdatasync", fd, 0);
  return syncs() ? -1 : real(fd);
}

#define TRUNCATE(name, length_type)                \
  int name(int fd, length_type length) {           \
    REAL(name);                                    \
    changes_fd("ftruncate", fd, 0);                \
    return real(fd, length);                       \
  }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

int rename(const char *from, const char *to) {
  REAL(rename);
  if (is_inside(from)) changes("rename", to + folder_length, 0);
  for (int fd = 0; fd < 256 && is_inside(from); fd++) {
    if (!is_watched[fd] || strcmp(names[fd], from + folder_length) != 0) continue;
    snprintf(names[fd], sizeof names[fd], "%s", to + folder_length);
  }
  return real(from, to);
}

int unlink(const char *path) {
  REAL(unlink);
  if (is_inside(path)) changes("unlink", path + folder_length, 0);
  return real(path);
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  if (is_inside(path)) changes("mkdir", path + folder_length, 0);
  return real(path, mode);
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
