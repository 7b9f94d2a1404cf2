import Testing

/// What needs several real servers; one at a time, as each keeps the machine busy and the servers
/// watch each other by the clock.
@Suite(.serialized, .timeLimit(.minutes(2))) enum RedisTopologyTests {}
