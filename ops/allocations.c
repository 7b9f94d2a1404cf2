// Counts the memory allocations of a process, for `pollerd bench --allocations`.
//
// It is loaded before the C library (LD_PRELOAD), so the measured program is the one that users run. ALLOCATION_COUNT
// names a file of at least 8 bytes, in which it keeps the count. Freeing is not counted. glibc only.

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static atomic_ulong unshared;
static atomic_ulong *count = &unshared;

static void add(void) { atomic_fetch_add_explicit(count, 1, memory_order_relaxed); }

__attribute__((constructor)) static void share(void) {
    const char *file = getenv("ALLOCATION_COUNT");
    int descriptor = file ? open(file, O_RDWR | O_CLOEXEC) : -1;
    if (descriptor < 0) return;
    void *page = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (page != MAP_FAILED) count = page;
}

void *malloc(size_t size) {
    add();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    add();
    return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
    add();
    return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    add();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    add();
    void *memory = __libc_memalign(alignment, size);
    if (!memory) return 12; // ENOMEM
    *result = memory;
    return 0;
}
