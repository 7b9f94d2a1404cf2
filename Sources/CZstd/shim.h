// The interface of libzstd, which compresses recorded events (RFC 8878).

#ifndef CZSTD_SHIM_H
#define CZSTD_SHIM_H

#include <zstd.h>

#endif
