import Foundation
import NIOCore
import NIOPosix
import TLSErrorText

/// The reason why a connection could not be made or was lost, for the log.
struct RedisLinkFailure: Error, Hashable {
    /// What happened.
    let message: String
    /// The recommended action.
    let remedy: String
    /// The error of the command whose reply caused the failure.
    ///
    /// All other commands fail with `connectionLost`.
    let commandError: RedisError?

    init(_ message: String, remedy: String, commandError: RedisError? = nil) {
        self.message = message
        self.remedy = remedy
        self.commandError = commandError
    }

    /// The server or the network closed the connection.
    static let closedByPeer = RedisLinkFailure(
        "the server closed the connection",
        remedy: "check whether Redis restarted, or applied `timeout` or an output buffer limit"
    )
    /// The server accepted the connection and then did not answer.
    static let loginTimedOut = RedisLinkFailure(
        "the server did not answer the login in time",
        remedy: "check that the URL names a Redis server and whether it expects rediss://"
    )
    /// The oldest reply is far beyond its timeout.
    static let stalled = RedisLinkFailure(
        "the server has stopped answering",
        remedy: "check whether Redis hangs (SLOWLOG GET, disk, swap) or the network drops packets"
    )
    /// The server has become a replica.
    static let readOnly = RedisLinkFailure(
        "the server is a read-only replica",
        remedy: "wait until the failover is complete; otherwise point the URL to the master"
    )
    /// The sentinels' answer was out of date.
    static let notMaster = RedisLinkFailure(
        "the server named by the sentinels is a replica",
        remedy: "wait until the failover is complete; otherwise check SENTINEL MASTERS"
    )
    static let masterMoved = RedisLinkFailure(
        "another server has become the master",
        remedy: "none: the client switches automatically"
    )
    /// The Cluster node used for a subscription has been removed.
    static let nodeRemoved = RedisLinkFailure(
        "the node has left the Cluster",
        remedy: "none: the client subscribes at another node"
    )
    static let noSlots = RedisLinkFailure(
        "no slot is served",
        remedy: "assign the slots to nodes: redis-cli --cluster create, or fix"
    )
    /// The client itself closes the connection.
    static let shutDown = RedisLinkFailure("shut down", remedy: "")

    /// The received bytes are not acceptable replies.
    static func codec(_ error: RedisCodecError) -> RedisLinkFailure {
        RedisLinkFailure(
            error.commandError.description,
            remedy:
                "check that the URL names a Redis server; request less if a reply was too large",
            commandError: error.commandError
        )
    }

    /// The system's error text, without the type names around it.
    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError:
            if let dns = error.dnsAError ?? error.dnsAAAAError { return String(describing: dns) }
            return error.connectionErrors.first.map { reason($0.error) } ?? "Connection refused"
        case let error as IOError: return unsafe String(cString: strerror(error.errnoCode))
        default: return TLSErrorText.text(of: error)
        }
    }

    /// The operating system or TLS rejected or broke the connection.
    static func network(_ error: any Error) -> RedisLinkFailure {
        // Finding the server may have failed before.
        if let failure = error as? RedisLinkFailure { return failure }
        return RedisLinkFailure(
            reason(error),
            remedy: "check that Redis runs and listens there, and its TLS settings if rediss://"
        )
    }
}

/// Decides which failures of a link are logged.
///
/// Logged are the loss of a connection and the reason why it cannot be restored. After that, one
/// line per `interval` gives the number of failures. Otherwise a Redis that is down for an hour
/// would bury all other messages. An outage ends once a connection has held. A server that accepts
/// and drops every connection is therefore one outage. No I/O, no clock.
struct RedisOutageLog {
    private let interval: Duration
    private var lastLine: RedisInstant?
    private var unlogged = 0
    private var hasLoggedRecovery = false
    private var hasLoggedCause = false

    init(interval: Duration) {
        self.interval = interval
    }

    /// Records a failure, the `attempt`-th since a connection last held.
    ///
    /// Returns how many failures the log line covers, or `nil` to log nothing.
    ///
    /// `isLoss`: an established connection broke.
    mutating func failed(attempt: Int, isLoss: Bool = true, now: RedisInstant) -> Int? {
        unlogged += 1
        // The first line reports the loss, the second the reason why it persists. If nothing was
        // lost, the first line already gives the reason.
        if attempt == 1 { hasLoggedCause = !isLoss }
        let isCause = attempt == 2 && !hasLoggedRecovery && !hasLoggedCause
        if attempt > 1, !isCause, let lastLine, now < lastLine + interval { return nil }
        defer { unlogged = 0 }
        lastLine = now
        hasLoggedRecovery = false
        return unlogged
    }

    /// Records a ready connection.
    ///
    /// Returns whether to log it: once for each failure that was logged.
    mutating func recovered() -> Bool {
        defer { hasLoggedRecovery = true }
        return !hasLoggedRecovery
    }
}
