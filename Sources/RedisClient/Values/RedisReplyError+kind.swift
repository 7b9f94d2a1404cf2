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
    /// | ``unknownScript`` | `NOSCRIPT` | no | ``RedisClient/eval(_:keys:arguments:)`` loads it |
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
        /// The server does not know the script.
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
        case "ERR" where message.contains("non local key in a cluster node"): .keysMoved
        default: .other
        }
    }
}

extension RedisReplyError.Kind {
    /// Whether nothing was executed and the trouble passes within seconds, so that the client
    /// repeats the command itself for ``RedisConfiguration/refusalPatience``.
    var passesSoon: Bool {
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
