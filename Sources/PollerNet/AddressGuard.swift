package import NIOCore
package import PollerIdentity
import Synchronization

/// Decides which addresses a customer's URL may make this process connect to (SSRF).
///
/// It checks the address that is about to be connected and nothing else. Names and their spellings
/// (`127.1`, `0x7f000001`, a name that resolves differently the second time) prove nothing. Only
/// the operator's allow-list permits a blocked address, never a customer, and nothing permits
/// ``OwnListeners``. An address that leads through a translator or a tunnel is also judged by its
/// destination.
package struct AddressGuard: Sendable {
    /// The decision about an address.
    package enum Verdict: Hashable, Sendable {
        /// An address of the public internet.
        case open
        /// An address that the operator has allowed.
        case allowed
        /// An address that must not be connected.
        case blocked
    }

    /// All ranges outside the public internet: the IANA special-purpose registries (RFC 6890 and
    /// successors), multicast, and the metadata services of clouds.
    private static let blocked: [AddressRange] = {
        let texts = [
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
            "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
            "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
            "168.63.129.16", "::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "100::/64",
            "2001:2::/48", "2001:10::/28", "2001:20::/28", "2001:db8::/32", "3fff::/20",
            "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
        ]
        // Constants: a text that does not parse is left out, which the test of this list detects.
        return texts.compactMap { try? AddressRange($0) }
    }()

    private let allowing: [AddressRange]
    private let translators: [NAT64Prefix]
    private let ownListeners: OwnListeners

    /// Makes a guard with the operator's exceptions.
    ///
    /// `translators` are those of this network, in addition to the well-known one. `ownListeners`
    /// are blocked even inside an allowed range: otherwise a customer's URL could reach the admin
    /// port.
    package init(
        allowing: [AddressRange] = [],
        translators: [NAT64Prefix] = [],
        ownListeners: OwnListeners = OwnListeners()
    ) {
        self.allowing = allowing
        self.translators = translators + [.wellKnown]
        self.ownListeners = ownListeners
    }

    /// Judges the address that is about to be connected.
    package func judge(_ address: SocketAddress) -> Verdict {
        guard let ip = IPAddress(address), let port = address.port else { return .blocked }
        let translated = translators.compactMap { $0.translated(ip) }
        let inner = translated + ip.tunnelled
        for end in [ip] + inner where ownListeners.contains(end, port: port) { return .blocked }
        if isAllowed(ip) { return .allowed }
        // An address with a translator's prefix belongs to no host: only its destination counts.
        if translated.isEmpty, isBlocked(ip) { return .blocked }
        for end in inner where isBlocked(end) && !isAllowed(end) { return .blocked }
        return .open
    }

    /// Returns the addresses that may be connected: without TLS, only those that the operator has
    /// allowed.
    package func reachable(_ addresses: [SocketAddress], isSecure: Bool) -> [SocketAddress] {
        addresses.filter { address in
            switch judge(address) {
            case .allowed: true
            case .open: isSecure
            case .blocked: false
            }
        }
    }

    private func isAllowed(_ ip: IPAddress) -> Bool {
        allowing.contains { $0.contains(ip) }
    }

    private func isBlocked(_ ip: IPAddress) -> Bool {
        Self.blocked.contains { $0.contains(ip) }
    }
}

extension AddressGuard {
    /// Returns why nothing can ever be sent to a URL, as far as its text shows; `nil` if only a
    /// connection attempt can show it.
    ///
    /// The text shows it for an address, for `localhost`, which is always loopback (RFC 6761 §6.3),
    /// and for `http://` while the operator has allowed no address at all. Names are not resolved.
    /// The address of a name today says nothing about the day of a delivery, and a caller could
    /// make this process query any name server. Listeners of this cluster are not checked either,
    /// because they come and go: a URL that would reach one is rejected when it is connected.
    package func rejectionReason(for url: NotifyURL) -> String? {
        guard url.isWebhook else { return nil }
        let target: HTTPTarget
        do throws(InvalidInput) {
            target = try HTTPTarget(url)
        } catch {
            return error.message
        }
        let hosts = target.host == "localhost" ? ["127.0.0.1", "::1"] : [target.host]
        let addresses = hosts.compactMap { try? SocketAddress(ipAddress: $0, port: target.port) }
        guard !addresses.isEmpty else {
            return target.isSecure || !allowing.isEmpty ? nil : Self.needsTLS
        }
        guard reachable(addresses, isSecure: target.isSecure).isEmpty else { return nil }
        if addresses.contains(where: { judge($0) == .open }) { return Self.needsTLS }
        return
            "is at \(target.host), which is not on the public internet: add its range to "
            + "POLLER_ALLOW_CIDRS, the same for every process, or use another URL"
    }

    private static let needsTLS =
        "must be https://: without TLS only addresses in POLLER_ALLOW_CIDRS are allowed"
}

/// The addresses on which this process listens, and the servers of its store, which no customer's
/// URL may reach.
///
/// They are complete as far as this process can know: its own ports as soon as they are bound, and
/// every address at which its store was reached. Unknown are other processes' ports and servers of
/// the store that this process has never connected to. The allow-list should therefore not be wider
/// than the receivers require. No address is ever removed: a former master of the store may become
/// the master again.
///
/// A class, because listeners are bound, and stores move, while guards read it.
package final class OwnListeners: Sendable {
    private let state = Mutex<[Int: Set<IPAddress>]>([:])
    private let localAddresses: @Sendable () -> [IPAddress]

    /// Makes an empty set; `localAddresses` returns the current addresses of this machine's
    /// interfaces.
    package init(localAddresses: @escaping @Sendable () -> [IPAddress] = OwnListeners.interfaces) {
        self.localAddresses = localAddresses
    }

    /// Adds a listener of this process.
    ///
    /// One at `0.0.0.0`, `::` or a name is reachable at every local address.
    package func add(host: String, port: Int) {
        insert(IPAddress(host) ?? .anyLocal, port)
    }

    /// Adds a server of the store, by the address at which it was reached.
    ///
    /// A store on this machine may listen at any of its addresses.
    package func add(store address: SocketAddress) {
        guard let ip = IPAddress(address), let port = address.port else { return }
        insert(isLocal(ip) ? .anyLocal : ip, port)
    }

    /// Returns whether a connection to this address reaches one of them.
    func contains(_ ip: IPAddress, port: Int) -> Bool {
        guard let listeners = state.withLock({ $0[port] }) else { return false }
        if listeners.contains(ip) { return true }
        // The kernel treats an unspecified address as loopback.
        if ip.isUnspecified { return true }
        return listeners.contains(where: \.isUnspecified) && isLocal(ip)
    }

    private func insert(_ ip: IPAddress, _ port: Int) {
        state.withLock { _ = $0[port, default: []].insert(ip) }
    }

    private func isLocal(_ ip: IPAddress) -> Bool {
        ip.isLoopback || localAddresses().contains(ip)
    }

    /// Returns the addresses of this machine's interfaces.
    package static func interfaces() -> [IPAddress] {
        // On a system that does not list its interfaces only loopback remains, which is known
        // anyway.
        let devices = (try? System.enumerateDevices()) ?? []
        return devices.compactMap { $0.address.flatMap(IPAddress.init) }
    }
}
