#!/bin/sh
# usage: ops/examples/subscribe.sh NAME [LAST_ID]
#
# Follows a stream with nothing but redis-cli. First have events put into one:
#
#     pollerctl enqueue src_123 --notify redis+stream:orders
#     ops/examples/subscribe.sh orders
#
# Prints a line for each event: the entry's id, then the event as JSON. A stream keeps its last
# 10,000 entries, so the id is all there is to remember: LAST_ID goes on behind it, and nothing is
# missed while this program was away. Deliveries are at least once: whoever acts on an event drops
# one whose `id` has been seen. REDIS_URL and POLLER_NAMESPACE say where.
set -eu

name=${1:?the name of a stream, as in redis+stream:NAME}
last=${2:-0}
key=${POLLER_NAMESPACE:-poller}:stream:$name
url=${REDIS_URL:-redis://127.0.0.1:6379/0}

# Waits up to 5 s for entries behind LAST_ID and prints their parts, a line each:
# the stream's key, and of every entry its id, then id, evt_…, seq, 2, event, {…}.
read_more() {
    redis-cli -e -u "$url" --no-auth-warning --raw \
        XREAD BLOCK 5000 COUNT 100 STREAMS "$key" "$last"
}

# Puts each entry on one line; the JSON of an upstream's object may come on several.
join() {
    awk '
        /^[0-9]+-[0-9]+$/ { if (id) print id, event; id = $0; event = ""; part = 0; next }
        id && ++part > 5  { event = event $0 }
        END               { if (id) print id, event }'
}

while :; do
    if ! entries=$(read_more); then
        echo "Redis cannot be reached, trying again" >&2
        sleep 1
        continue
    fi
    [ -n "$entries" ] || continue
    lines=$(printf '%s\n' "$entries" | join)
    printf '%s\n' "$lines"
    # Only now: what has been printed is behind us.
    last=$(printf '%s\n' "$lines" | tail -n 1 | cut -d ' ' -f 1)
done
