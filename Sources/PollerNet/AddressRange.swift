package import Poller

/// A range of IP addresses in CIDR notation: `10.0.0.0/8`, `fd00::/8`, or one address.
package struct AddressRange: Hashable, Sendable {
    private let network: IPAddress
    /// How many of its first bits an address of the range shares.
    let prefixBits: Int

    /// Takes a network and the length of its prefix, which it must have.
    init(network: IPAddress, prefixBits: Int) {
        self.network = network
        self.prefixBits = prefixBits
    }

    /// Whether its addresses are v6, and none of the mapped ones, which are v4.
    var isV6: Bool { network.bytes.count == 16 }

    /// Reads one range; bits after the prefix are ignored, as routers do.
    package init(_ text: some StringProtocol) throws(InvalidInput) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let network = IPAddress(String(parts[0])) else {
            throw Self.invalid(text)
        }
        let widest = network.bytes.count * 8
        if parts.count == 2 {
            let isMapped = parts[0].contains(":") && widest == 32
            guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let bits = Int(parts[1]), bits <= (isMapped ? 128 : widest),
                bits >= (isMapped ? 96 : 0)
            else { throw Self.invalid(text) }
            prefixBits = isMapped ? bits - 96 : bits
        } else {
            prefixBits = widest
        }
        self.network = network
    }

    /// Reads a list separated by commas or spaces, as `POLLER_ALLOW_CIDRS` has it.
    package static func list(_ text: String) throws(InvalidInput) -> [AddressRange] {
        var ranges: [AddressRange] = []
        for part in text.split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
            ranges.append(try AddressRange(part))
        }
        return ranges
    }

    /// Whether the address lies in the range; never across families.
    package func contains(_ address: IPAddress) -> Bool {
        guard address.bytes.count == network.bytes.count else { return false }
        let whole = prefixBits / 8
        guard address.bytes.prefix(whole) == network.bytes.prefix(whole) else { return false }
        let rest = prefixBits % 8
        guard rest > 0 else { return true }
        let mask = UInt8(truncatingIfNeeded: 0xFF << (8 - rest))
        return address.bytes[whole] & mask == network.bytes[whole] & mask
    }

    private static func invalid(_ text: some StringProtocol) -> InvalidInput {
        InvalidInput(
            field: "allow_cidrs",
            message: "\(text.prefix(64)) is no address range: write 10.0.0.0/8 or fd00::/8"
        )
    }
}
