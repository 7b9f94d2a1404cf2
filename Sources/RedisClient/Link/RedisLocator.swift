import NIOCore

/// Says which server a link connects to next; asked before every attempt.
protocol RedisLocator: Sendable {
    /// The server to connect to, on `eventLoop`; fails with what the operator should know.
    func locate(on eventLoop: any EventLoop) -> EventLoopFuture<RedisEndpoint>
}

/// Always the same server.
struct RedisFixedLocator: RedisLocator {
    let endpoint: RedisEndpoint

    func locate(on eventLoop: any EventLoop) -> EventLoopFuture<RedisEndpoint> {
        eventLoop.makeSucceededFuture(endpoint)
    }
}
