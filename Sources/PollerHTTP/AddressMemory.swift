import NIOCore

/// Which addresses of a host have answered, and so the order in which the next connection tries them.
///
/// *Order* (RFC 8305 §4): the resolver's, with the families in turns, so that a dead family costs one delay
/// and not one for each of its addresses. The address that answered last goes first, those that failed
/// since they last answered go last. A retry keeps the order it is given, because the address that answered
/// last may be the one that answers wrongly.
///
/// Addresses that nobody has asked for are forgotten (``forget(allBut:)``): a host may move as often as it likes.
struct AddressMemory: Hashable, Sendable {
    /// The one that answered last.
    private var answered: SocketAddress?
    /// Those that failed since they last answered.
    private var silent: Set<SocketAddress> = []

    /// Whether it would change nothing.
    var isEmpty: Bool { answered == nil && silent.isEmpty }

    /// An address was connected, or answered.
    mutating func worked(_ address: SocketAddress) {
        guard answered != address else { return }
        answered = address
        silent.remove(address)
    }

    /// An address could not be connected, or a connection to it ended without an answer.
    mutating func failed(_ address: SocketAddress) {
        if answered == address { answered = nil }
        silent.insert(address)
    }

    /// Forgets the addresses that a host no longer has.
    mutating func forget(allBut addresses: [SocketAddress]) {
        silent.formIntersection(addresses)
        if let known = answered, !addresses.contains(known) { answered = nil }
    }

    /// The order in which to try `addresses`.
    func order(_ addresses: [SocketAddress], isRetry: Bool) -> [SocketAddress] {
        guard addresses.count > 1 else { return addresses }
        let spread = isRetry ? addresses : Self.interleaved(addresses)
        let fresh = spread.filter { !silent.contains($0) }
        let stale = spread.filter { silent.contains($0) }
        guard !isRetry, let answered, let index = fresh.firstIndex(of: answered) else {
            return fresh + stale
        }
        var order = fresh
        order.remove(at: index)
        return [answered] + order + stale
    }

    /// The families in turns, beginning with that of the first address.
    private static func interleaved(_ addresses: [SocketAddress]) -> [SocketAddress] {
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
