import Foundation
import NIOCore
import NIOPosix
import TLSWords

/// Why a connection could not be made or was lost, for the operator's log.
struct RedisLinkFailure: Error, Hashable {
    /// What happened.
    let message: String
    /// What to do about it.
    let remedy: String
    /// What the command learns whose reply caused it; the others learn `connectionLost`.
    let commandError: RedisError?

    init(_ message: String, remedy: String, commandError: RedisError? = nil) {
        self.message = message
        self.remedy = remedy
        self.commandError = commandError
    }

    /// The server closed the connection, or the network did.
    static let closedByPeer = RedisLinkFailure(
        "the server closed the connection",
        remedy: "see whether Redis restarted, or closed it by `timeout` or an output buffer limit"
    )
    /// The server accepted the connection and then kept unlogged.
    static let loginTimedOut = RedisLinkFailure(
        "the server did not answer the login in time",
        remedy: "check that the URL names a Redis server and whether it expects rediss://"
    )
    /// The oldest reply is long overdue.
    static let stalled = RedisLinkFailure(
        "the server has stopped answering",
        remedy: "see whether Redis hangs (SLOWLOG GET, disk, swap) or the network drops packets"
    )
    /// The server has become a replica.
    static let readOnly = RedisLinkFailure(
        "the server is a read-only replica",
        remedy: "after a failover this passes by itself; else point the URL to the master"
    )
    /// The sentinels' answer was out of date.
    static let notMaster = RedisLinkFailure(
        "the server that the sentinels name is a replica",
        remedy: "during a failover this passes by itself; else look at SENTINEL MASTERS"
    )
    /// Another server has taken over.
    static let masterMoved = RedisLinkFailure(
        "another server has become the master",
        remedy: "nothing: the client follows"
    )
    /// The node a subscription listened to is of no use any more.
    static let nodeRemoved = RedisLinkFailure(
        "the node has left the Cluster",
        remedy: "nothing: the client listens to another one"
    )
    /// The nodes of a Cluster have not been given their slots.
    static let noSlots = RedisLinkFailure(
        "no slot is served",
        remedy: "give the slots to the nodes: redis-cli --cluster create, or fix"
    )
    /// The client itself ends the connection.
    static let shutDown = RedisLinkFailure("shut down", remedy: "")

    /// The bytes received are not acceptable replies.
    static func codec(_ error: RedisCodecError) -> RedisLinkFailure {
        RedisLinkFailure(
            error.commandError.description,
            remedy:
                "check that the URL names a Redis server; ask for less if a reply was too large",
            commandError: error.commandError
        )
    }

    /// What the system says, without the names of types around it.
    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError:
            if let dns = error.dnsAError ?? error.dnsAAAAError { return String(describing: dns) }
            return error.connectionErrors.first.map { reason($0.error) } ?? "Connection refused"
        case let error as IOError: return unsafe String(cString: strerror(error.errnoCode))
        default: return TLSWords.text(of: error)
        }
    }

    /// The system refused or broke the connection, or TLS did.
    static func network(_ error: any Error) -> RedisLinkFailure {
        // Looking for the server may have failed already.
        if let failure = error as? RedisLinkFailure { return failure }
        return RedisLinkFailure(
            reason(error),
            remedy: "check that Redis runs and listens there, and its TLS settings if rediss://"
        )
    }
}

/// Which of a link's failures are worth a line in the log.
///
/// That the connection is lost is, and why it cannot be made again; then at most one each `interval`,
/// which tells how many there were: a Redis that is down for an hour shall not bury everything else. An
/// outage ends once a connection has held, so a server that accepts and drops everybody is one outage. No
/// I/O, no clock.
struct RedisOutageLog {
    private let interval: Duration
    private var lastLine: RedisInstant?
    private var unlogged = 0
    private var hasLoggedRecovery = false
    private var hasLoggedCause = false

    init(interval: Duration) {
        self.interval = interval
    }

    /// A failure, the `attempt`-th since a connection last held; returns how many failures the line
    /// stands for, or `nil` to say nothing.
    ///
    /// `isLoss`: a connection broke that had held.
    mutating func failed(attempt: Int, isLoss: Bool = true, now: RedisInstant) -> Int? {
        unlogged += 1
        // The first says that it is lost, the second why it does not come back; where nothing was lost, the first
        // says why already.
        if attempt == 1 { hasLoggedCause = !isLoss }
        let isCause = attempt == 2 && !hasLoggedRecovery && !hasLoggedCause
        if attempt > 1, !isCause, let lastLine, now < lastLine + interval { return nil }
        defer { unlogged = 0 }
        lastLine = now
        hasLoggedRecovery = false
        return unlogged
    }

    /// A connection is ready; returns whether to say so: once for each failure that was told.
    mutating func recovered() -> Bool {
        defer { hasLoggedRecovery = true }
        return !hasLoggedRecovery
    }
}
