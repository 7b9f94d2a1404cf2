package import PollerNet

/// What one connection may cost (delivery FACTS §4).
package struct GatewayLimits: Hashable, Sendable {
    /// A message from a client, all its frames together: a subscription of 100 sources fits.
    package let frameBytesMax: Int
    /// Subscriptions of a connection; each listens to the whole feed.
    package let subscriptionsMax: Int
    /// Sources a subscription may name.
    package let sourcesMax: Int
    /// Event types a subscription may name.
    package let typesMax: Int
    /// Messages a client may send in any one second.
    package let messagesPerSecond: Int
    /// Messages and bytes kept for a client that does not read.
    package let queueMessagesMax: Int
    package let queueBytesMax: Int
    /// The span for which that much may stay queued: a burst passes, a client that has stopped
    /// reading does not.
    package let stallTimeout: Duration
    /// The span from connecting to credentials.
    package let authTimeout: Duration
    /// The mean span between pings, below the 30–60 s after which proxies drop a silent
    /// connection.
    package let pingInterval: Duration
    /// The span from a ping to its pong.
    package let pongTimeout: Duration
    /// The span from our close frame to the client's.
    package let closeTimeout: Duration
    /// The span between the comments that keep an event stream alive.
    package let heartbeatInterval: Duration
    /// The mean life of an event stream: new ones spread over the processes there are by then.
    package let rotationInterval: Duration
    /// What an event stream that cannot be served now is told to wait.
    package let overloadRetry: Duration
    /// Live connections with one API key: half of a process, so that one service cannot lock out
    /// the others.
    package let connectionsPerKeyMax: Int
    /// Live connections with one stream token: a browser with some tabs.
    package let connectionsPerTokenMax: Int
    /// Live connections with one source's secret: a customer with some tabs.
    package let connectionsPerSecretMax: Int
    /// Connections from one address, live or not yet.
    package let addresses: PerAddressLimit

    /// Sets the limits; by default those of the protocol.
    package init(
        frameBytesMax: Int = 16_384,
        subscriptionsMax: Int = 100,
        sourcesMax: Int = 100,
        typesMax: Int = 50,
        messagesPerSecond: Int = 20,
        queueMessagesMax: Int = 256,
        queueBytesMax: Int = 262_144,
        stallTimeout: Duration = .seconds(5),
        authTimeout: Duration = .seconds(5),
        pingInterval: Duration = .seconds(25),
        pongTimeout: Duration = .seconds(10),
        closeTimeout: Duration = .seconds(3),
        heartbeatInterval: Duration = .seconds(15),
        rotationInterval: Duration = .seconds(600),
        overloadRetry: Duration = .seconds(15),
        connectionsPerKeyMax: Int = 10_000,
        connectionsPerTokenMax: Int = 10,
        connectionsPerSecretMax: Int = 10,
        addresses: PerAddressLimit = .half
    ) {
        self.frameBytesMax = frameBytesMax
        self.subscriptionsMax = subscriptionsMax
        self.sourcesMax = sourcesMax
        self.typesMax = typesMax
        self.messagesPerSecond = messagesPerSecond
        self.queueMessagesMax = queueMessagesMax
        self.queueBytesMax = queueBytesMax
        self.stallTimeout = stallTimeout
        self.authTimeout = authTimeout
        self.pingInterval = pingInterval
        self.pongTimeout = pongTimeout
        self.closeTimeout = closeTimeout
        self.heartbeatInterval = heartbeatInterval
        self.rotationInterval = rotationInterval
        self.overloadRetry = overloadRetry
        self.connectionsPerKeyMax = connectionsPerKeyMax
        self.connectionsPerTokenMax = connectionsPerTokenMax
        self.connectionsPerSecretMax = connectionsPerSecretMax
        self.addresses = addresses
    }
}
