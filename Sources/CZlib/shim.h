// The part of zlib that compresses recorded events: a whole buffer in, a whole buffer out, as a raw
// deflate stream with a dictionary. zlib's initialisers are macros, which Swift cannot import.

#ifndef CZLIB_SHIM_H
#define CZLIB_SHIM_H

#include <string.h>
#include <zlib.h>

/// 16 KiB: the window covers an event and the dictionary, and initialising it only clears some tens of
/// KiB.
#define CZLIB_WINDOW_BITS (-14)
#define CZLIB_MEMORY_LEVEL 7

/// Compresses `length` bytes. Returns the number of bytes at `target`, or -1 if they do not fit in
/// `capacity` or there is no memory.
static inline long czlib_pack(
    const unsigned char *dictionary, unsigned dictionaryLength,
    const unsigned char *source, unsigned length,
    unsigned char *target, unsigned capacity) {
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    if (deflateInit2(&stream, 6, Z_DEFLATED, CZLIB_WINDOW_BITS, CZLIB_MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) return -1;
    long packed = -1;
    if (deflateSetDictionary(&stream, dictionary, dictionaryLength) == Z_OK) {
        stream.next_in = (unsigned char *)source;
        stream.avail_in = length;
        stream.next_out = target;
        stream.avail_out = capacity;
        if (deflate(&stream, Z_FINISH) == Z_STREAM_END) packed = (long)stream.total_out;
    }
    deflateEnd(&stream);
    return packed;
}

/// Decompresses the output of czlib_pack with the same dictionary. Returns the number of bytes at
/// `target`, or -1 if they do not fit in `capacity` or the input is invalid.
static inline long czlib_unpack(
    const unsigned char *dictionary, unsigned dictionaryLength,
    const unsigned char *source, unsigned length,
    unsigned char *target, unsigned capacity) {
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    if (inflateInit2(&stream, CZLIB_WINDOW_BITS) != Z_OK) return -1;
    long unpacked = -1;
    if (inflateSetDictionary(&stream, dictionary, dictionaryLength) == Z_OK) {
        stream.next_in = (unsigned char *)source;
        stream.avail_in = length;
        stream.next_out = target;
        stream.avail_out = capacity;
        if (inflate(&stream, Z_FINISH) == Z_STREAM_END) unpacked = (long)stream.total_out;
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
