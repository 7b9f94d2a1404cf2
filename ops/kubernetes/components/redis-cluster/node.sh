#!/bin/sh
# usage: node.sh       with POD_NAME, POD_IP, PEERS and a file with the password
#
# Runs one node of the Redis Cluster. The first one creates the cluster when all are reachable and none belongs to
# one. A recreated pod has another address, which the nodes learn from each other. If all addresses have changed, as
# after a stop of the whole cluster, each node announces itself to the others by name until all are connected.
set -eu

port=${PORT:-6379}
run=${RUN:-/run/redis}
REDISCLI_AUTH=$(cat "${PASSWORD_FILE:-/run/secrets/redis/REDIS_PASSWORD}")
export REDISCLI_AUTH
# Redis splits a line of its configuration at spaces and quotes, except within double quotes.
password=$(printf %s "$REDISCLI_AUTH" | sed 's/[\\"]/\\&/g')

umask 077
# The password is in a file, because the list of processes shows command lines.
cat >"$run/redis.conf" <<CONF
bind ${BIND:-*}
port $port
dir ${DATA:-/data}
cluster-enabled yes
cluster-config-file nodes.conf
cluster-announce-ip $POD_IP
cluster-node-timeout 5000
# A replica without recent contact to its master may take over, because losing a second of writes is better than an
# outage.
cluster-replica-validity-factor 0
# A permanently lost shard waits for its restore, and the others keep working.
cluster-require-full-coverage no
requirepass "$password"
masterauth "$password"
appendonly yes
appendfsync everysec
maxmemory ${MAXMEMORY:-1gb}
# Pending watches must never be evicted; pollerd refuses to start otherwise.
maxmemory-policy noeviction
CONF

address() { getent ahostsv4 "$1" | awk 'NR == 1 { print $1 }'; }
info() { redis-cli -h "$1" -p "$port" cluster info 2>/dev/null | tr -d '\r' | sed -n "s/^$2://p"; }

# Checks that all nodes respond and none belongs to a cluster.
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
        # Fails if the password is missing or the server is ending; the next check decides.
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
