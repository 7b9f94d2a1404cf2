package import PollerNet

/// The limits of one connection (<doc:DeliveryFacts>).
package struct GatewayLimits: Hashable, Sendable {
    /// The maximum size of a client message with all its frames.
    ///
    /// A subscription of 100 sources fits.
    package var frameBytesMax = 16_384
    /// The maximum of subscriptions per connection.
    package var subscriptionsMax = 100
    /// The maximum of sources per subscription.
    package var sourcesMax = 100
    /// The maximum of event types per subscription.
    package var typesMax = 50
    /// The maximum of client messages in any second.
    package var messagesPerSecond = 20
    /// The maximum of client frames of any type in any second: messages, their fragments, pings and pongs.
    package var framesPerSecond = 100
    /// The maximum of client frames before authentication, which needs one message.
    package var framesBeforeAuth = 20
    /// The maximum of bytes read from a connection in one turn of its event loop, because other connections wait
    /// meanwhile.
    ///
    /// The smallest frame has six bytes.
    package var readBytesMax = 4096
    /// The maximum of messages and bytes queued for a client that does not read.
    package var queueMessagesMax = 256
    package var queueBytesMax = 262_144
    /// The time for which the queue may stay full.
    ///
    /// A burst passes, but a client that has stopped reading does not.
    package var stallTimeout = Duration.seconds(5)
    /// The maximum time from connecting to credentials.
    package var authTimeout = Duration.seconds(5)
    /// The mean interval between pings.
    ///
    /// Proxies drop a silent connection after 30–60 s.
    package var pingInterval = Duration.seconds(25)
    /// The maximum time from a ping to its pong.
    package var pongTimeout = Duration.seconds(10)
    /// The maximum time from our close frame to the client's.
    package var closeTimeout = Duration.seconds(3)
    /// The interval between the comments that keep an event stream alive.
    package var heartbeatInterval = Duration.seconds(15)
    /// The mean lifetime of an event stream.
    ///
    /// New streams spread over the processes that exist by then.
    package var rotationInterval = Duration.seconds(600)
    /// The wait that is sent to an event stream that cannot be served now.
    package var overloadRetry = Duration.seconds(15)
    /// The maximum of live connections per API key: half of a process, so that one service cannot exclude others.
    ///
    /// 0
    /// means no limit.
    package var connectionsPerKeyMax = 25_000
    /// The maximum of live connections per stream token: a browser with some tabs.
    package var connectionsPerTokenMax = 10
    /// The maximum of live connections per client secret: a customer with some tabs.
    package var connectionsPerSecretMax = 10
    /// The limit of connections per address, including those not yet authenticated.
    package var addresses = PerAddressLimit.half
}

extension GatewayLimits {
    /// The limits of the protocol.
    package static let standard = GatewayLimits()

    /// Creates the limits of the protocol with other limits per address and per key.
    package init(
        addresses: PerAddressLimit,
        perKey: Int = GatewayLimits.standard.connectionsPerKeyMax
    ) {
        self = .standard
        self.addresses = addresses
        connectionsPerKeyMax = perKey
    }
}
