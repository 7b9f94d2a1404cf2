/// The reply to a write that waited for replicas.
package struct RedisDurableReply: Sendable, Hashable {
    /// The command's own reply.
    package let reply: RedisValue
    /// How many replicas had the write when the wait ended; fewer than asked for after a timeout.
    package let replicas: Int

    /// A reply and its acknowledgements.
    package init(reply: RedisValue, replicas: Int) {
        self.reply = reply
        self.replicas = replicas
    }
}
