package import Poller

/// A prefix under which a translator reaches the IPv4 internet (RFC 6052).
package struct NAT64Prefix: Hashable, Sendable {
    /// `64:ff9b::/96`, which every network may use.
    static let wellKnown = NAT64Prefix(
        range: AddressRange(
            network: IPAddress(bytes: [0x00, 0x64, 0xFF, 0x9B] + Array(repeating: 0, count: 12)),
            prefixBits: 96
        )
    )

    private let range: AddressRange

    private init(range: AddressRange) {
        self.range = range
    }

    /// Reads a prefix of a length that RFC 6052 §2.2 knows: `2001:db8:64::/96`.
    package init(_ text: some StringProtocol) throws(InvalidInput) {
        let lengths = [32, 40, 48, 56, 64, 96]
        guard let range = try? AddressRange(text), range.isV6, lengths.contains(range.prefixBits)
        else {
            throw InvalidInput(
                field: "nat64_prefixes",
                message: "\(text.prefix(64)) is no NAT64 prefix: write an IPv6 prefix with a "
                    + "length of 32, 40, 48, 56, 64 or 96, such as 2001:db8:64::/96"
            )
        }
        self.range = range
    }

    /// The v4 address that a packet to `address` is translated to; nil outside the prefix.
    ///
    /// It follows the prefix, but leaves out bits 64 to 71, which are zero.
    func translated(_ address: IPAddress) -> IPAddress? {
        guard range.contains(address) else { return nil }
        let rest = (range.prefixBits / 8..<16).filter { $0 != 8 || range.prefixBits == 96 }
        return IPAddress(bytes: rest.prefix(4).map { address.bytes[$0] })
    }
}
