#!/bin/sh
# usage: ops/examples/subscribe.sh NAME [LAST_ID]
#
# Follows a Redis stream with only redis-cli. First send events to a stream:
#
#     pollerctl enqueue src_123 --notify redis+stream:orders
#     ops/examples/subscribe.sh orders
#
# Prints a line for each event: the entry's ID, then the event as JSON. A stream keeps its last 10,000 entries, so the
# ID of the last entry is the only state to store. LAST_ID continues after that entry, so no event is missed while
# this program is stopped. Deliveries are at least once, so a consumer must drop an event whose `id` it has already
# processed. REDIS_URL and POLLER_NAMESPACE set the server and the key prefix.
set -eu

name=${1:?the name of a stream, as in redis+stream:NAME}
last=${2:-0}
key=${POLLER_NAMESPACE:-poller}:stream:$name
url=${REDIS_URL:-redis://127.0.0.1:6379/0}

# Waits up to 5 s for entries after LAST_ID and prints their parts on separate lines: the stream's key, then for every
# entry its ID and id, evt_…, seq, 2, event, {…}.
read_more() {
    redis-cli -e -u "$url" --no-auth-warning --raw \
        XREAD BLOCK 5000 COUNT 100 STREAMS "$key" "$last"
}

# Joins each entry on one line, because the JSON of an upstream's object may have several lines.
join() {
    awk '
        /^[0-9]+-[0-9]+$/ { if (id) print id, event; id = $0; event = ""; part = 0; next }
        id && ++part > 5  { event = event $0 }
        END               { if (id) print id, event }'
}

while :; do
    if ! entries=$(read_more); then
        echo "Redis cannot be reached, retrying" >&2
        sleep 1
        continue
    fi
    [ -n "$entries" ] || continue
    lines=$(printf '%s\n' "$entries" | join)
    printf '%s\n' "$lines"
    # The position moves only after the entries were printed.
    last=$(printf '%s\n' "$lines" | tail -n 1 | cut -d ' ' -f 1)
done
