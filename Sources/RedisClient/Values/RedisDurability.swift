/// How safe a write must be before its call returns: `WAIT replicas timeout`.
///
/// It narrows the loss at a failover, it does not exclude it: the write is in the master whatever
/// the outcome, and the replica that is promoted need not be one of those that have it.
package struct RedisDurability: Sendable, Hashable {
    /// How many replicas must have the write.
    package let replicas: Int
    /// How long to wait for them, in whole milliseconds from 1.
    package let timeout: Duration

    /// A demand; the timeout is cut to between 1 ms and half of
    /// ``RedisConfiguration/commandTimeout``.
    package init(replicas: Int, timeout: Duration) {
        precondition(replicas > 0, "no replica needs no waiting: call without durability")
        self.replicas = replicas
        self.timeout = timeout
    }

    /// The command, its timeout cut to `limit`.
    func command(limit: Duration) -> RedisCommand {
        let bounded = max(.milliseconds(1), min(timeout, limit))
        let (seconds, attoseconds) = bounded.components
        let ms = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
        return RedisCommand("WAIT", [RedisArgument(replicas), RedisArgument(ms)])
    }
}
