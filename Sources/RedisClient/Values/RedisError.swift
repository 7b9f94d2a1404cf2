/// Why a command has no reply, and what the caller may do.
///
/// The question behind every case is *may it have been executed?* A command that was never sent
/// can be repeated freely; one that was sent may be repeated only if it is idempotent. The client
/// itself repeats only what a server has refused without executing it.
package enum RedisError: Error, Sendable, Hashable {
    /// There was no usable connection within the command's timeout, so it was never sent. Repeat it
    /// when you like; the client keeps reconnecting.
    case notConnected
    /// The connection broke after the command was written. If `maybeExecuted`, repeat only what is
    /// idempotent, or look first; this client always says `true`, as it cannot know better.
    case connectionLost(maybeExecuted: Bool)
    /// The command was written and not answered in time. It may be executed even later: treat it
    /// like ``connectionLost(maybeExecuted:)``.
    case timedOut
    /// The task was cancelled. The command may have been written and executed all the same.
    case cancelled
    /// The limit of unanswered commands (or of their bytes) is reached; nothing was sent. Slow down
    /// and repeat; make pipelines shorter.
    case tooManyCommandsInFlight
    /// The reply exceeds a limit of ``RedisConfiguration``, so the connection was dropped. The
    /// command was executed: ask for less at a time.
    case replyTooLarge(String)
    /// The server sent something that is not RESP2, so the connection was dropped. Check that the
    /// URL names a Redis server and whether it expects TLS.
    case protocolError(String)
    /// Redis replied with an error. Decide by its ``RedisReplyError/kind``, which says what passes with
    /// time; most others are mistakes in the command.
    case reply(RedisReplyError)
    /// The client has been shut down; nothing was sent and nothing will be.
    case closed
}

extension RedisError: CustomStringConvertible {
    /// One sentence for a log line.
    package var description: String {
        switch self {
        case .notConnected: "not connected to Redis; the command was not sent"
        case .connectionLost(true): "connection to Redis lost; the command may have been executed"
        case .connectionLost(false): "connection to Redis lost; the command was not executed"
        case .timedOut: "Redis did not answer in time; the command may have been executed"
        case .cancelled: "cancelled; the command may have been executed"
        case .tooManyCommandsInFlight: "too many unanswered Redis commands; nothing was sent"
        case .replyTooLarge(let detail): "reply of Redis too large: \(detail)"
        case .protocolError(let detail): "not a valid reply of Redis: \(detail)"
        case .reply(let error): "Redis replied: \(error)"
        case .closed: "the Redis client is shut down"
        }
    }
}
