// The parts of libcurl that PollerChannels uses to send mail.
//
// The library is not linked, but loaded when the first mail is sent. It depends on forty other libraries, which would
// cost every process 6 MB and slow its start by a tenth, and only notifiers with a relay send mail. Its functions are
// looked up at each call, two dozen times per mail. A lookup takes about a microsecond and needs no shared state.
//
// `curl_easy_setopt` and `curl_easy_getinfo` are variadic, which Swift cannot call; each kind of argument has a wrapper.

#ifndef CCURL_SHIM_H
#define CCURL_SHIM_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#ifdef __APPLE__
#define CCURL_LIBRARY "libcurl.4.dylib"
#else
#define CCURL_LIBRARY "libcurl.so.4"
#endif

/// Returns a function of libcurl; NULL if the library is not installed.
static inline void *ccurl_function(const char *name) {
    void *library = dlopen(CCURL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, name) : NULL;
}

/// The function of libcurl with this name and type.
#define CCURL(name) ((__typeof__(&name))ccurl_function(#name))

/// Loads libcurl and initialises its process-wide state; call no other function unless this returns CURLE_OK.
static inline CURLcode ccurl_start(void) {
    if (!ccurl_function("curl_easy_init")) return CURLE_FAILED_INIT;
    return CCURL(curl_global_init)(CURL_GLOBAL_DEFAULT);
}

static inline CURL *ccurl_open(void) { return CCURL(curl_easy_init)(); }
static inline void ccurl_close(CURL *handle) { CCURL(curl_easy_cleanup)(handle); }
static inline void ccurl_reset(CURL *handle) { CCURL(curl_easy_reset)(handle); }
static inline CURLcode ccurl_perform(CURL *handle) { return CCURL(curl_easy_perform)(handle); }
static inline const char *ccurl_explain(CURLcode code) { return CCURL(curl_easy_strerror)(code); }

/// Makes a list with one text.
static inline struct curl_slist *ccurl_list(const char *text) {
    return CCURL(curl_slist_append)(NULL, text);
}

static inline void ccurl_free_list(struct curl_slist *list) { CCURL(curl_slist_free_all)(list); }

/// The bytes of a message and the number that libcurl has read.
typedef struct {
    const char *data;
    size_t length;
    size_t offset;
} ccurl_upload;

static inline CURLcode ccurl_set_text(CURL *handle, CURLoption option, const char *value) {
    return CCURL(curl_easy_setopt)(handle, option, value);
}

static inline CURLcode ccurl_set_long(CURL *handle, CURLoption option, long value) {
    return CCURL(curl_easy_setopt)(handle, option, value);
}

static inline CURLcode ccurl_set_list(
    CURL *handle, CURLoption option, struct curl_slist *value) {
    return CCURL(curl_easy_setopt)(handle, option, value);
}

static inline CURLcode ccurl_get_long(CURL *handle, CURLINFO info, long *value) {
    return CCURL(curl_easy_getinfo)(handle, info, value);
}

static inline size_t ccurl_read(char *buffer, size_t size, size_t count, void *context) {
    ccurl_upload *upload = (ccurl_upload *)context;
    size_t room = size * count;
    size_t rest = upload->length - upload->offset;
    size_t taken = rest < room ? rest : room;
    memcpy(buffer, upload->data + upload->offset, taken);
    upload->offset += taken;
    return taken;
}

