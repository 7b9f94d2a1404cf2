/// Why a command has no reply, and what the caller can do.
///
/// Every case answers the question *may the command have been executed?* A command that was never
/// sent can be repeated freely. One that was sent may be repeated only if it is idempotent. The
/// client itself repeats only commands that a server has rejected without executing them.
package enum RedisError: Error, Sendable, Hashable {
    /// There was no usable connection within the command's timeout, so it was never sent. Retry at
    /// any time; the client keeps reconnecting.
    case notConnected
    /// The connection broke after the command was written. If `maybeExecuted`, repeat only
    /// idempotent commands, or read the state first. This client always sets it to `true`, because
    /// it cannot know better.
    case connectionLost(maybeExecuted: Bool)
    /// The command was written and not answered in time. It may be executed even later: treat it
    /// like ``connectionLost(maybeExecuted:)``.
    case timedOut
    /// The task was cancelled. The command may have been written and executed nevertheless.
    case cancelled
    /// The limit of unanswered commands (or of their bytes) is reached; nothing was sent. Slow down
    /// and retry, or use shorter pipelines.
    case tooManyCommandsInFlight
    /// The reply exceeds a limit of ``RedisConfiguration``, so the connection was dropped. The
    /// command was executed: request less at a time.
    case replyTooLarge(String)
    /// The server sent bytes that are not RESP2, so the connection was dropped. Check that the URL
    /// names a Redis server and whether it expects TLS.
    case protocolError(String)
    /// Redis replied with an error. Decide by its ``RedisReplyError/kind``, which tells temporary
    /// errors apart; most others are mistakes in the command.
    case reply(RedisReplyError)
    /// The client has been shut down; nothing was sent and nothing will be.
    case closed
}

extension RedisError {
    /// Whether the command may have been executed; of a script with a `#!lua` line, a part of it.
    package var maybeExecuted: Bool {
        switch self {
        case .notConnected, .tooManyCommandsInFlight, .closed: false
        case .connectionLost(let maybeExecuted): maybeExecuted
        case .timedOut, .cancelled, .replyTooLarge, .protocolError: true
        case .reply(let error): error.kind.maybeExecuted
        }
    }
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
        case .replyTooLarge(let detail): "reply from Redis too large: \(detail)"
        case .protocolError(let detail): "invalid reply from Redis: \(detail)"
        case .reply(let error): "Redis replied: \(error)"
        case .closed: "the Redis client is shut down"
        }
    }
}

/// An error reply of Redis or of one of our scripts.
///
/// `-NOSCRIPT No matching script.` has the code `NOSCRIPT` and the message `No matching script.`.
package struct RedisReplyError: Error, Sendable, Hashable {
    /// The first word, for example `ERR`, `WRONGTYPE`, `NOSCRIPT`, `READONLY` or `LEASELOST`.
    package let code: String
    /// The text after the code; may be empty.
    package let message: String

    package init(code: String, message: String) {
        self.code = code
        self.message = message
    }

    /// Splits the text of an error reply at its first space.
    init(line: String) {
        let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        self.code = parts.first.map(String.init) ?? ""
        self.message = parts.count > 1 ? String(parts[1]) : ""
    }
}

extension RedisReplyError: CustomStringConvertible {
    /// The reply as Redis sent it.
    package var description: String { message.isEmpty ? code : "\(code) \(message)" }
}

