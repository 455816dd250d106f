/*
 * A disk that can lose power, below SQLite: LD_PRELOAD between a process and its files. Everything that is done to the
 * files of one folder is written to a trace, in order, with what is done to one file elsewhere, the witness. From the
 * trace a test makes the disk as a power failure at any moment may have left it.
 *
 * POWER_DISK: the folder; POWER_WITNESS: the file; POWER_TRACE: the trace, which is appended to. Files that end in -shm
 * are memory and are passed through. A record is a line: what, an inode, an offset, a length, a path; then so many bytes
 * as the length says. A write is traced before it is done and a sync after: who has seen a write has seen its record.
 * Syncs are not passed on; they take POWER_SYNC_US microseconds. To open `<folder>/!<write|sync>:<n>:<errno>:<times>`
 * lets the n-th write or sync from then on fail, and those after it, so many in all; what a failed sync was to put on
 * disk is lost unless it is written again, and every descriptor that was open then is told once, as Linux does.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { none, disk_file, witness_file, folder_file };
#define LAST 65536
static struct { unsigned char kind; unsigned char told; unsigned long inode; } open_files[LAST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *disk, *witness;
static size_t disk_length;
static int trace = -1;
static useconds_t sync_us;
/* In how many it fails, how often, and with what. */
struct fault { int in, times, number; };
static struct fault write_fault, sync_fault;

static int (*real_open)(const char *, int, ...);
static int (*real_close)(int);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off64_t);
static int (*real_ftruncate)(int, off64_t);
static int (*real_unlink)(const char *);
static int (*real_rename)(const char *, const char *);

