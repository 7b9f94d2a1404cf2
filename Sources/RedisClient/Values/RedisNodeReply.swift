/// What one master said when all were asked.
package struct RedisNodeReply: Sendable, Hashable {
    /// Who answered.
    package let node: RedisEndpoint
    /// Its answer; an error reply is ``RedisValue/error(_:)``.
    package let reply: RedisValue

    /// A node's answer.
    package init(node: RedisEndpoint, reply: RedisValue) {
        self.node = node
        self.reply = reply
    }
}
