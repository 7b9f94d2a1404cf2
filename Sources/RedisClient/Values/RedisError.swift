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

/// An error that Redis, or one of our scripts, replied.
///
/// `-NOSCRIPT No matching script.` has the code `NOSCRIPT` and the message `No matching script.`.
package struct RedisReplyError: Error, Sendable, Hashable {
    /// The first word, for example `ERR`, `WRONGTYPE`, `NOSCRIPT`, `READONLY` or `LEASELOST`.
    package let code: String
    /// What follows the code; may be empty.
    package let message: String

    /// Makes an error from its parts.
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
    /// What an error reply means to the caller; the code alone decides.
    ///
    /// | kind | code | executed? | what helps |
    /// |---|---|---|---|
    /// | ``busy`` | `BUSY` | no | another client's script ends, or `SCRIPT KILL` |
    /// | ``loading`` | `LOADING` | no | the server has read its data |
    /// | ``readOnly`` | `READONLY` | no | a failover is over; else the URL names a replica |
    /// | ``masterDown`` | `MASTERDOWN` | no | the replica finds its master |
    /// | ``clusterDown`` | `CLUSTERDOWN` | no | a failover is over, or the missing slots are served |
    /// | ``tryAgain`` | `TRYAGAIN` | no | the keys of the slot have moved together |
    /// | ``tooFewReplicas`` | `NOREPLICAS` | no¹ | replicas connect (`min-replicas-to-write`) |
    /// | ``cannotPersist`` | `MISCONF` | no¹ | the disk takes snapshots or the append-only file again |
    /// | ``outOfMemory`` | `OOM` | no¹ | memory is freed, or `maxmemory` raised |
    /// | ``loginNeeded`` | `NOAUTH`, `WRONGPASS` | no | a login in the URL |
    /// | ``notPermitted`` | `NOPERM` | no¹ | rights for the user, `ACL SETUSER` |
    /// | ``unknownScript`` | `NOSCRIPT` (see there) | no | ``RedisClient/eval(_:keys:arguments:)`` loads it |
    /// | ``keysMoved`` | (see there) | perhaps | the slot has moved altogether |
    /// | ``other`` | | perhaps | |
    ///
    /// ¹ A script without a `#!lua` line may have written before the command that was refused.
    package enum Kind: Sendable, Hashable {
        /// Another client's script has been running for longer than `busy-reply-threshold`.
        case busy
        /// The server reads its data from disk or from its master.
        case loading
        /// The server is, or has become, a replica.
        case readOnly
        /// The server is a replica that has lost its master and answers nothing.
        case masterDown
        /// The Cluster does not serve the slot at present.
        case clusterDown
        /// Some of the command's keys have moved to another node, some not yet.
        case tryAgain
        /// Fewer replicas are connected than the server wants for a write.
        case tooFewReplicas
        /// The server cannot save and refuses writes.
        case cannotPersist
        /// The server's memory is full and nothing may be evicted.
        case outOfMemory
        /// No login, or a wrong one.
        case loginNeeded
        /// The user lacks a right.
        case notPermitted
        /// The server does not know the script, or, in other words, the function.
        case unknownScript
        /// A script met an undeclared key that a resharding has moved; it stopped there, and what it
        /// wrote before stays.
        case keysMoved
        /// Any other: mostly a mistake in the command, or an error that a script of ours replied.
        case other
    }

    /// What the error means.
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
    /// Whether nothing was executed and the trouble passes within seconds, so that the client
    /// repeats the command itself for ``RedisConfiguration/refusalRetryTimeout``.
    var isTransient: Bool {
        switch self {
        case .busy, .loading, .masterDown, .clusterDown, .tryAgain: true
        case .readOnly, .tooFewReplicas, .cannotPersist, .outOfMemory, .loginNeeded, .notPermitted,
            .unknownScript, .keysMoved, .other:
            false
        }
    }

    /// Whether the server is not the one to ask, so that a client which can find another one should.
    var isWrongServer: Bool {
        switch self {
        case .readOnly, .masterDown, .clusterDown: true
        case .busy, .loading, .tryAgain, .tooFewReplicas, .cannotPersist, .outOfMemory,
            .loginNeeded, .notPermitted, .unknownScript, .keysMoved, .other:
            false
        }
    }
}
