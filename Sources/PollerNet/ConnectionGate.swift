package import Logging
import Metrics
package import NIOCore
import Synchronization

/// Bounds the connections of one listener that come from one address.
///
/// Whoever has as many as it may is closed at once, before a byte is read: an answer would cost what
/// the bound protects. Counted as `poller_connections_refused_total` by listener. A class, because
/// all connections share its counts.
package final class ConnectionGate: Sendable {
    /// Between two warnings, so that whoever knocks cannot fill the log.
    private static let pause = TimeAmount.seconds(60)

    private let listener: String
    private let connectionsMax: Int
    private let bound: PerAddressLimit
    private let logger: Logger
    private let places = Places()
    private let warned = Mutex<NIODeadline?>(nil)

    /// A gate of a listener that takes `connectionsMax` connections in all.
    package init(
        listener: String,
        connectionsMax: Int,
        bound: PerAddressLimit,
        logger: Logger
    ) {
        self.listener = listener
        self.connectionsMax = connectionsMax
        self.bound = bound
        self.logger = logger
    }

    /// Takes a place for a connection as long as it is open, or closes it.
    ///
    /// Called in its event loop, when it is being set up.
    package func admit(_ channel: any Channel) {
        let address = channel.remoteAddress.flatMap(IPAddress.init)
        if let place = bound.place(in: places, of: connectionsMax, for: address) {
            channel.closeFuture.whenComplete { _ in withExtendedLifetime(place) {} }
            return
        }
        Counter(label: "poller_connections_refused_total", dimensions: [("listener", listener)])
            .increment()
        warn(channel.remoteAddress?.ipAddress ?? "", at: channel.eventLoop.now)
        // A server takes a connection that cannot be set up for an error of its own.
        channel.eventLoop.execute { channel.close(promise: nil) }
    }

    private func warn(_ address: String, at now: NIODeadline) {
        let isDue = warned.withLock { warned in
            if let last = warned, now - last < Self.pause { return false }
            warned = now
            return true
        }
        guard isDue else { return }
        logger.warning(
            "connections refused: one address has as many as it may",
            metadata: [
                "address": "\(address)", "option": "POLLER_CONNECTIONS_PER_ADDRESS",
            ]
        )
    }
}
