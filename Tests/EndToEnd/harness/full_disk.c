// Preloaded into a Redis: while a file is there, nothing can be written to the append-only file.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_full(int file) {
    const char *mark = getenv("FULL_DISK_FILE");
    if (!mark || access(mark, F_OK) != 0) return 0;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, "appendonly") != 0;
}

ssize_t write(int file, const void *bytes, size_t count) {
    if (is_full(file)) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_write, file, bytes, count);
}
