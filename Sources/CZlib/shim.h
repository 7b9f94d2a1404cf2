// The part of zlib that compresses recorded events: a whole buffer in, a whole buffer out, as a raw
// deflate stream with a dictionary. zlib's initialisers are macros, which Swift cannot import.

#ifndef CZLIB_SHIM_H
#define CZLIB_SHIM_H

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/// 16 KiB: the window covers an event and the dictionary.
#define CZLIB_WINDOW_BITS (-14)
/// 8,192 hash chains, about as many as the dictionary has positions. More take longer to copy, and make no event
/// smaller.
#define CZLIB_MEMORY_LEVEL 6

/// A stream that has read a dictionary, and the memory for it and one copy of it.
///
/// *Problem.* deflateInit2 and deflateSetDictionary take three times as long as compressing an event: zlib clears 100
/// KB and hashes each position of the dictionary. Memory of this size may also go back to the kernel each time.
///
/// *Approach.* The dictionary is read once. Each event is compressed by a copy of that stream, which deflateCopy makes
/// in the same memory as the previous copy. *Rejected*: deflateReset, which has to read the dictionary again.
///
/// Only one thread at a time may use it.
typedef struct {
    z_stream primed;
    /// The end of the memory of `primed`, which is where its copy begins.
    size_t primedEnd;
    size_t used;
    size_t capacity;
    unsigned char *memory;
} czlib_packer;

/// Gives zlib a part of the packer's memory. Parts are not freed: the next copy reuses all of them.
static inline void *czlib_part(void *opaque, unsigned count, unsigned size) {
    czlib_packer *packer = opaque;
    size_t length = ((size_t)count * size + 63) & ~(size_t)63;
    if (length > packer->capacity - packer->used) return Z_NULL;
    void *part = packer->memory + packer->used;
    packer->used += length;
    return part;
}

static inline void czlib_keep_part(void *opaque, void *part) {
    (void)opaque;
    (void)part;
}

/// Makes a packer. Returns null if there is no memory.
static inline czlib_packer *czlib_packer_make(const unsigned char *dictionary, unsigned length) {
    czlib_packer *packer = calloc(1, sizeof *packer);
    if (packer == NULL) return NULL;
    // The formula of zconf.h for the memory of a stream, which adds "a few kilobytes for small objects". Replacements of
    // zlib, such as zlib-ng, have a hash table of 128 KiB. Memory that is not used costs nothing.
    size_t one = ((size_t)1 << (-CZLIB_WINDOW_BITS + 2)) + ((size_t)1 << (CZLIB_MEMORY_LEVEL + 9));
    packer->capacity = 2 * (one + (160 << 10));
    packer->memory = aligned_alloc(64, packer->capacity);
    packer->primed.zalloc = czlib_part;
    packer->primed.zfree = czlib_keep_part;
    packer->primed.opaque = packer;
    if (packer->memory == NULL
        || deflateInit2(&packer->primed, 6, Z_DEFLATED, CZLIB_WINDOW_BITS, CZLIB_MEMORY_LEVEL,
                        Z_DEFAULT_STRATEGY) != Z_OK
        // Level 6 follows 128 matches. Half of them take an eighth less time, and events grow by less than 1 %.
        || deflateTune(&packer->primed, 8, 16, 128, 64) != Z_OK
        || deflateSetDictionary(&packer->primed, dictionary, length) != Z_OK) {
        free(packer->memory);
        free(packer);
        return NULL;
    }
    packer->primedEnd = packer->used;
    return packer;
}

static inline void czlib_packer_free(czlib_packer *packer) {
    free(packer->memory);
    free(packer);
}

/// Compresses `length` bytes. Returns the number of bytes at `target`, or -1 if they do not fit in
/// `capacity` or there is no memory.
static inline long czlib_pack(
    czlib_packer *packer,
    const unsigned char *source, unsigned length,
    unsigned char *target, unsigned capacity) {
    z_stream stream;
    packer->used = packer->primedEnd;
    if (deflateCopy(&stream, &packer->primed) != Z_OK) return -1;
    stream.next_in = (unsigned char *)source;
    stream.avail_in = length;
    stream.next_out = target;
    stream.avail_out = capacity;
    return deflate(&stream, Z_FINISH) == Z_STREAM_END ? (long)stream.total_out : -1;
}

