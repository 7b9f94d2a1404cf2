import NIOCore

/// What uses a ``RedisLink``; everything is called on the link's event loop.
protocol RedisLinkDelegate: AnyObject {
    /// The connection is logged in: write.
    func linkReady()
    /// A reply, or a message, has arrived.
    func linkReceived(_ value: RedisValue)
    /// The connection that was ready, or draining, is gone.
    func linkLost(_ failure: RedisLinkFailure)
    /// An attempt to connect has failed; others follow.
    func linkUnreachable()
    /// The socket takes bytes again.
    func linkWritable()
    /// The link will never be ready again.
    func linkFinished()
}
