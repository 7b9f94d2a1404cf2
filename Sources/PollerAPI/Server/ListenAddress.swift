import NIOCore
import NIOPosix
package import PollerIdentity
import SafeNumbers

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The address of a listener: a host and a TCP port.
///
/// A name counts as loopback by its spelling, without DNS: whether a server without keys may start must not depend on a
/// resolver.
package struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    /// A name or address, without brackets.
    package let host: String
    /// 0–65535; 0 selects a free port.
    package let port: Int

    /// Creates a valid address.
    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Parses `127.0.0.1:8080`, `[::1]:8080` or `:8080`.
    ///
    /// An empty host means loopback. A server listens on all interfaces only if configured with `0.0.0.0` or `[::]`.
    package init(_ text: String, field: String = "bind") throws(InvalidInput) {
        let wrong = InvalidInput(
            field,
            "must be HOST:PORT with a port of 0 to 65535, for example 127.0.0.1:8080"
        )
        guard let colon = text.lastIndex(of: ":") else { throw wrong }
        let digits = text[text.index(after: colon)...]
        var host = text[..<colon]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }),
            let port = Int(decimal: digits), (0...65535).contains(port)
        else { throw wrong }
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
            guard !host.isEmpty else { throw wrong }
        } else if host.contains(":") {
            throw InvalidInput(field, "must put an IPv6 address in brackets")
        }
        guard host.utf8.count <= 253, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw wrong
        }
        self.host = host.isEmpty ? "127.0.0.1" : String(host)
        self.port = port
    }

    package var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Whether only this machine can connect.
    package var isLoopback: Bool { Self.isLoopback(host: host) }

    /// Returns whether a host is `localhost`, in 127.0.0.0/8 or `::1`, by its spelling.
    ///
    /// A name that only begins with `127.` is not loopback.
    package static func isLoopback(host: some StringProtocol) -> Bool {
        if host.lowercased() == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.first == "127"
            && parts.allSatisfy { UInt8(decimal: $0) != nil }
    }

    /// Binds a socket and closes it, without listening.
    ///
    /// Errors: `IOError` and those of `SocketAddress`, as a server throws them.
    fileprivate func bindOnce() throws {
        let address = try SocketAddress.makeAddressResolvingHost(host, port: port)
        let descriptor = socket(CInt(address.protocol.rawValue), Self.stream, 0)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
        defer { close(descriptor) }
        var isReused: CInt = 1
        // As in the server: connections of the previous process in TIME_WAIT do not block the address.
        _ = unsafe setsockopt(
            descriptor,
            SOL_SOCKET,
            SO_REUSEADDR,
            &isReused,
            socklen_t(clamping: MemoryLayout<CInt>.size)
        )
        try unsafe address.withSockAddr { name, size in
            guard unsafe bind(descriptor, name, socklen_t(clamping: size)) == 0 else {
                throw IOError(errnoCode: errno, reason: "bind")
            }
        }
    }

    #if canImport(Glibc)
    private static let stream = CInt(clamping: SOCK_STREAM.rawValue)
    #else
    private static let stream = SOCK_STREAM
    #endif
}

/// An address that cannot be listened on, with its option and the recommended action.
package struct ListenError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The option without dashes, such as `api-bind`.
    package let option: String
    package let address: ListenAddress
    /// The error and the recommended action, for the person who starts the program.
    package let description: String

    /// Creates the error from one that a server threw; `nil` if that does not concern the address.
    init?(_ error: any Error, at address: ListenAddress, option: String) {
        let variable = "POLLER_" + option.uppercased().replacing("-", with: "_")
        let name = "--\(option) (\(variable))"
        let reason: String
        switch error {
        case let error as IOError where error.errnoCode == EADDRINUSE:
            reason =
                "port \(address.port) is in use. Stop the program that has it (ss -ltnp shows it), "
                + "or set \(name) to another HOST:PORT; port 0 takes a free one"
        case let error as IOError where error.errnoCode == EACCES:
            reason =
                "port \(address.port) is not for this user. Set \(name) to a port of 1024 or above"
        case let error as IOError where error.errnoCode == EADDRNOTAVAIL:
            reason =
                "\(address.host) is no address of this machine. Set \(name) to one that is; "
                + "0.0.0.0 is all of them"
        case is SocketAddressError, is SocketAddressError.UnknownHost:
            reason = "the name \(address.host) is unknown. Set \(name) to HOST:PORT"
        default: return nil
        }
        self.option = option
        self.address = address
        description = "cannot listen on \(address): \(reason)."
    }

    private init(option: String, address: ListenAddress, description: String) {
        self.option = option
        self.address = address
        self.description = description
    }

    /// Returns why one of these addresses is not available, each with its option; `nil` if all are.
    ///
    /// Binds each address for a moment, so that a program that cannot start reports it before it does anything else.
    /// The check does not listen: a client that connects during the start is refused and can retry. A listening check
    /// would accept the client and never respond. If another program takes the port after the check, the server reports
    /// that.
    package static func obstacle(
        to addresses: [(option: String, address: ListenAddress)]
    ) -> ListenError? {
        for (index, entry) in addresses.enumerated() where entry.address.port > 0 {
            let twin = addresses[..<index].first { $0.address == entry.address }
            if let twin {
                return ListenError(
                    option: entry.option,
                    address: entry.address,
                    description:
                        "--\(twin.option) and --\(entry.option) are both \(entry.address): "
                        + "give each a port of its own."
                )
            }
        }
        var errors: [ListenError] = []
        for (option, address) in addresses {
            do {
                try address.bindOnce()
            } catch {
                // The server will encounter any other error again, and report it.
                if let error = ListenError(error, at: address, option: option) {
                    errors.append(error)
                }
            }
        }
        guard let first = errors.first, errors.count > 1 else { return errors.first }
        let names = errors.map { "\($0.address) (--\($0.option))" }.joined(separator: ", ")
        return ListenError(
            option: first.option,
            address: first.address,
            description: "cannot listen on \(names). Does another pollerd run here already "
                + "(ss -ltnp shows it)? Set these options to other ports; port 0 takes a free one."
        )
    }
}
