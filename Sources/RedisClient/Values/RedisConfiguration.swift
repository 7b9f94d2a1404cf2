/// Limits and timeouts of a client, each with the reason for its default.
package struct RedisConfiguration: Sendable, Hashable {
    /// How long connecting, including TLS and login, may take.
    ///
    /// Two lost SYN packets are repeated within 3 s.
    package var connectTimeout: Duration = .seconds(5)
    /// How long a command may take from being issued to its reply.
    ///
    /// Our scripts take microseconds to milliseconds. After twice this time without a reply the
    /// connection is replaced. It is below half a lease, so a worker detects trouble before it
    /// loses its leases.
    package var commandTimeout: Duration = .seconds(5)
    /// How long to wait for the replies to written commands before a connection is closed, because
    /// the client ends or another server has become the master.
    ///
    /// A working server replies at once; otherwise it hangs.
    package var drainTimeout: Duration = .seconds(1)
    /// How many commands may be unanswered, including waiting ones.
    ///
    /// At 100,000 commands a second this is more than half a second of work; more would only
    /// increase latency.
    package var inFlightMax = 65_536
    /// The most bytes of all unanswered commands: the memory that a stalled server can cost.
    package var commandBytesMax = 64 << 20
    /// The most bytes of a reply: the same memory as for commands.
    ///
    /// Our largest replies are pages of 1 MiB.
    package var replyBytesMax = 64 << 20
    /// The most elements that the arrays of a reply may have together.
    ///
    /// hiredis allocates 8 bytes for each when it is announced and up to 56 more when it arrives.
    /// So a few hostile bytes can cost at most 8 MiB, and a reply 64 MiB.
    package var replyElementsMax = 1 << 20
    /// How deep the arrays of a reply may nest: the most that hiredis 0.14 can read.
    package var replyDepthMax = 8
    /// The upper bound of the first reconnection delay: a restart of Redis takes about this long.
    package var reconnectBase: Duration = .milliseconds(50)
    /// The upper bound of every later delay.
    ///
    /// It is short enough after an outage of hours, and a thousand clients still make only a few
    /// hundred attempts a second.
    package var reconnectCap: Duration = .seconds(5)
    /// How long a command is retried that the server rejects for a temporary reason without
    /// executing it: `BUSY`, `LOADING`, `MASTERDOWN`, `CLUSTERDOWN`, `TRYAGAIN`, and `READONLY`
    /// where another master can be found.
    ///
    /// Most such states of a healthy system end within it, and an API still responds in time.
    package var refusalRetryTimeout: Duration = .seconds(2)
    /// The shortest time between two log lines about the same outage: at most two a minute for each
    /// connection.
    package var failureLogInterval: Duration = .seconds(30)
    /// How often the slot map of a Cluster is read without any other reason.
    ///
    /// It bounds the delay until the removal of a node used for subscriptions only is noticed.
    package var clusterRefreshInterval: Duration = .seconds(10)
    /// How often it is read while a required node is unreachable; a failover takes at least that
    /// long.
    package var clusterUnstableInterval: Duration = .milliseconds(250)
    /// How often an idle subscription connection is checked; a dead one is replaced within this
    /// plus ``commandTimeout``.
    package var keepAliveInterval: Duration = .seconds(10)
    /// The most events that a subscription buffers for a slow consumer before the oldest are
    /// dropped.
    package var subscriptionEventsMax = 4_096
    /// The most payload bytes that a subscription buffers for a slow consumer.
    package var subscriptionBytesMax = 16 << 20
    /// TLS settings for `rediss://`.
    package var tls = RedisTLSConfiguration()
    /// The connection's name in `CLIENT LIST`: printable ASCII without spaces, or `nil` for none.
    package var clientName: String?

    /// Makes the default configuration.
    package init() {}
}

/// How `rediss://` connections are secured.
package struct RedisTLSConfiguration: Sendable, Hashable {
    /// A PEM file with the certificate authorities to trust; `nil` trusts the system's.
    package var trustRootsFile: String?
    /// A PEM file with authorities to trust in addition to the system's, unless another file
    /// replaces these.
    package var additionalRootsFile: String?
    /// Whether the server's certificate and name are verified.
    ///
    /// Turn off for experiments only: without it, any attacker on the network path can read and
    /// change all traffic.
    package var verifiesServer = true
    /// A PEM file with the client certificate chain, for servers that require one
    /// (`tls-auth-clients yes`, Redis' default).
    package var certificateChainFile: String?
    /// The PEM file with the private key of ``certificateChainFile``.
    package var privateKeyFile: String?

    /// Makes settings with the system's trust roots, verification, and no client certificate.
    package init() {}
}

/// The PEM files that a TLS connection uses; those that are `nil` are not used.
package struct RedisTLSFiles: Sendable, Hashable {
    /// The certificate authorities to trust instead of the system's.
    package var authorities: String?
    /// The client certificate chain, for servers that require one (`tls-auth-clients yes`, Redis'
    /// default).
    package var certificate: String?
    /// The private key of ``certificate``.
    package var key: String?

    /// Names the PEM files; without any, the system's authorities and no client certificate are used.
    package init(authorities: String? = nil, certificate: String? = nil, key: String? = nil) {
        self.authorities = authorities
        self.certificate = certificate
        self.key = key
    }
}
