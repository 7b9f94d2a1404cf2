package import NIOCore
import Synchronization

/// Where this process listens, and the servers of its store: what no customer's URL may reach.
///
/// Known as far as this process can know it: ports of its own as soon as they are bound, and every
/// address that its store was reached at. Not known are other processes' ports and servers of the
/// store that nobody here has talked to: the allow-list should not be wider than the receivers are.
/// Nothing is taken out again: a server that was the store's master may be it tomorrow.
///
/// A class, because listeners are bound, and stores move, while guards look at it.
package final class OwnListeners: Sendable {
    private let state = Mutex<[Int: Set<IPAddress>]>([:])
    private let localAddresses: @Sendable () -> [IPAddress]

    /// Knows of none yet; `localAddresses` are those of this machine's interfaces now.
    package init(localAddresses: @escaping @Sendable () -> [IPAddress] = OwnListeners.interfaces) {
        self.localAddresses = localAddresses
    }

    /// Adds a listener of this process; one at `0.0.0.0`, `::` or a name is at every local address.
    package func add(host: String, port: Int) {
        insert(IPAddress(host) ?? .everyLocal, port)
    }

    /// Adds a server of the store, as it was reached.
    ///
    /// One on this machine may listen at any of its addresses.
    package func add(store address: SocketAddress) {
        guard let ip = IPAddress(address), let port = address.port else { return }
        insert(isLocal(ip) ? .everyLocal : ip, port)
    }

    /// Whether somebody who connects to this address ends at one of them.
    func contains(_ ip: IPAddress, port: Int) -> Bool {
        guard let listeners = state.withLock({ $0[port] }) else { return false }
        if listeners.contains(ip) { return true }
        // The kernel takes an unspecified address for loopback.
        if ip.isUnspecified { return true }
        return listeners.contains(where: \.isUnspecified) && isLocal(ip)
    }

    private func insert(_ ip: IPAddress, _ port: Int) {
        state.withLock { _ = $0[port, default: []].insert(ip) }
    }

    private func isLocal(_ ip: IPAddress) -> Bool {
        ip.isLoopback || localAddresses().contains(ip)
    }

    /// The addresses of this machine's interfaces.
    package static func interfaces() -> [IPAddress] {
        // A system that does not tell leaves loopback, which is known without asking.
        let devices = (try? System.enumerateDevices()) ?? []
        return devices.compactMap { $0.address.flatMap(IPAddress.init) }
    }
}
