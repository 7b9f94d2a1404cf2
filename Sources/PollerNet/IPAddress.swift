package import NIOCore
package import Poller
import SafeNumbers

/// An IP address as its bytes: 4 for v4, 16 for v6.
///
/// A v4 address mapped into v6 (`::ffff:a.b.c.d`) is the v4 address: the kernel connects to that.
package struct IPAddress: Hashable, Sendable {
    /// In network order.
    package let bytes: [UInt8]

    /// Takes bytes in network order; 4 or 16 of them.
    package init(bytes: [UInt8]) {
        precondition(bytes.count == 4 || bytes.count == 16, "an address has 4 or 16 bytes")
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        let isMapped = bytes.count == 16 && bytes.starts(with: mapped)
        self.bytes = isMapped ? Array(bytes.suffix(4)) : bytes
    }

    /// The address of a socket address; nil for a Unix socket.
    package init?(_ address: SocketAddress) {
        // Where `sockaddr_in` and `sockaddr_in6` have it, on every system.
        let place: Range<Int>
        switch address {
        case .v4: place = 4..<8
        case .v6: place = 8..<24
        case .unixDomainSocket: return nil
        }
        let bytes = unsafe address.withSockAddr { pointer, size in
            unsafe Array(UnsafeRawBufferPointer(start: pointer, count: size)[place])
        }
        self.init(bytes: bytes)
    }

    /// Reads the usual text form only; `127.1` and the like are names to be resolved.
    package init?(_ text: String) {
        guard !text.contains("%"), let address = try? SocketAddress(ipAddress: text, port: 0)
        else { return nil }
        self.init(address)
    }

    /// Every address of this machine, where somebody listens.
    static let anyLocal = IPAddress(bytes: [0, 0, 0, 0])

    /// The v4 addresses that a packet to this one may end at, through a tunnel: 6to4 (RFC 3056) and
    /// Teredo (RFC 4380: server, and client inverted).
    var tunnelled: [IPAddress] {
        guard bytes.count == 16 else { return [] }
        func v4(_ range: Range<Int>) -> IPAddress { IPAddress(bytes: Array(bytes[range])) }
        if bytes.starts(with: [0x20, 0x02]) { return [v4(2..<6)] }
        if bytes.starts(with: [0x20, 0x01, 0x00, 0x00]) {
            return [v4(4..<8), IPAddress(bytes: bytes[12..<16].map { ~$0 })]
        }
        return []
    }

    /// Whether no other machine can be behind it.
    package var isLoopback: Bool {
        bytes.count == 4
            ? bytes[0] == 127 : bytes.last == 1 && bytes.dropLast().allSatisfy { $0 == 0 }
    }

    /// Whether it stands for every address of this machine.
    package var isUnspecified: Bool { bytes.allSatisfy { $0 == 0 } }
}

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
                let bits = Int(decimal: parts[1]), bits <= (isMapped ? 128 : widest),
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
