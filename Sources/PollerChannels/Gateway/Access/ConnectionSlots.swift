import PollerNet
import Synchronization

/// Counts who is connected, so that nobody takes the places of all.
///
/// A class, because all connections share one count.
final class ConnectionSlots: Sendable {
    private let limits: GatewayLimits
    private let taken = Mutex<[String: Int]>([:])

    init(_ limits: GatewayLimits) {
        self.limits = limits
    }

    /// A place for one more connection from an address; nil when it has too many.
    ///
    /// A proxy on this machine speaks for everybody, so loopback is not counted.
    func place(from address: IPAddress?) -> Place? {
        guard let address, !address.isLoopback else { return Place(slots: nil, name: "") }
        return place("address \(address.bytes)", limits.connectionsPerAddressMax)
    }

    /// A place for one more connection of somebody; nil when they have too many.
    func place(of principal: Principal) -> Place? {
        let most =
            switch principal.credential {
            case .none, .key: limits.connectionsPerKeyMax
            case .token: limits.connectionsPerTokenMax
            case .clientSecret: limits.connectionsPerSecretMax
            }
        return place("\(principal.credential.rawValue) \(principal.name)", most)
    }

    private func place(_ name: String, _ most: Int) -> Place? {
        let isFree = taken.withLock { taken in
            guard taken[name, default: 0] < most else { return false }
            taken[name, default: 0] += 1
            return true
        }
        return isFree ? Place(slots: self, name: name) : nil
    }

    private func leave(_ name: String) {
        taken.withLock { taken in
            let rest = (taken[name] ?? 1) - 1
            taken[name] = rest > 0 ? rest : nil
        }
    }

    /// A place that is taken until nobody holds this value: a class for its `deinit`.
    final class Place: Sendable {
        private let slots: ConnectionSlots?
        private let name: String

        fileprivate init(slots: ConnectionSlots?, name: String) {
            self.slots = slots
            self.name = name
        }

        deinit {
            slots?.leave(name)
        }
    }
}
