package import NIOCore

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
    static let everyLocal = IPAddress(bytes: [0, 0, 0, 0])

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