static inline int ccurl_seek(void *context, curl_off_t offset, int origin) {
    ccurl_upload *upload = (ccurl_upload *)context;
    if (origin != SEEK_SET || offset < 0 || (size_t)offset > upload->length) {
        return CURL_SEEKFUNC_FAIL;
    }
    upload->offset = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

/// Sends the bytes of `upload`, which must outlive the transfer.
static inline CURLcode ccurl_set_upload(CURL *handle, ccurl_upload *upload) {
    CURLcode code = CCURL(curl_easy_setopt)(handle, CURLOPT_UPLOAD, 1L);
    if (code == CURLE_OK) code = CCURL(curl_easy_setopt)(handle, CURLOPT_READFUNCTION, ccurl_read);
    if (code == CURLE_OK) code = CCURL(curl_easy_setopt)(handle, CURLOPT_READDATA, upload);
    if (code == CURLE_OK) code = CCURL(curl_easy_setopt)(handle, CURLOPT_SEEKFUNCTION, ccurl_seek);
    if (code == CURLE_OK) code = CCURL(curl_easy_setopt)(handle, CURLOPT_SEEKDATA, upload);
    return code;
}

/// The error texts of a failed transfer, truncated to the size of the buffers.
typedef struct {
    /// The error reply that ended the transfer, with all of its lines: `550 5.1.1 no such mailbox`.
    char reply[512];
    /// Whether the last line was one of an error reply.
    int is_refused;
    /// Whether another line of the stored reply follows: `550-`.
    int is_continued;
    /// libcurl's own error text, which names the command: `RCPT failed: 550`.
    char error[CURL_ERROR_SIZE];
} ccurl_words;

/// Stores an error reply, unless it directly follows another one: libcurl sends QUIT after a rejection, and the server
/// may reject that, too.
static inline size_t ccurl_keep_reply(char *line, size_t size, size_t count, void *context) {
    ccurl_words *diagnostics = (ccurl_words *)context;
    size_t length = size * count;
    int is_error = length > 0 && (line[0] == '4' || line[0] == '5');
    if (is_error && (!diagnostics->is_refused || diagnostics->is_continued)) {
        size_t used = diagnostics->is_continued ? strlen(diagnostics->reply) : 0;
        size_t room = sizeof(diagnostics->reply) - 1 - used;
        size_t kept = length < room ? length : room;
        memcpy(diagnostics->reply + used, line, kept);
        diagnostics->reply[used + kept] = 0;
        diagnostics->is_continued = length > 3 && line[3] == '-';
    }
    diagnostics->is_refused = is_error;
    return length;
}

/// Stores the error texts in `diagnostics`, which must be zeroed and outlive the transfer.
static inline CURLcode ccurl_set_words(CURL *handle, ccurl_words *diagnostics) {
    CURLcode code = CCURL(curl_easy_setopt)(handle, CURLOPT_ERRORBUFFER, diagnostics->error);
    if (code == CURLE_OK) code = CCURL(curl_easy_setopt)(handle, CURLOPT_HEADERFUNCTION, ccurl_keep_reply);
    if (code == CURLE_OK) code = CCURL(curl_easy_setopt)(handle, CURLOPT_HEADERDATA, diagnostics);
    return code;
}

/// The reply and libcurl's error text as C strings.
static inline const char *ccurl_reply(const ccurl_words *diagnostics) { return diagnostics->reply; }
static inline const char *ccurl_error(const ccurl_words *diagnostics) { return diagnostics->error; }

/// Calls `callback` about once a second; a non-zero result ends the transfer.
static inline CURLcode ccurl_set_progress(
    CURL *handle, curl_xferinfo_callback callback, void *context) {
    CURLcode code = CCURL(curl_easy_setopt)(handle, CURLOPT_NOPROGRESS, 0L);
    if (code == CURLE_OK) code = CCURL(curl_easy_setopt)(handle, CURLOPT_XFERINFOFUNCTION, callback);
    if (code == CURLE_OK) code = CCURL(curl_easy_setopt)(handle, CURLOPT_XFERINFODATA, context);
    return code;
}

/// Limits how long the system tries to connect a socket, because libcurl's own limit includes the server's greeting.
///
/// Two repeated SYNs take 7 s on Linux (tcp(7)); macOS takes seconds. Where it cannot be set, the system's limit
/// applies.
static inline int ccurl_connects(void *context, curl_socket_t socket, curlsocktype purpose) {
    (void)context;
    (void)purpose;
#if defined(TCP_SYNCNT)
    int repeats = 2;
    (void)setsockopt(socket, IPPROTO_TCP, TCP_SYNCNT, &repeats, sizeof(repeats));
#elif defined(TCP_CONNECTIONTIMEOUT)
    int seconds = 7;
    (void)setsockopt(socket, IPPROTO_TCP, TCP_CONNECTIONTIMEOUT, &seconds, sizeof(seconds));
#endif
    return CURL_SOCKOPT_OK;
}

static inline CURLcode ccurl_set_connects(CURL *handle) {
    return CCURL(curl_easy_setopt)(handle, CURLOPT_SOCKOPTFUNCTION, ccurl_connects);
}

#endif