extension RedisReplyError {
    /// The meaning of an error reply for the caller, derived from the code alone.
    ///
    /// | kind | code | executed? | resolved when |
    /// |---|---|---|---|
    /// | ``busy`` | `BUSY` | no | another client's script ends, or after `SCRIPT KILL` |
    /// | ``loading`` | `LOADING` | no | the server has read its data |
    /// | ``readOnly`` | `READONLY` | no | a failover is complete; else the URL names a replica |
    /// | ``masterDown`` | `MASTERDOWN` | no | the replica finds its master |
    /// | ``clusterDown`` | `CLUSTERDOWN` | no | a failover is complete, or the missing slots are served |
    /// | ``tryAgain`` | `TRYAGAIN` | no | all keys of the slot have moved |
    /// | ``tooFewReplicas`` | `NOREPLICAS` | no¹ | replicas connect (`min-replicas-to-write`) |
    /// | ``cannotPersist`` | `MISCONF` | no¹ | the disk accepts snapshots or the append-only file again |
    /// | ``outOfMemory`` | `OOM` | no¹ | memory is freed, or `maxmemory` raised |
    /// | ``loginNeeded`` | `NOAUTH`, `WRONGPASS` | no | the URL has the right login |
    /// | ``notPermitted`` | `NOPERM` | no¹ | the user has the permission, `ACL SETUSER` |
    /// | ``unknownScript`` | `NOSCRIPT` (see there) | no | ``RedisClient/eval(_:keys:arguments:)`` loads it |
    /// | ``keysMoved`` | (see there) | perhaps | the slot has moved completely |
    /// | ``other`` | | perhaps | |
    ///
    /// ¹ A script without a `#!lua` line may have written before the rejected command.
    package enum Kind: Sendable, Hashable {
        /// Another client's script has been running for longer than `busy-reply-threshold`.
        case busy
        /// The server is reading its data from disk or from its master.
        case loading
        /// The server is, or has become, a replica.
        case readOnly
        /// The server is a replica that has lost its master and serves no commands.
        case masterDown
        /// The Cluster does not serve the slot at present.
        case clusterDown
        /// Some of the command's keys have moved to another node, some not yet.
        case tryAgain
        /// Fewer replicas are connected than the server requires for a write.
        case tooFewReplicas
        /// The server cannot persist its data and rejects writes.
        case cannotPersist
        /// The server's memory is full and nothing may be evicted.
        case outOfMemory
        /// The login is missing or wrong.
        case loginNeeded
        /// The user lacks a permission.
        case notPermitted
        /// The server does not know the script or function; for functions the reply has another
        /// text.
        case unknownScript
        /// A script accessed an undeclared key that a resharding has moved. It stopped there, and
        /// its earlier writes remain.
        case keysMoved
        /// Any other: mostly a mistake in the command, or an error reply of one of our scripts.
        case other
    }

    /// The meaning of the error.
    package var kind: Kind {
        switch code {
        case "BUSY": .busy
        case "LOADING": .loading
        case "READONLY": .readOnly
        case "MASTERDOWN": .masterDown
        case "CLUSTERDOWN": .clusterDown
        case "TRYAGAIN": .tryAgain
        case "NOREPLICAS": .tooFewReplicas
        case "MISCONF": .cannotPersist
        case "OOM": .outOfMemory
        case "NOAUTH", "WRONGPASS": .loginNeeded
        case "NOPERM": .notPermitted
        case "NOSCRIPT": .unknownScript
        case "ERR" where message == "Function not found": .unknownScript
        case "ERR" where message.contains("non local key in a cluster node"): .keysMoved
        default: .other
        }
    }
}

extension RedisReplyError.Kind {
    /// Whether nothing was executed and the cause passes within seconds.
    ///
    /// Then the client retries the command for ``RedisConfiguration/refusalRetryTimeout``.
    var isTransient: Bool {
        switch self {
        case .busy, .loading, .masterDown, .clusterDown, .tryAgain: true
        case .readOnly, .tooFewReplicas, .cannotPersist, .outOfMemory, .loginNeeded, .notPermitted,
            .unknownScript, .keysMoved, .other:
            false
        }
    }

    /// Whether a command, or a part of a script with a `#!lua` line, may have been executed.
    ///
    /// ``tooFewReplicas`` is also the error of a write that too few replicas have confirmed, and a
    /// permission is checked for each command of a script.
    var maybeExecuted: Bool {
        switch self {
        case .busy, .loading, .readOnly, .masterDown, .clusterDown, .tryAgain, .cannotPersist,
            .loginNeeded, .unknownScript:
            false
        case .tooFewReplicas, .outOfMemory, .notPermitted, .keysMoved, .other: true
        }
    }

    /// Whether this server is the wrong one, so that a client that can find another one should do
    /// so.
    var isWrongServer: Bool {
        switch self {
        case .readOnly, .masterDown, .clusterDown: true
        case .busy, .loading, .tryAgain, .tooFewReplicas, .cannotPersist, .outOfMemory,
            .loginNeeded, .notPermitted, .unknownScript, .keysMoved, .other:
            false
        }
    }
}
