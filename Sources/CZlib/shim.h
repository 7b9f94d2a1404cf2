// The part of zlib that decompresses the bodies of HTTP messages. Its initialisers are macros, which Swift cannot import.

#ifndef CZLIB_SHIM_H
#define CZLIB_SHIM_H

#include <string.h>
#include <zlib.h>

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
