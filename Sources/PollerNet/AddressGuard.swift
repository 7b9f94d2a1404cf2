package import NIOCore
package import Poller
import Synchronization

/// Decides which addresses a customer's URL may make us connect to (SSRF).
///
/// It looks at the address that is about to be connected and at nothing else: names and their
/// spellings (`127.1`, `0x7f000001`, a name that resolves differently the second time) prove
/// nothing. Only the operator's allow-list opens what is blocked, never a customer, and nothing
/// opens ``OwnListeners``. An address that a translator or a tunnel leads on from is judged by where
/// it leads, too.
package struct AddressGuard: Sendable {
    /// What may be done with an address.
    package enum Verdict: Hashable, Sendable {
        /// An address of the public internet.
        case open
        /// The operator has named it.
        case allowed
        /// Not to be connected.
        case blocked
    }

    /// Everything that is not the public internet: the IANA special-purpose registries
    /// (RFC 6890 and successors), multicast, and the metadata services of clouds.
    private static let blocked: [AddressRange] = {
        let texts = [
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
            "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
            "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
            "168.63.129.16", "::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "100::/64",
            "2001:2::/48", "2001:10::/28", "2001:20::/28", "2001:db8::/32", "3fff::/20",
            "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
        ]
        // Constants: a text that does not parse leaves its range out, and the test of this list
        // sees that.
        return texts.compactMap { try? AddressRange($0) }
    }()

    private let allowing: [AddressRange]
    private let translators: [NAT64Prefix]
    private let ownListeners: OwnListeners

    /// A guard with the operator's exceptions.
    ///
    /// `translators` are those of this network, besides the well-known one; `ownListeners` are
    /// blocked even inside an allowed range, or a customer's URL could talk to our admin port.
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
        // A translator's prefix is no address of anybody: only where it leads counts.
        if translated.isEmpty, isBlocked(ip) { return .blocked }
        for end in inner where isBlocked(end) && !isAllowed(end) { return .blocked }
        return .open
    }

    /// The addresses that may be connected: without TLS only those the operator has named.
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
    /// Why nothing can ever be sent to a URL, as far as its text alone says so; nil where that shows only when it
    /// is connected.
    ///
    /// Its text says so of an address, of `localhost`, which is loopback for everybody (RFC 6761 §6.3), and of `http://`
    /// while the operator has named no address at all. Names are not looked up: what one leads to today proves
    /// nothing of the day it is told, and whoever may enqueue could have us ask any name server. Nor are listeners of
    /// ours looked at, which come and go: what would reach one is refused when it is connected.
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
            "is at \(target.host), which is no address of the public internet: name its range in "
            + "POLLER_ALLOW_CIDRS, the same for every process, or use another URL"
    }

    private static let needsTLS =
        "must be https://: without TLS only the addresses of POLLER_ALLOW_CIDRS are told"
}

/// Where this process listens, and the servers of its store: what no customer's URL may reach.
///
/// Known as far as this process can know it: ports of its own as soon as they are bound, and every
/// address that its store was reached at. Not known are other processes' ports and servers of the
/// store that this process has never connected to: the allow-list should not be wider than the
/// receivers are. Nothing is taken out again: a server that was the store's master may be it
/// tomorrow.
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
        insert(IPAddress(host) ?? .anyLocal, port)
    }

    /// Adds a server of the store, as it was reached.
    ///
    /// One on this machine may listen at any of its addresses.
    package func add(store address: SocketAddress) {
        guard let ip = IPAddress(address), let port = address.port else { return }
        insert(isLocal(ip) ? .anyLocal : ip, port)
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
