// The part of zlib that recorded events are packed with: a whole buffer in, a whole buffer out, as a
// raw deflate stream with a dictionary. zlib's own starts are macros, which Swift cannot import.

#ifndef CZLIB_SHIM_H
#define CZLIB_SHIM_H

#include <string.h>
#include <zlib.h>

/// 16 KiB: an event and the dictionary are in reach of each other, and starting costs no more than
/// clearing some tens of KiB.
#define CZLIB_WINDOW_BITS (-14)
#define CZLIB_MEMORY_LEVEL 7

/// Packs `length` bytes; returns how many there are at `target`, or -1 when they do not fit in
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

/// Unpacks what czlib_pack has packed with the same dictionary; returns how many bytes there are at
/// `target`, or -1 when they do not fit in `capacity` or are nothing of the kind.
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

/// Unpacks a body as HTTP packs it: gzip of one or more members, zlib, or a raw deflate stream, which some servers
/// call `deflate`. Returns how many bytes there are at `target`; no more than `capacity` are written, and then so many
/// are returned. -1 when they are nothing of the kind, or cut short.
static inline long czlib_inflate(
    const unsigned char *source, unsigned length, unsigned char *target, unsigned capacity) {
    // 32 tells zlib and gzip apart by their heads; what has neither is tried as raw.
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
