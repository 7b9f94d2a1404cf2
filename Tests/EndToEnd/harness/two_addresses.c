// Preloaded into pollerd: the name two-addresses.test has the addresses 127.0.0.2 and 127.0.0.1, in this order.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>

typedef int lookup(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int getaddrinfo(
    const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found
) {
    lookup *system_lookup = (lookup *)dlsym(RTLD_NEXT, "getaddrinfo");
    if (!name || strcmp(name, "two-addresses.test") != 0) return system_lookup(name, service, hints, found);
    struct addrinfo *second;
    int status = system_lookup("127.0.0.2", service, hints, found);
    if (status != 0) return status;
    status = system_lookup("127.0.0.1", service, hints, &second);
    if (status != 0) {
        freeaddrinfo(*found);
        return status;
    }
    struct addrinfo *last = *found;
    while (last->ai_next) last = last->ai_next;
    // glibc frees a list entry by entry, so two lists may become one.
    last->ai_next = second;
    return 0;
}
