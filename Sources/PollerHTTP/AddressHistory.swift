import NIOCore

/// The results of recent connections to a host's addresses, which decide the order of the next
/// attempts.
///
/// *Order* (RFC 8305 §4): that of the resolver, with the address families alternating. An
/// unreachable family then costs one delay, not one for each of its addresses. The address that
/// responded last comes first. Those that failed since their last response come last. A retry keeps
/// the order it is given, because the address that responded last may be the one that responds
/// incorrectly.
///
/// Addresses that no call uses any more are removed (``keep(only:)``): a host may change its
/// addresses as often as it likes.
struct AddressHistory: Hashable, Sendable {
    /// The address that responded last.
    private var lastWorking: SocketAddress?
    /// The addresses that failed since their last response.
    private var failing: Set<SocketAddress> = []

    /// Whether the history is empty and so does not affect the order.
    var isEmpty: Bool { lastWorking == nil && failing.isEmpty }

    /// Records that an address was connected or responded.
    mutating func succeeded(_ address: SocketAddress) {
        guard lastWorking != address else { return }
        lastWorking = address
        failing.remove(address)
    }

    /// Records that an address could not be connected, or that a connection to it ended without a
    /// response.
    mutating func failed(_ address: SocketAddress) {
        if lastWorking == address { lastWorking = nil }
        failing.insert(address)
    }

    /// Removes the addresses that a host no longer has.
    mutating func keep(only addresses: [SocketAddress]) {
        failing.formIntersection(addresses)
        if let known = lastWorking, !addresses.contains(known) { lastWorking = nil }
    }

    /// Returns `addresses` in the order in which to try them.
    func order(_ addresses: [SocketAddress], isRetry: Bool) -> [SocketAddress] {
        guard addresses.count > 1 else { return addresses }
        let spread = isRetry ? addresses : Self.alternatingFamilies(addresses)
        let fresh = spread.filter { !failing.contains($0) }
        let stale = spread.filter { failing.contains($0) }
        guard !isRetry, let lastWorking, let index = fresh.firstIndex(of: lastWorking) else {
            return fresh + stale
        }
        var order = fresh
        order.remove(at: index)
        return [lastWorking] + order + stale
    }

    /// Returns the addresses with the families alternating, starting with that of the first
    /// address.
    private static func alternatingFamilies(_ addresses: [SocketAddress]) -> [SocketAddress] {
        let isFirst = { (address: SocketAddress) in address.protocol == addresses[0].protocol }
        var firsts = addresses.filter(isFirst)[...]
        var others = addresses.filter { !isFirst($0) }[...]
        var order: [SocketAddress] = []
        while !firsts.isEmpty || !others.isEmpty {
            if let next = firsts.popFirst() { order.append(next) }
            if let next = others.popFirst() { order.append(next) }
        }
        return order
    }
}
