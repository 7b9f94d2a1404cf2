// The parts of hiredis (0.14 and 1.x) that RedisClient uses: the reply reader and the command
// formatter. Macros, which Swift cannot import, and functions whose types differ between the two
// versions are wrapped here, so that Swift sees one interface.

#ifndef CHIREDIS_SHIM_H
#define CHIREDIS_SHIM_H

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

/// The text of a reader's error; `redisReaderGetError` is a macro.
static inline const char *chiredis_reader_error(const redisReader *reader) {
    return reader->errstr;
}

/// One value of a reply. An array is followed by its elements.
typedef struct {
    /// REDIS_REPLY_…
    int type;
    /// The integer, the number of elements of an array, or the number of bytes of a text.
    long long number;
} chiredis_value;

/// The values of one reply in the order of their arrival, and their texts one after the other.
///
/// hiredis allocates an object for each value, and one more for its text. A reply to a claim has 20 values
/// for each item, so a tape, whose memory is kept for the next reply, saves most allocations of a poll.
typedef struct {
    chiredis_value *values;
    size_t count, capacity;
    char *text;
    size_t length, size;
} chiredis_tape;

/// The memory of a decoder that its reader refers to.
typedef struct {
    redisReplyObjectFunctions functions;
    chiredis_tape tape;
} chiredis_memory;

/// Appends a value; returns a token that is not `NULL`, or `NULL` when out of memory.
static inline void *chiredis_append(const redisReadTask *task, int type, long long number) {
    chiredis_tape *tape = (chiredis_tape *)task->privdata;
    if (tape->count == tape->capacity) {
        size_t capacity = tape->capacity ? 2 * tape->capacity : 64;
        void *values = realloc(tape->values, capacity * sizeof(chiredis_value));
        if (!values) return NULL;
        tape->values = (chiredis_value *)values;
        tape->capacity = capacity;
    }
    chiredis_value value = {type, number};
    tape->values[tape->count++] = value;
    return tape;
}

static inline void *chiredis_append_text(const redisReadTask *task, char *text, size_t length) {
    chiredis_tape *tape = (chiredis_tape *)task->privdata;
    if (length > tape->size - tape->length) {
        size_t size = 2 * (tape->length + length) + 1024;
        void *bytes = realloc(tape->text, size);
        if (!bytes) return NULL;
        tape->text = (char *)bytes;
        tape->size = size;
    }
    if (length) memcpy(tape->text + tape->length, text, length);
    tape->length += length;
    return chiredis_append(task, task->type, (long long)length);
}

#if HIREDIS_MAJOR >= 1
static inline void *chiredis_append_array(const redisReadTask *task, size_t count) {
#else
static inline void *chiredis_append_array(const redisReadTask *task, int count) {
#endif
    return chiredis_append(task, REDIS_REPLY_ARRAY, (long long)count);
}

static inline void *chiredis_append_integer(const redisReadTask *task, long long number) {
    return chiredis_append(task, REDIS_REPLY_INTEGER, number);
}

static inline void *chiredis_append_nil(const redisReadTask *task) {
    return chiredis_append(task, REDIS_REPLY_NIL, 0);
}

/// The tape belongs to the decoder.
static inline void chiredis_keep(void *token) { (void)token; }

/// Creates a reader that appends each value to the tape; `NULL` when out of memory. `memory` must live as long as
/// the reader.
static inline redisReader *chiredis_reader(chiredis_memory *memory) {
    memset(memory, 0, sizeof(*memory));
    redisReplyObjectFunctions *functions = &memory->functions;
    functions->createString = chiredis_append_text;
    functions->createArray = chiredis_append_array;
    functions->createInteger = chiredis_append_integer;
    functions->createNil = chiredis_append_nil;
    functions->freeObject = chiredis_keep;
    redisReader *reader = redisReaderCreateWithFunctions(functions);
    if (reader) reader->privdata = &memory->tape;
    return reader;
}

/// Formats a command as RESP; returns its length, or a negative number when out of memory.
/// hiredis 0.14 returns `int` here, 1.x `long long`.
static inline long long chiredis_format_command(
    char **target, int argc, const char **argv, const size_t *argvlen) {
    return redisFormatCommandArgv(target, argc, argv, argvlen);
}

#endif
