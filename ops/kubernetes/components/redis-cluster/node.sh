#!/bin/sh
# usage: node.sh       with POD_NAME, POD_IP, PEERS and a file with the password
#
# One node of the Redis Cluster. The first one makes the cluster once all are there and none belongs to one. A pod that
# is made anew has another address: whoever still knows where the others are tells them; where all have moved, as after a
# stop of the whole cluster, nobody does, so each introduces itself to the others by their names until all is well.
set -eu

port=${PORT:-6379}
run=${RUN:-/run/redis}
REDISCLI_AUTH=$(cat "${PASSWORD_FILE:-/run/secrets/redis/REDIS_PASSWORD}")
export REDISCLI_AUTH

umask 077
# In a file: the list of processes shows what stands on a command line.
cat >"$run/redis.conf" <<CONF
bind ${BIND:-*}
port $port
dir ${DATA:-/data}
cluster-enabled yes
cluster-config-file nodes.conf
cluster-announce-ip $POD_IP
cluster-node-timeout 5000
# A replica that has not heard of its master for long takes over all the same: better a second that is gone than a stop.
cluster-replica-validity-factor 0
# A shard that is lost for good waits for its copy, and the others work on.
cluster-require-full-coverage no
requirepass $REDISCLI_AUTH
masterauth $REDISCLI_AUTH
appendonly yes
appendfsync everysec
maxmemory ${MAXMEMORY:-1gb}
# Pending watches must never be evicted; pollerd refuses to start otherwise.
maxmemory-policy noeviction
CONF

address() { getent ahostsv4 "$1" | awk 'NR == 1 { print $1 }'; }
info() { redis-cli -h "$1" -p "$port" cluster info 2>/dev/null | tr -d '\r' | sed -n "s/^$2://p"; }

# All of them answer, and know nobody.
all_are_new() {
    for peer in $PEERS; do
        [ "$(info "$peer" cluster_known_nodes)" = 1 ] || return 1
    done
}

make_cluster() {
    nodes=''
    for peer in $PEERS; do nodes="$nodes $(address "$peer"):$port"; done
    # shellcheck disable=SC2086 # a list
    redis-cli --cluster create $nodes --cluster-replicas 1 --cluster-yes
}

meet_all() {
    for peer in $PEERS; do
        ip=$(address "$peer" || true)
        [ -z "$ip" ] || redis-cli -h "$POD_IP" -p "$port" cluster meet "$ip" "$port" >/dev/null || true
    done
}

look_after() {
    while sleep "${PAUSE:-5}"; do
        # A password that is gone, or a server that ends: the next look says more.
        known=$(info "$POD_IP" cluster_known_nodes) || continue
        if [ "$known" = 1 ]; then
            case $POD_NAME in *-0) if all_are_new; then make_cluster || true; fi ;; esac
        elif redis-cli -h "$POD_IP" -p "$port" cluster nodes 2>/dev/null | grep -q 'fail\|disconnected'; then
            meet_all
        fi
    done
}

look_after &
exec redis-server "$run/redis.conf"
