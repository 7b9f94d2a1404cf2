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
    package func place(
        in places: Places,
        of total: Int,
        for address: IPAddress?
    ) -> Places.Place? {
        // Without an address it is a Unix socket, which only this machine has.
        guard let address else { return .uncounted }
        switch self {
        case .half where address.isLoopback: return .uncounted
        case .half: return places.take(Self.name(of: address), most: max(total / 2, 1))
        case .most(let most): return places.take(Self.name(of: address), most: most)
        }
    }

    /// Who has one IPv6 address has the 2⁶⁴ of its network (RFC 6177): those are one.
    private static func name(of address: IPAddress) -> String {
        "address \(address.bytes.prefix(8))"
    }
}
