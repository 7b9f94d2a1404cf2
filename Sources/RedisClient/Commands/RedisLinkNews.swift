/// What a ``RedisCommandLink`` tells whoever chooses its server.
enum RedisLinkNews: Hashable, Sendable {
    /// It is connected and logged in.
    case ready(RedisEndpoint)
    /// The connection is gone or could not be made; it is tried again.
    case down
    /// The server says that it is the wrong one, or somebody else said so.
    case wrongServer
}