__attribute__((constructor)) static void begin(void) {
  if (real_open) return;
  real_open = dlsym(RTLD_NEXT, "open64");
  real_close = dlsym(RTLD_NEXT, "close");
  real_write = dlsym(RTLD_NEXT, "write");
  real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
  real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
  real_unlink = dlsym(RTLD_NEXT, "unlink");
  real_rename = dlsym(RTLD_NEXT, "rename");
  disk = getenv("POWER_DISK");
  witness = getenv("POWER_WITNESS");
  const char *path = getenv("POWER_TRACE"), *us = getenv("POWER_SYNC_US");
  disk_length = disk ? strlen(disk) : 0;
  sync_us = us ? atoi(us) : 0;
  if (path) trace = real_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void record(const char *what, unsigned long inode, long long offset, const void *bytes, size_t length, const char *path) {
  char head[4300];
  int n = snprintf(head, sizeof head, "%s %lu %lld %zu %s\n", what, inode, offset, bytes ? length : 0, path ? path : "");
  struct iovec parts[] = {{head, n}, {(void *)bytes, bytes ? length : 0}};
  /* one call, so that what two processes append does not mix */
  if (writev(trace, parts, bytes ? 2 : 1) < 0) abort();
}

/* The path inside the folder; null if it is elsewhere, or memory. */
static const char *inside(const char *path) {
  if (!disk || !path || strncmp(path, disk, disk_length) != 0 || path[disk_length] != '/') return 0;
  size_t length = strlen(path);
  if (length > 4 && strcmp(path + length - 4, "-shm") == 0) return 0;
  return path + disk_length + 1;
}

static int opened(const char *path, int flags, mode_t mode) {
  begin();
  const char *name = inside(path);
  if (name && name[0] == '!') {
    char what[8];
    struct fault fault;
    if (sscanf(name, "!%7[a-z]:%d:%d:%d", what, &fault.in, &fault.number, &fault.times) == 4) {
      pthread_mutex_lock(&lock);
      *(what[0] == 'w' ? &write_fault : &sync_fault) = fault;
      pthread_mutex_unlock(&lock);
    }
    errno = ENOENT;
    return -1;
  }
  int is_new = name && (flags & O_CREAT) && access(path, F_OK) != 0;
  int fd = real_open(path, flags, mode);
  if (fd < 0 || fd >= LAST) return fd;
  int kind = name ? disk_file : witness && path && strcmp(path, witness) == 0 ? witness_file : none;
  if (!kind && disk && path && strcmp(path, disk) == 0) kind = folder_file;
  if (!kind) return fd;
  struct stat64 stat;
  fstat64(fd, &stat);
  if (S_ISDIR(stat.st_mode)) kind = folder_file;
  pthread_mutex_lock(&lock);
  open_files[fd].inode = stat.st_ino;
  open_files[fd].told = 1;
  open_files[fd].kind = kind;
  pthread_mutex_unlock(&lock);
  if (is_new) record("create", stat.st_ino, 0, 0, 0, path);
  return fd;
}

#define MODE va_list more; va_start(more, flags); mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(more, mode_t) : 0; va_end(more)
int open(const char *path, int flags, ...) { MODE; return opened(path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE; return opened(path, flags, mode); }

int close(int fd) {
  begin();
  if (fd >= 0 && fd < LAST) open_files[fd].kind = none;
  return real_close(fd);
}

/* What a descriptor is of. Node closes some by a system call of its own, and the number is given out again. */
static int kind_of(int fd) {
  struct stat64 stat;
  if (fd < 0 || fd >= LAST || !open_files[fd].kind) return none;
  if (fstat64(fd, &stat) != 0 || stat.st_ino != open_files[fd].inode) open_files[fd].kind = none;
  return open_files[fd].kind;
}

/* Whether it is due; under the lock. */
static int due(struct fault *fault) {
  if (fault->in > 1) return fault->in--, 0;
  return fault->in == 1 && fault->times > 0 && fault->times--;
}

/* Whether this write fails. */
static int fails(void) {
  pthread_mutex_lock(&lock);
  int is_now = due(&write_fault);
  pthread_mutex_unlock(&lock);
  if (is_now) errno = write_fault.number;
  return is_now;
}

ssize_t write(int fd, const void *bytes, size_t length) {
  begin();
  int kind = kind_of(fd);
  if (kind == disk_file) {
    if (fails()) return -1;
    record("write", open_files[fd].inode, lseek64(fd, 0, SEEK_CUR), bytes, length, 0);
  }
  if (kind == witness_file) record("seen", 0, 0, bytes, length, 0);
  return real_write(fd, bytes, length);
}

static ssize_t pwritten(int fd, const void *bytes, size_t length, off64_t offset) {
  begin();
  int kind = kind_of(fd);
  if (kind == disk_file) {
    if (fails()) return -1;
    record("write", open_files[fd].inode, offset, bytes, length, 0);
  }
  if (kind == witness_file) record("seen", 0, 0, bytes, length, 0);
  return real_pwrite(fd, bytes, length, offset);
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) { return pwritten(fd, bytes, length, offset); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) { return pwritten(fd, bytes, length, offset); }

static int cut(int fd, off64_t length) {
  begin();
  if (kind_of(fd) == disk_file) {
    if (fails()) return -1;
    record("cut", open_files[fd].inode, length, 0, 0, 0);
  }
  return real_ftruncate(fd, length);
}
int ftruncate(int fd, off_t length) { return cut(fd, length); }
int ftruncate64(int fd, off64_t length) { return cut(fd, length); }

static unsigned long syncs = 0;

static int synced(int fd, int (*real)(int)) {
  begin();
  int kind = kind_of(fd);
  if (kind != disk_file && kind != folder_file) return real(fd);
  unsigned long inode = open_files[fd].inode;
  pthread_mutex_lock(&lock);
  unsigned long number = ((unsigned long)getpid() << 20) + ++syncs;
  int is_failing = due(&sync_fault);
  if (is_failing)
    for (int i = 0; i < LAST; i++)
      if (open_files[i].kind && open_files[i].inode == inode) open_files[i].told = 0;
  int is_told = open_files[fd].told;
  open_files[fd].told = 1;
  pthread_mutex_unlock(&lock);
  record("sync", inode, number, 0, 0, 0);
  if (sync_us) usleep(sync_us);
  if (!is_told) {
    if (is_failing) record("failed", inode, number, 0, 0, 0);
    errno = sync_fault.number;
    return -1;
  }
  record("synced", inode, number, 0, 0, 0);
  return 0;
}
int fsync(int fd) {
  static int (*real)(int);
  if (!real) real = dlsym(RTLD_NEXT, "fsync");
  return synced(fd, real);
}
int fdatasync(int fd) {
  static int (*real)(int);
  if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
  return synced(fd, real);
}

int unlink(const char *path) {
  begin();
  int done = real_unlink(path);
  if (done == 0 && inside(path)) record("unlink", 0, 0, 0, 0, path);
  return done;
}
int rename(const char *from, const char *to) {
  begin();
  struct stat64 stat;
  int is_known = inside(to) && stat64(from, &stat) == 0;
  int done = real_rename(from, to);
  if (done == 0 && is_known) record("rename", stat.st_ino, 0, 0, 0, to);
  return done;
}
