/// Limits and timeouts of a client, each with the reason for its default.
package struct RedisConfiguration: Sendable, Hashable {
    /// How long connecting, and then TLS and login, may take.
    ///
    /// Two lost SYNs are repeated within 3 s.
    package var connectTimeout: Duration = .seconds(5)
    /// How long a command may take from being issued to its reply.
    ///
    /// Our scripts take microseconds to milliseconds; after twice this time without a reply the
    /// connection is replaced. Below half a lease, so a worker learns of trouble before it loses its
    /// leases.
    package var commandTimeout: Duration = .seconds(5)
    /// How many commands may be unanswered, waiting ones included.
    ///
    /// At 100,000 commands a second this is more than half a second of work; more would only grow
    /// latency.
    package var inFlightMax = 65_536
    /// How many bytes unanswered commands may have together: what a stalled server can cost us.
    package var commandBytesMax = 64 << 20
    /// How many bytes a reply may have: the same memory as commands; our largest are pages of 1 MiB.
    package var replyBytesMax = 64 << 20
    /// How many elements a reply's arrays may have together.
    ///
    /// hiredis allocates 8 bytes for each on announcement and up to 56 more on arrival, so this
    /// bounds what a few hostile bytes can cost to 8 MiB and what a reply can to 64 MiB.
    package var replyElementsMax = 1 << 20
    /// How deep a reply's arrays may nest: the most that hiredis 0.14 can read.
    package var replyDepthMax = 8
    /// The upper bound of the first reconnection delay: a restart of Redis takes about this long.
    package var reconnectBase: Duration = .milliseconds(50)
    /// The upper bound of every later delay: soon enough after an outage of hours, and a thousand
    /// clients still make only some hundred attempts a second.
    package var reconnectCap: Duration = .seconds(5)
    /// How long a command is repeated that the server refuses for a passing reason without having
    /// executed it: `BUSY`, `LOADING`, `MASTERDOWN`, `CLUSTERDOWN`, `TRYAGAIN`, and `READONLY` where
    /// another master can be found.
    ///
    /// Most such states of a healthy system end within it; an API still answers in time.
    package var refusalRetryTimeout: Duration = .seconds(2)
    /// The shortest time between two lines about the same outage: a line each is two a minute for
    /// each connection.
    package var failureLogInterval: Duration = .seconds(30)
    /// How often the map of a Cluster's slots is read when nothing else gives a reason to: how late
    /// we may learn that a node was removed which we only listen to.
    package var clusterRefreshInterval: Duration = .seconds(10)
    /// How often it is read while a node that we need cannot be reached; a failover takes at least
    /// that long.
    package var clusterTroubleInterval: Duration = .milliseconds(250)
    /// How often an idle subscription connection asks whether the server is there; a dead one is
    /// replaced within this plus ``commandTimeout``.
    package var keepAliveInterval: Duration = .seconds(10)
    /// How many events a subscription keeps for a slow consumer before the oldest are dropped.
    package var subscriptionEventsMax = 4_096
    /// How many payload bytes a subscription keeps for a slow consumer.
    package var subscriptionBytesMax = 16 << 20
    /// TLS settings for `rediss://`.
    package var tls = RedisTLSConfiguration()
    /// The connection's name in `CLIENT LIST`: printable ASCII without spaces, or `nil` for none.
    package var clientName: String?

    /// The defaults.
    package init() {}
}

/// How `rediss://` connections are secured.
package struct RedisTLSConfiguration: Sendable, Hashable {
    /// A PEM file with the authorities to trust; `nil` trusts the system's.
    package var trustRootsFile: String?
    /// A PEM file with authorities to trust besides the system's, where no file takes the place of these.
    package var additionalRootsFile: String?
    /// Whether the server's certificate and name are verified.
    ///
    /// Turn off for experiments only: without it anybody on the path can read and change everything.
    package var verifiesServer = true
    /// A PEM file with our certificate chain, for servers that ask for one (`tls-auth-clients yes`,
    /// Redis' default).
    package var certificateChainFile: String?
    /// The PEM file with the private key of ``certificateChainFile``.
    package var privateKeyFile: String?

    /// The system's trust roots, verification on, no client certificate.
    package init() {}
}

/// The PEM files that a TLS connection uses; what is `nil` is not used.
package struct RedisTLSFiles: Sendable, Hashable {
    /// The authorities to trust in place of the system's.
    package var authorities: String?
    /// Our certificate chain, for servers that ask for one (`tls-auth-clients yes`, Redis' default).
    package var certificate: String?
    /// The private key of ``certificate``.
    package var key: String?

    /// No files: the system's authorities and no client certificate.
    package init(authorities: String? = nil, certificate: String? = nil, key: String? = nil) {
        self.authorities = authorities
        self.certificate = certificate
        self.key = key
    }
}
