package import Logging
import Metrics
package import NIOCore
import Synchronization

/// Limits the connections to one listener from one address.
///
/// A connection over the limit is closed at once, before a byte is read: a response would cost what
/// the limit protects. Such connections are counted as `poller_connections_refused_total` by
/// listener.
///
/// *Without a request*: connections whose first request is not complete have a further limit, half
/// of all, for every address. It includes this machine, whose proxies send complete requests. A
/// local client that sends nothing thus cannot take every slot until its deadline
/// (``RequestDeadline``).
package final class ConnectionGate: Sendable {
    /// The time between two warnings, so that clients cannot fill the log.
    private static let warningInterval = TimeAmount.seconds(60)

    private let listener: String
    private let connectionsMax: Int
    private let bound: PerAddressLimit
    private let logger: Logger
    private let slots = SlotCounter()
    /// The slots of connections whose first request is not complete.
    private let pendingSlots = SlotCounter()
    private let warned = Mutex<NIODeadline?>(nil)

    /// Makes a gate for a listener that accepts `connectionsMax` connections in all.
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

    /// Takes a slot for an open connection, or closes it.
    ///
    /// Called on its event loop while it is being set up. Returns the slot among the connections
    /// without a request, which the caller holds until the first request is complete.
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
        // If setting up the connection failed, the server would take that for an error of its own.
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
            "connections refused; limit of one address reached",
            metadata: [
                "address": "\(address)", "option": "POLLER_CONNECTIONS_PER_ADDRESS",
            ]
        )
    }
}

/// The share of a server's capacity that one address may hold.
///
/// A proxy is one address for all its clients. A proxy on this machine is the usual case, so
/// connections from this machine are not counted unless an operator sets a number. For a proxy on
/// another machine, the operator sets a number that covers its clients.
package enum PerAddressLimit: Hashable, Sendable {
    /// Half of all, so that one address cannot lock out the others.
    case half
    /// A number set by the operator, for every address.
    case most(Int)

    /// Takes one more slot for an address, out of `total`; returns `nil` at its limit.
    package func slot(
        in counter: SlotCounter,
        of total: Int,
        for address: IPAddress?
    ) -> SlotCounter.Slot? {
        // No address means a Unix socket, which only this machine can use.
        guard let address else { return .uncounted }
        switch self {
        case .half where address.isLoopback: return .uncounted
        case .half: return counter.take(Self.holder(of: address), most: max(total / 2, 1))
        case .most(let most): return counter.take(Self.holder(of: address), most: most)
        }
    }

    /// Returns the name under which an address is counted.
    ///
    /// An IPv6 host has the 2⁶⁴ addresses of its network (RFC 6177), which count as one.
    package static func holder(of address: IPAddress) -> String {
        "address \(address.bytes.prefix(8))"
    }
}

/// Counts the holders of a limited number of slots, so that one client cannot take all of them.
package final class SlotCounter: Sendable {
    private let taken = Mutex<[String: Int]>([:])

    /// Makes a counter without taken slots.
    package init() {}

    /// Takes one more slot under a name; returns `nil` when `most` are taken under it.
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

    /// A slot that is taken as long as this object exists: a class for its `deinit`.
    package final class Slot: Sendable {
        /// A slot that is not counted.
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
