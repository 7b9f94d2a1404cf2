package import NIOCore
package import PollerIdentity
import SafeNumbers

/// An IP address as its bytes: 4 for IPv4, 16 for IPv6.
///
/// An IPv4 address mapped into IPv6 (`::ffff:a.b.c.d`) is the IPv4 address, because the kernel
/// connects to that.
package struct IPAddress: Hashable, Sendable {
    /// In network order.
    package let bytes: [UInt8]

    /// Makes an address from 4 or 16 bytes in network order.
    package init(bytes: [UInt8]) {
        precondition(bytes.count == 4 || bytes.count == 16, "an address has 4 or 16 bytes")
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        let isMapped = bytes.count == 16 && bytes.starts(with: mapped)
        self.bytes = isMapped ? Array(bytes.suffix(4)) : bytes
    }

    /// Makes the address of a socket address; `nil` for a Unix socket.
    package init?(_ address: SocketAddress) {
        // The position of the address in `sockaddr_in` and `sockaddr_in6`, on every system.
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

    /// Parses the usual text form only; `127.1` and the like are names to be resolved.
    package init?(_ text: String) {
        guard !text.contains("%"), let address = try? SocketAddress(ipAddress: text, port: 0)
        else { return nil }
        self.init(address)
    }

    /// The unspecified address, which stands for every address of this machine.
    static let anyLocal = IPAddress(bytes: [0, 0, 0, 0])

    /// The IPv4 addresses that a packet to this one may reach through a tunnel: 6to4 (RFC 3056) and
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

    /// Whether it is a loopback address, which no other machine can have.
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
    /// The number of leading bits that the addresses of the range share.
    let prefixBits: Int

    /// Makes a range from a network and the length of its prefix, which must be valid.
    init(network: IPAddress, prefixBits: Int) {
        self.network = network
        self.prefixBits = prefixBits
    }

    /// Whether its addresses are IPv6; mapped ones count as IPv4.
    var isV6: Bool { network.bytes.count == 16 }

    /// Parses one range; bits after the prefix are ignored, as routers do.
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

    /// Parses a list separated by commas or spaces, the format of `POLLER_ALLOW_CIDRS`.
    package static func list(_ text: String) throws(InvalidInput) -> [AddressRange] {
        var ranges: [AddressRange] = []
        for part in text.split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
            ranges.append(try AddressRange(part))
        }
        return ranges
    }

    /// Returns whether the address is in the range; never across families.
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
            "allow_cidrs",
            "\(text.prefix(64)) is not an address range: write 10.0.0.0/8 or fd00::/8"
        )
    }
}

/// A prefix through which a translator reaches the IPv4 internet (RFC 6052).
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

    /// Parses a prefix with a length from RFC 6052 §2.2: `2001:db8:64::/96`.
    package init(_ text: some StringProtocol) throws(InvalidInput) {
        let lengths = [32, 40, 48, 56, 64, 96]
        guard let range = try? AddressRange(text), range.isV6, lengths.contains(range.prefixBits)
        else {
            throw InvalidInput(
                "nat64_prefixes",
                "\(text.prefix(64)) is not a NAT64 prefix: write an IPv6 prefix with a "
                    + "length of 32, 40, 48, 56, 64 or 96, such as 2001:db8:64::/96"
            )
        }
        self.range = range
    }

    /// Returns the IPv4 address that a packet to `address` is translated to; `nil` outside the
    /// prefix.
    ///
    /// It follows the prefix, but skips bits 64 to 71, which are zero.
    func translated(_ address: IPAddress) -> IPAddress? {
        guard range.contains(address) else { return nil }
        let rest = (range.prefixBits / 8..<16).filter { $0 != 8 || range.prefixBits == 96 }
        return IPAddress(bytes: rest.prefix(4).map { address.bytes[$0] })
    }
}