/// The memory of one decompression: zlib needs 23 KiB, replacements of zlib up to 40.
///
/// malloc would take this from the end of the heap for each event and then give it back, which costs more than
/// decompressing the event.
typedef struct {
    size_t used;
    _Alignas(64) unsigned char memory[48 << 10];
} czlib_scratch;

static inline void *czlib_scratch_part(void *opaque, unsigned count, unsigned size) {
    czlib_scratch *scratch = opaque;
    size_t length = ((size_t)count * size + 63) & ~(size_t)63;
    if (length > sizeof scratch->memory - scratch->used) return malloc((size_t)count * size);
    void *part = scratch->memory + scratch->used;
    scratch->used += length;
    return part;
}

static inline void czlib_scratch_free(void *opaque, void *part) {
    czlib_scratch *scratch = opaque;
    unsigned char *begin = part;
    if (begin < scratch->memory || begin >= scratch->memory + sizeof scratch->memory) free(part);
}

/// Decompresses the output of czlib_pack with the same dictionary. Returns the number of bytes at
/// `target`, or -1 if the input is invalid. If the output does not fit in `capacity`, it returns
/// -1 too, or `capacity` if only the beginning is wanted.
static inline long czlib_unpack(
    const unsigned char *dictionary, unsigned dictionaryLength,
    const unsigned char *source, unsigned length,
    unsigned char *target, unsigned capacity, int onlyBeginning) {
    czlib_scratch scratch;
    scratch.used = 0;
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    stream.zalloc = czlib_scratch_part;
    stream.zfree = czlib_scratch_free;
    stream.opaque = &scratch;
    if (inflateInit2(&stream, CZLIB_WINDOW_BITS) != Z_OK) return -1;
    long unpacked = -1;
    if (inflateSetDictionary(&stream, dictionary, dictionaryLength) == Z_OK) {
        stream.next_in = (unsigned char *)source;
        stream.avail_in = length;
        stream.next_out = target;
        stream.avail_out = capacity;
        int result = inflate(&stream, onlyBeginning ? Z_SYNC_FLUSH : Z_FINISH);
        if (result == Z_STREAM_END || (onlyBeginning && result == Z_OK)) unpacked = (long)stream.total_out;
    }
    inflateEnd(&stream);
    return unpacked;
}

/// Decompresses the body of an HTTP message: gzip with one or more members, zlib, or a raw deflate stream, which some
/// servers call `deflate`. Returns the number of bytes at `target`: `capacity` if the body is longer, or -1 if the
/// input is invalid or incomplete.
static inline long czlib_inflate(
    const unsigned char *source, unsigned length, unsigned char *target, unsigned capacity) {
    // 32 detects zlib or gzip by the header; input without either is tried as a raw stream.
    for (int bits = 15 + 32; bits != 0; bits = bits == -15 ? 0 : -15) {
        z_stream stream;
        memset(&stream, 0, sizeof stream);
        if (inflateInit2(&stream, bits) != Z_OK) return -1;
        stream.next_in = (unsigned char *)source;
        stream.avail_in = length;
        stream.next_out = target;
        stream.avail_out = capacity;
        int result = inflate(&stream, Z_NO_FLUSH);
        while (result == Z_STREAM_END && stream.avail_in > 0 && stream.avail_out > 0 && bits > 0
               && stream.next_in[0] == 0x1f) {
            if (inflateReset(&stream) != Z_OK) break;
            result = inflate(&stream, Z_NO_FLUSH);
        }
        long unpacked = (long)(capacity - stream.avail_out);
        int isFull = stream.avail_out == 0;
        inflateEnd(&stream);
        if (result == Z_STREAM_END || isFull) return unpacked;
    }
    return -1;
}

#endif
