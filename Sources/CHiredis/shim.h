// The parts of hiredis (0.14 and 1.x) that RedisClient uses: the reply reader and the command
// formatter. Macros, which Swift cannot import, and functions whose result type differs between the two
// versions are wrapped here, so that Swift sees one interface.

#ifndef CHIREDIS_SHIM_H
#define CHIREDIS_SHIM_H

#include <hiredis/hiredis.h>

/// The text of a reader's error; `redisReaderGetError` is a macro.
static inline const char *chiredis_reader_error(const redisReader *reader) {
    return reader->errstr;
}

/// Formats a command as RESP; returns its length, or a negative number when out of memory.
/// hiredis 0.14 returns `int` here, 1.x `long long`.
static inline long long chiredis_format_command(
    char **target, int argc, const char **argv, const size_t *argvlen) {
    return redisFormatCommandArgv(target, argc, argv, argvlen);
}

#endif
