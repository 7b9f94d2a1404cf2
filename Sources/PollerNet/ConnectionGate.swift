package import Logging
import Metrics
package import NIOCore
import Synchronization

/// Bounds the connections of one listener that come from one address.
///
/// A connection over the bound is closed at once, before a byte is read: an answer would cost what
/// the bound protects. Counted as `poller_connections_refused_total` by listener. A class, because
/// all connections share its counts.
///
/// *Without a request*: connections whose first request is not complete are bounded in addition, to
/// half of all, for every address. This bound includes this machine, whose proxies send complete
/// requests: a local client that sends nothing cannot take every slot until its deadline
/// (``RequestDeadline``).
package final class ConnectionGate: Sendable {
    /// Between two warnings, so that clients cannot fill the log.
    private static let warningInterval = TimeAmount.seconds(60)

    private let listener: String
    private let connectionsMax: Int
    private let bound: PerAddressLimit
    private let logger: Logger
    private let slots = SlotCounter()
    /// Connections whose first request is not complete.
    private let pendingSlots = SlotCounter()
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
    /// Called in its event loop, when it is being set up. Returns the place among the connections
    /// without a request: the caller holds it until the first request is complete.
    package func admit(_ channel: any Channel) -> SlotCounter.Slot {
        let address = channel.remoteAddress.flatMap(IPAddress.init)
        let holder = address.map(PerAddressLimit.holder) ?? "this machine"
        if let pendingSlot = pendingSlots.take(holder, most: max(connectionsMax / 2, 1)),
            let slot = bound.slot(in: slots, of: connectionsMax, for: address)
        {
            channel.closeFuture.whenComplete { _ in withExtendedLifetime(slot) {} }
            return pendingSlot
        }
        Counter(label: "poller_connections_refused_total", dimensions: [("listener", listener)])
            .increment()
        warn(channel.remoteAddress?.ipAddress ?? "", at: channel.eventLoop.now)
        // A server takes a connection that cannot be set up for an error of its own.
        channel.eventLoop.execute { channel.close(promise: nil) }
        return .uncounted
    }

    private func warn(_ address: String, at now: NIODeadline) {
        let isDue = warned.withLock { warned in
            if let last = warned, now - last < Self.warningInterval { return false }
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

/// How much of what a server has for all one address may hold.
///
/// A proxy is one address that speaks for everybody. One on this machine is the usual case, so what
/// comes from here is not counted unless an operator names a number; for one on another machine
/// they name as many as there are.
package enum PerAddressLimit: Hashable, Sendable {
    /// Half of all, so that one address cannot lock out the others.
    case half
    /// As many as an operator says, of every address.
    case most(Int)

    /// A place for one more from an address, out of `total`; nil when it has as many as it may.
    package func slot(
        in counter: SlotCounter,
        of total: Int,
        for address: IPAddress?
    ) -> SlotCounter.Slot? {
        // Without an address it is a Unix socket, which only this machine has.
        guard let address else { return .uncounted }
        switch self {
        case .half where address.isLoopback: return .uncounted
        case .half: return counter.take(Self.holder(of: address), most: max(total / 2, 1))
        case .most(let most): return counter.take(Self.holder(of: address), most: most)
        }
    }

    /// The holder of one IPv6 address has the 2⁶⁴ of its network (RFC 6177): those are one.
    package static func holder(of address: IPAddress) -> String {
        "address \(address.bytes.prefix(8))"
    }
}

/// Counts who holds how many of a limited number of places, so that one client cannot take all of
/// them.
///
/// A class, because all who take a place share one count.
package final class SlotCounter: Sendable {
    private let taken = Mutex<[String: Int]>([:])

    /// Places of which none is taken.
    package init() {}

    /// One more place under a name; nil when `most` are taken under it.
    package func take(_ name: String, most: Int) -> Slot? {
        let isFree = taken.withLock { taken in
            guard taken[name, default: 0] < most else { return false }
            taken[name, default: 0] += 1
            return true
        }
        return isFree ? Slot(counter: self, name: name) : nil
    }

    private func release(_ name: String) {
        taken.withLock { taken in
            let rest = (taken[name] ?? 1) - 1
            taken[name] = rest > 0 ? rest : nil
        }
    }

    /// A place that is taken while this value lives: a class for its `deinit`.
    package final class Slot: Sendable {
        /// A place that is not counted.
        package static let uncounted = Slot(counter: nil, name: "")

        private let counter: SlotCounter?
        private let name: String

        fileprivate init(counter: SlotCounter?, name: String) {
            self.counter = counter
            self.name = name
        }

        deinit {
            counter?.release(name)
        }
    }
}
