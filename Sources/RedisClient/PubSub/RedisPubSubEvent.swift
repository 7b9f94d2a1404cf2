package import NIOCore

/// What a subscription has to tell.
package enum RedisPubSubEvent: Sendable, Hashable {
    /// Everything subscribed to is confirmed by the server: messages published from now on arrive.
    /// Comes after every connect; what must not be missed is read from its source *after* this.
    case subscribed
    /// A message; `pattern` is the pattern that matched, if it came through one.
    case message(channel: String, pattern: String?, payload: ByteBuffer)
    /// Messages may have been lost before this point: the connection was replaced (then `subscribed`
    /// follows at once) or the consumer was too slow. Read the present state from its source.
    case gap

    /// What the event counts against ``RedisConfiguration/subscriptionBytesMax``.
    var byteCount: Int {
        guard case .message(_, _, let payload) = self else { return 0 }
        return payload.readableBytes
    }
}
