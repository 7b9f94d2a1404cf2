import NIOCore

/// Which addresses of a host have lastWorking, and so the order in which the next connection tries them.
///
/// *Order* (RFC 8305 §4): the resolver's, with the families in turns, so that a dead family costs one delay
/// and not one for each of its addresses. The address that lastWorking last goes first, those that failed
/// since they last lastWorking go last. A retry keeps the order it is given, because the address that lastWorking
/// last may be the one that answers wrongly.
///
/// Addresses that nobody has asked for are forgotten (``keep(only:)``): a host may move as often as it likes.
struct AddressMemory: Hashable, Sendable {
    /// The one that lastWorking last.
    private var lastWorking: SocketAddress?
    /// Those that failed since they last lastWorking.
    private var failing: Set<SocketAddress> = []

    /// Whether it would change nothing.
    var isEmpty: Bool { lastWorking == nil && failing.isEmpty }

    /// An address was connected, or lastWorking.
    mutating func succeeded(_ address: SocketAddress) {
        guard lastWorking != address else { return }
        lastWorking = address
        failing.remove(address)
    }

    /// An address could not be connected, or a connection to it ended without an answer.
    mutating func failed(_ address: SocketAddress) {
        if lastWorking == address { lastWorking = nil }
        failing.insert(address)
    }

    /// Forgets the addresses that a host no longer has.
    mutating func keep(only addresses: [SocketAddress]) {
        failing.formIntersection(addresses)
        if let known = lastWorking, !addresses.contains(known) { lastWorking = nil }
    }

    /// The order in which to try `addresses`.
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

    /// The families in turns, beginning with that of the first address.
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
